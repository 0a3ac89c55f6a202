// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/ordered-helm/helm/test/binaries"
)

// helmRun is one run of helm.
type helmRun struct {
	args []string
	// stdin is the standard input of helm.
	stdin string
	// env contains variables in addition to the scenario's.
	env []string
	// as is the name with which helm is called, if it is not its file name.
	as string
	// stock is whether stock Helm runs in both worlds, to prepare something.
	stock bool
	// forces is whether ours, and not stock Helm, takes over a release.
	forces bool
	// succeeds is whether the run must succeed, so that an error in the scenario does not
	// cause two equal failures.
	succeeds bool
	// interruptAt, if set, is the path of an object on the API server. When the object
	// exists, helm receives signal.
	interruptAt string
	signal      os.Signal
}

// helm returns a run with the words of line, followed by those of more, which can contain
// spaces.
func helm(line string, more ...string) helmRun {
	return helmRun{args: append(strings.Fields(line), more...)}
}

// stockHelm returns a run of stock Helm in both worlds.
func stockHelm(line string, more ...string) helmRun {
	r := helm(line, more...)
	r.stock = true
	return r
}

// ok returns the run as one that must succeed.
func (r helmRun) ok() helmRun {
	r.succeeds = true
	return r
}

// called is for output that contains the name with which helm is called.
func (r helmRun) called(name string) helmRun {
	r.as = name
	return r
}

func (r helmRun) withEnv(env ...string) helmRun {
	r.env = env
	return r
}

func (r helmRun) withStdin(stdin string) helmRun {
	r.stdin = stdin
	return r
}

// interrupted sends a signal when an object exists.
func (r helmRun) interrupted(signal os.Signal, at string) helmRun {
	r.signal, r.interruptAt = signal, at
	return r
}

// forced lets ours take over a release that stock Helm left pending, which stock Helm does
// by default.
func (r helmRun) forced() helmRun {
	r.forces = true
	return r
}

func (r helmRun) run(ctx context.Context, w *world) (string, error) {
	programs, err := binaries.Build()
	if err != nil {
		return "", err
	}
	program := w.program
	if r.stock {
		program = programs.Stock
	}
	args := make([]string, len(r.args))
	for i, arg := range r.args {
		args[i] = w.expand(arg)
	}
	if r.forces && program == programs.Helm {
		args = append(args, "--takeover=force")
	}
	if w.unchecked && (args[0] == "install" || args[0] == "upgrade") {
		args = append(args, "--disable-openapi-validation")
	}
	cmd := exec.CommandContext(ctx, program, args...)
	if r.as != "" {
		cmd.Args[0] = r.as
	}
	cmd.Dir = w.dir
	cmd.Env = slices.Concat(w.env, r.env)
	cmd.Stdin = strings.NewReader(w.expand(r.stdin))
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	// A post-renderer that outlives helm must not block the test.
	cmd.WaitDelay = 5 * time.Second

	if err := cmd.Start(); err != nil {
		return "", err
	}
	interrupted := r.interruptWhenDue(ctx, w, cmd)
	err = errors.Join(cmd.Wait(), <-interrupted)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", err
	}
	if ctx.Err() != nil {
		return "", fmt.Errorf("helm %s: %w\nstdout:\n%s\nstderr:\n%s", strings.Join(args, " "), ctx.Err(), &stdout, &stderr)
	}
	if code := cmd.ProcessState.ExitCode(); r.succeeds && code != 0 {
		return "", fmt.Errorf("helm %s: exit code %d\n%s%s", strings.Join(args, " "), code, &stdout, &stderr)
	}
	return fmt.Sprintf("$ helm %s\nexit code %d\nstdout:\n%s\nstderr:\n%s\n",
		strings.Join(args, " "), cmd.ProcessState.ExitCode(), &stdout, &stderr), nil
}

// interruptWhenDue sends the run's signal to a process. The returned channel yields one
// value, when there is nothing left to do.
func (r helmRun) interruptWhenDue(ctx context.Context, w *world, cmd *exec.Cmd) <-chan error {
	done := make(chan error, 1)
	if r.interruptAt == "" {
		done <- nil
		return done
	}
	go func() {
		if err := w.cluster.awaitPath(ctx, w.expand(r.interruptAt)); err != nil {
			done <- err
			return
		}
		err := cmd.Process.Signal(r.signal)
		if errors.Is(err, os.ErrProcessDone) {
			err = errors.New("helm ended before it was interrupted")
		}
		done <- err
	}()
	return done
}

// sigterm asks a process to terminate.
const sigterm = syscall.SIGTERM

// apply creates objects in the cluster, from YAML documents.
type apply string

func (a apply) run(ctx context.Context, w *world) (string, error) {
	return "", w.cluster.create(ctx, w.expand(string(a)))
}

// remove deletes the object at a path of the API server, and waits until it no longer
// exists.
type remove string

func (r remove) run(ctx context.Context, w *world) (string, error) {
	return "", w.cluster.deletePath(ctx, w.expand(string(r)))
}

// present shows whether an object exists at a path of the API server.
type present string

func (p present) run(ctx context.Context, w *world) (string, error) {
	status, err := w.cluster.request(ctx, http.MethodGet, w.expand(string(p)))
	return fmt.Sprintf("GET %s: %d", p, status), err
}

// release removes the finalizers from the object at a path of the API server.
type release string

func (r release) run(ctx context.Context, w *world) (string, error) {
	return "", w.cluster.merge(ctx, w.expand(string(r)), `{"metadata":{"finalizers":null}}`)
}

// change applies a JSON merge patch to the object at a path of the API server, as another
// client would.
type change struct{ path, merge string }

func (c change) run(ctx context.Context, w *world) (string, error) {
	return "", w.cluster.merge(ctx, w.expand(c.path), w.expand(c.merge))
}

// write writes text to a file of the world.
type write struct{ path, text string }

func (s write) run(_ context.Context, w *world) (string, error) {
	return "", os.WriteFile(w.dir+"/"+s.path, []byte(w.expand(s.text)), 0o644)
}

// erase deletes a file or directory of the world.
type erase string

func (e erase) run(_ context.Context, w *world) (string, error) {
	return "", os.RemoveAll(w.dir + "/" + w.expand(string(e)))
}
