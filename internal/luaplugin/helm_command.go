// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package luaplugin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// runHelm implements helm.run, which runs helm with arguments, for example helm.run("get",
// "manifest", name). It returns a table with the fields code, stdout and stderr. When ctx ends, it
// tells helm to end, and waits for it.
func (p *Program) runHelm(ctx context.Context, arguments []any) ([]any, error) {
	words := make([]string, len(arguments))
	for i, argument := range arguments {
		switch argument := argument.(type) {
		case string, int64, float64:
			words[i] = fmt.Sprint(argument)
		default:
			return nil, fmt.Errorf("helm.run: argument %d must be a string", i+1)
		}
	}
	program := p.Helm
	if program == "" {
		var err error
		if program, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	var stdout, stderr bytes.Buffer
	helm := exec.CommandContext(ctx, program, words...)
	helm.Env, helm.Stdout, helm.Stderr = p.Environment, &stdout, &stderr
	// A helm that is told to end stops its operation and records it. There is no such signal on
	// Windows, where a console sends Ctrl-C to both processes.
	helm.Cancel = func() error { return helm.Process.Signal(syscall.SIGTERM) }
	if err := helm.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if _, exited := errors.AsType[*exec.ExitError](err); !exited {
			return nil, fmt.Errorf("helm.run: %w", err)
		}
	}
	return []any{map[string]any{"code": helm.ProcessState.ExitCode(), "stdout": stdout.String(), "stderr": stderr.String()}}, nil
}
