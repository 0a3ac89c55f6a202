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

// helmRun is a step that runs helm. Its result is the output and the exit code.
type helmRun struct {
	args []string
	// stdin is the standard input of helm.
	stdin string
	// env contains environment variables, in addition to those of the scenario.
	env []string
	// as is the name with which helm is called (argv[0]). The default is its file name.
	as string
	// stock is true if stock Helm runs in both sandboxes, to prepare later steps.
	stock bool
	// forces is true if Ordered Helm runs with --takeover=force.
	forces bool
	// succeeds is true if the run must succeed. This detects errors in a scenario that make
	// both programs fail in the same way.
	succeeds bool
	// interruptAt, if set, is the path of an object on the API server. As soon as the object
	// exists, helm is sent the signal.
	interruptAt string
	signal      os.Signal
}

// helm returns a run of helm. Its arguments are the words of line, followed by more, whose
// elements can contain spaces.
func helm(line string, more ...string) helmRun {
	return helmRun{args: append(strings.Fields(line), more...)}
}

// stockHelm returns a run of stock Helm in both sandboxes.
func stockHelm(line string, more ...string) helmRun {
	r := helm(line, more...)
	r.stock = true
	return r
}

// ok returns a copy of the run that must succeed.
func (r helmRun) ok() helmRun {
	r.succeeds = true
	return r
}

// called returns a copy of the run that calls helm with a name, for output that contains the
// name.
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

// interrupted returns a copy of the run that is sent a signal when the object at a path
// exists.
func (r helmRun) interrupted(signal os.Signal, at string) helmRun {
	r.signal, r.interruptAt = signal, at
	return r
}

// forced returns a copy of the run in which Ordered Helm takes over a release that stock Helm
// has left pending, as stock Helm itself does.
func (r helmRun) forced() helmRun {
	r.forces = true
	return r
}

func (r helmRun) run(ctx context.Context, w *sandbox) (string, error) {
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
	// A post-renderer that is still running after helm has exited must not block the test.
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

// interruptWhenDue sends the signal of the run to a process as soon as the object at
// r.interruptAt exists. The returned channel receives a value when that is done.
func (r helmRun) interruptWhenDue(ctx context.Context, w *sandbox, cmd *exec.Cmd) <-chan error {
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

const sigterm = syscall.SIGTERM

// createObjects is a step that creates objects in the cluster from a YAML stream.
type createObjects string

func (a createObjects) run(ctx context.Context, w *sandbox) (string, error) {
	return "", w.cluster.create(ctx, w.expand(string(a)))
}

// deleteObject is a step that deletes the object at a path of the API server, and waits until
// it no longer exists.
type deleteObject string

func (r deleteObject) run(ctx context.Context, w *sandbox) (string, error) {
	return "", w.cluster.deletePath(ctx, w.expand(string(r)))
}

// checkObject is a step that returns whether an object exists at a path of the API server.
type checkObject string

func (p checkObject) run(ctx context.Context, w *sandbox) (string, error) {
	status, err := w.cluster.request(ctx, http.MethodGet, w.expand(string(p)))
	return fmt.Sprintf("GET %s: %d", p, status), err
}

// removeFinalizers is a step that removes the finalizers of the object at a path of the API
// server.
type removeFinalizers string

func (r removeFinalizers) run(ctx context.Context, w *sandbox) (string, error) {
	return "", w.cluster.merge(ctx, w.expand(string(r)), `{"metadata":{"finalizers":null}}`)
}

// mergePatch is a step that applies a JSON merge patch to the object at a path of the API
// server, as another client would.
type mergePatch struct{ path, merge string }

func (c mergePatch) run(ctx context.Context, w *sandbox) (string, error) {
	return "", w.cluster.merge(ctx, w.expand(c.path), w.expand(c.merge))
}

// writeFile is a step that writes a text to a file in the sandbox.
type writeFile struct{ path, text string }

func (s writeFile) run(_ context.Context, w *sandbox) (string, error) {
	return "", os.WriteFile(w.dir+"/"+s.path, []byte(w.expand(s.text)), 0o644)
}

// removeFile is a step that deletes a file or directory in the sandbox.
type removeFile string

func (e removeFile) run(_ context.Context, w *sandbox) (string, error) {
	return "", os.RemoveAll(w.dir + "/" + w.expand(string(e)))
}
