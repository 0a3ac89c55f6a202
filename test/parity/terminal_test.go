// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
)

// dialogue is a step that runs helm in a terminal, and types replies to its prompts.
type dialogue struct {
	args    string
	answers []reply
}

// reply is a text that is typed when a prompt has been printed. A secret reply is typed only
// after the terminal has stopped displaying what is typed.
type reply struct {
	question, typed string
	secret          bool
}

func (d dialogue) run(ctx context.Context, w *sandbox) (seen string, err error) {
	terminal, theirs, err := openTerminal()
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, terminal.Close()) }()

	cmd := exec.CommandContext(ctx, w.program, strings.Fields(w.expand(d.args))...)
	cmd.Dir, cmd.Env, cmd.Stdin = w.dir, w.env, theirs
	questions := &typist{ctx: ctx, terminal: terminal, answers: d.answers}
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = questions, &stderr

	err = cmd.Start()
	if closed := theirs.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return "", err
	}
	var echo bytes.Buffer
	var reading sync.WaitGroup
	// It returns an error when the other side has been closed.
	reading.Go(func() { _, _ = io.Copy(&echo, terminal) })
	_ = cmd.Wait() // the exit code is checked later
	reading.Wait()
	return fmt.Sprintf("$ helm %s\nexit code %d\nstdout:\n%s\nstderr:\n%s\non the screen:\n%s\n",
		d.args, cmd.ProcessState.ExitCode(), &questions.printed, &stderr, strings.ReplaceAll(echo.String(), "\r", "")), ctx.Err()
}

// typist reads the output of a terminal, and types replies to the prompts.
type typist struct {
	ctx      context.Context
	terminal *os.File
	answers  []reply
	printed  bytes.Buffer
}

func (t *typist) Write(p []byte) (int, error) {
	t.printed.Write(p)
	if len(t.answers) == 0 || !strings.HasSuffix(t.printed.String(), t.answers[0].question) {
		return len(p), nil
	}
	next := t.answers[0]
	t.answers = t.answers[1:]
	for next.secret {
		shown, err := isEchoing(t.terminal)
		if err = errors.Join(err, t.ctx.Err()); err != nil {
			return 0, err
		}
		next.secret = shown
		runtime.Gosched()
	}
	_, err := io.WriteString(t.terminal, next.typed)
	return len(p), err
}
