// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/binaries"
)

// Result is the output of a run of helm and its exit code, which is -1 if helm was killed by a
// signal.
type Result struct {
	Stdout, Stderr string
	ExitCode       int
}

// Run runs helm in the namespace of the test.
func (h *Helm) Run(args ...string) Result {
	h.TB.Helper()
	return h.RunIn(h.Namespace, args...)
}

// RunIn runs helm in another namespace.
func (h *Helm) RunIn(namespace string, args ...string) Result {
	h.TB.Helper()
	return h.StartBinary(h.TB, binaries.Get(h.TB).Helm, namespace, args...).Wait(h.TB)
}

// RunStock runs stock Helm in the namespace of the test.
func (h *Helm) RunStock(tb testing.TB, args ...string) Result {
	tb.Helper()
	return h.StartStock(tb, args...).Wait(tb)
}

// MustRun runs helm, and ends the test if helm fails.
func (h *Helm) MustRun(args ...string) Result {
	h.TB.Helper()
	return mustSucceed(h.TB, "helm", h.Run(args...), args)
}

// MustRunStock runs stock Helm, and ends the test if it fails. It returns the stdout.
func (h *Helm) MustRunStock(tb testing.TB, args ...string) string {
	tb.Helper()
	return mustSucceed(tb, "stock helm", h.RunStock(tb, args...), args).Stdout
}

// MustRunHelm4 runs Helm 4 in the namespace of the test, and ends the test if it fails. It
// returns the stdout.
func (h *Helm) MustRunHelm4(tb testing.TB, args ...string) string {
	tb.Helper()
	r := h.StartBinary(tb, binaries.Get(tb).Helm4, h.Namespace, args...).Wait(tb)
	return mustSucceed(tb, "helm 4", r, args).Stdout
}

func mustSucceed(tb testing.TB, name string, r Result, args []string) Result {
	tb.Helper()
	if r.ExitCode != 0 {
		tb.Fatalf("%s %s: exit code %d\n%s%s", name, strings.Join(args, " "), r.ExitCode, r.Stdout, r.Stderr)
	}
	return r
}

// ExpectFailure runs helm, and checks that it fails and that stderr contains all of want.
func (h *Helm) ExpectFailure(tb testing.TB, args []string, want ...string) Result {
	tb.Helper()
	return h.Start(tb, args...).ExpectExit(tb, 1, want...)
}

// ExpectRejected checks that a run of helm has failed, that stderr contains all of want, and
// that Helm has changed nothing in the cluster.
func (h *Helm) ExpectRejected(tb testing.TB, r Result, want ...string) {
	tb.Helper()
	if r.ExitCode != 1 {
		tb.Errorf("exit code %d, want 1", r.ExitCode)
	}
	ExpectContains(tb, r.Stderr, want...)
	if strings.Contains(r.Stdout, "NAME:") {
		tb.Errorf("a release was reported:\n%s", r.Stdout)
	}
	for _, e := range h.Cluster.Audit(tb) {
		written := e.Verb == "create" || e.Verb == "update" || e.Verb == "patch" || e.Verb == "delete"
		if written && e.Namespace == h.Namespace && strings.HasPrefix(e.UserAgent, "Helm/") ||
			written && e.Name == "things.ordered.example" {
			tb.Errorf("the cluster was changed: %s %s", e.Verb, e.URI)
		}
	}
}

// RunWhile runs helm, and calls act when helm first prints a text on stderr. It returns the
// result when helm has exited.
func (h *Helm) RunWhile(tb testing.TB, text string, act func(), args ...string) Result {
	tb.Helper()
	h.Started = Now()
	p := h.Start(tb, args...)
	p.AwaitLine(tb, text)
	act()
	r := p.Wait(tb)
	if r.ExitCode != 0 && r.ExitCode != 1 || strings.Contains(r.Stderr, "goroutine ") {
		tb.Errorf("helm %s: exit code %d\n%s", strings.Join(args, " "), r.ExitCode, r.Stderr)
	}
	return r
}

// ExpectFailureWhile is like RunWhile for a command that must fail, with all of want on
// stderr.
func (h *Helm) ExpectFailureWhile(tb testing.TB, text string, act func(), args []string, want ...string) Result {
	tb.Helper()
	r := h.RunWhile(tb, text, act, args...)
	if r.ExitCode != 1 {
		tb.Errorf("helm %s: exit code %d, want 1\n%s", strings.Join(args, " "), r.ExitCode, r.Stderr)
	}
	ExpectContains(tb, r.Stderr, want...)
	return r
}

// MustRunWhile is like RunWhile for a command that must succeed.
func (h *Helm) MustRunWhile(tb testing.TB, text string, act func(), args ...string) Result {
	tb.Helper()
	return mustSucceed(tb, "helm", h.RunWhile(tb, text, act, args...), args)
}

// KillAt runs helm, and kills it when it prints a text on stderr.
func (h *Helm) KillAt(tb testing.TB, text string, args ...string) {
	tb.Helper()
	h.KillWhen(tb, text, func() bool { return true }, args...)
}

// KillWhen runs helm, and kills it when it has printed a text on stderr and happened then
// returns true.
func (h *Helm) KillWhen(tb testing.TB, text string, happened func() bool, args ...string) {
	tb.Helper()
	p := h.Start(tb, args...)
	p.AwaitLine(tb, text)
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !happened() && tb.Context().Err() == nil {
		<-look.C
	}
	p.Kill()
	if r := p.Wait(tb); r.ExitCode != -1 {
		tb.Fatalf("helm %s was not killed, but ended with exit code %d\n%s", strings.Join(args, " "), r.ExitCode, r.Stderr)
	}
}

// ExpectContains checks that a text contains all of want.
func ExpectContains(tb testing.TB, text string, want ...string) {
	tb.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			tb.Errorf("%q is missing in:\n%s", w, text)
		}
	}
}

// ErrorOf returns the part of stderr after the progress: the error message.
func ErrorOf(stderr string) string {
	if at := strings.Index(stderr, "\nError: "); at >= 0 {
		return stderr[at+1:]
	}
	return stderr
}

// Timeouts returns timeouts for tests of operations that time out. On a busy machine, the
// first one can expire before the operation reaches the tested state. Tests then try the next
// one.
func Timeouts() []string { return []string{"2s", "5s", "9s"} }

// Kubectl runs kubectl in the namespace of the test, and returns its output.
func (h *Helm) Kubectl(tb testing.TB, args ...string) (output string, err error) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), Timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, h.Cluster.Kubectl(), append(args, "--namespace", h.Namespace)...)
	cmd.Env = h.Env
	out, err := cmd.CombinedOutput()
	return string(out), err
}
