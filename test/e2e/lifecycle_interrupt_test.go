// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/binaries"
)

// TestLifecycleInterrupted stops operations in the middle by SIGTERM: the process
// ends, the release is recorded as failed, nothing more is done, and the next
// operation works.
func TestLifecycleInterrupted(t *testing.T) {
	t.Parallel()
	slowly := func(tb testing.TB, value string) string {
		tb.Helper()
		parts := threeParts(value)
		parts[1].play, parts[1].more = stuck, []string{"helm.sh/readiness-timeout: 4m"}
		return chartOfParts(tb, parts...)
	}
	t.Run("rollback", func(t *testing.T) {
		t.Parallel()
		h := newHelm(t)
		s := &scene{helm: h, client: h.dynamic(t)}
		s.apply(t, outside)
		dir := needyParts(t, "1")
		edit(t, dir, "templates/all.yaml", "readiness-timeout: 3s", "readiness-timeout: 4m")
		h.ok("install", "rel", dir, "--wait=ordered")
		h.ok("upgrade", "rel", three(t, "2"), "--wait=ordered")
		h.delete(t, "ConfigMap/outside")
		h.interrupt(t, "Rolling back rel has been cancelled", "rollback", "rel", "1")
		if statuses := h.statuses(t, "rel"); statuses != "superseded deployed failed" {
			t.Errorf("the revisions are %s", statuses)
		}
		h.ok("upgrade", "rel", three(t, "4"), "--wait=ordered")
		h.expectObjects(t, "rel")
		h.expectValue(t, "4")
	})
	t.Run("upgrade", func(t *testing.T) {
		t.Parallel()
		h := newHelm(t)
		h.ok("install", "rel", three(t, "1"), "--wait=ordered")
		h.interrupt(t, "rel has been cancelled", "upgrade", "rel", slowly(t, "2"), "--wait=ordered")
		if statuses := h.statuses(t, "rel"); statuses != "deployed failed" {
			t.Errorf("the revisions are %s", statuses)
		}
		h.ok("upgrade", "rel", three(t, "3"), "--wait=ordered")
		h.expectObjects(t, "rel")
		h.expectValue(t, "3")
	})
	t.Run("upgrade that is atomic", func(t *testing.T) {
		t.Parallel()
		h := newHelm(t)
		h.ok("install", "rel", three(t, "1"), "--wait=ordered")
		before := h.objectsOf(t, "rel")
		h.interrupt(t, "rel has been cancelled", "upgrade", "rel", slowly(t, "2"), "--wait=ordered", "--atomic")
		if statuses := h.statuses(t, "rel"); statuses != "superseded failed deployed" {
			t.Errorf("the revisions are %s", statuses)
		}
		expectDeclared(t, before, h.objectsOf(t, "rel"))
	})
	t.Run("uninstall", func(t *testing.T) {
		t.Parallel()
		h := newHelm(t)
		parts := threeParts("1")
		parts[2] = part{kind: "Pod", name: "last", layer: "last", after: "app"}
		dir := chartOfParts(t, parts...)
		edit(t, dir, "templates/all.yaml", "{name: last,", "{name: last, finalizers: [ordered.example/hold],")
		h.ok("install", "rel", dir, "--wait=ordered")
		h.interruptAt(t, "app:last deleting", "Uninstalling rel has been cancelled", "uninstall", "rel")
		if statuses := h.statuses(t, "rel"); statuses != "failed" {
			t.Errorf("the revisions are %s", statuses)
		}
		h.expectOnly(t, "rel", "ConfigMap/first", "Deployment/app", "Pod/last")
		h.patch(t, "Pod/last", `{"metadata":{"finalizers":null}}`)
		h.ok("uninstall", "rel")
		h.expectOnly(t, "rel")
		h.empty(t)
	})
}

// interrupt interrupts an operation that waits for Deployment/app.
func (h *helm) interrupt(tb testing.TB, said string, args ...string) {
	tb.Helper()
	h.interruptAt(tb, "app:app applied", said, args...)
	if slices.Contains(args, "--atomic") {
		return // which changes it back
	}
	if changed := h.readTrace(tb).since(h.from).helms("ConfigMap/last", changing...); len(changed) > 0 {
		tb.Error("a node was started after the interrupt")
	}
}

// start starts the binary, and reads what it says.
func (h *helm) start(tb testing.TB, args ...string) (*exec.Cmd, *bufio.Scanner) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), tooLong)
	tb.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, binaries.Get(tb).Helm, append(args, "--namespace", h.namespace)...)
	cmd.Env = h.env
	stderr, err := cmd.StderrPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	return cmd, bufio.NewScanner(stderr)
}

// interruptAt sends SIGTERM when the binary says something, and waits for its end.
func (h *helm) interruptAt(tb testing.TB, at, said string, args ...string) {
	tb.Helper()
	h.from = mark()
	cmd, lines := h.start(tb, args...)
	text, sent := "", false
	for lines.Scan() {
		text += lines.Text() + "\n"
		if !sent && strings.Contains(lines.Text(), at) {
			sent = true
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				tb.Fatal(err)
			}
		}
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 {
		tb.Errorf("it ended with %v, want exit code 1", err)
	}
	expectSaid(tb, text, said)
}

// slowParts are threeParts whose second is not ready for minutes.
func slowParts(value string, more ...part) []part {
	parts := threeParts(value)
	parts[1].play, parts[1].more = stuck, []string{"helm.sh/readiness-timeout: 4m"}
	return append(parts, more...)
}

// kill kills the binary when it says something, without a word.
func (h *helm) kill(tb testing.TB, at string, args ...string) {
	tb.Helper()
	h.killWhen(tb, at, func() bool { return true }, args...)
}

// killWhen kills it when, in addition, something has happened.
func (h *helm) killWhen(tb testing.TB, at string, happened func() bool, args ...string) {
	tb.Helper()
	cmd, lines := h.start(tb, args...)
	for lines.Scan() {
		if !strings.Contains(lines.Text(), at) {
			continue
		}
		look := time.NewTicker(20 * time.Millisecond) // each look reads the whole record
		for !happened() && tb.Context().Err() == nil {
			<-look.C
		}
		look.Stop()
		_ = cmd.Process.Kill() // which only fails if it is over, as the next lines find
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != -1 {
		tb.Fatalf("it was not killed, but ended with %v", err)
	}
}

// TestSecondSignal leaves at once where the first one still waits, and says how it goes on:
// the next operation carries on.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
	h.ok("install", "rel", three(t, "1"), "--wait=ordered")
	p := h.viaProxy(t)
	cmd, lines := h.start(t, "upgrade", "rel", chartOfParts(t, slowParts("2")...), "--wait=ordered", "--atomic")
	said, left := "", false
	for lines.Scan() {
		said += lines.Text() + "\n"
		switch line := lines.Text(); {
		case strings.Contains(line, "app:app applied"):
			p.Down() // nothing can be recorded
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		case strings.Contains(line, "Waiting until") && !left:
			left = true
			for again := time.NewTicker(200 * time.Millisecond); ; { // one that comes too soon does not count
				<-again.C
				if cmd.Process.Signal(syscall.SIGINT) != nil || strings.Contains(h.stateOf(cmd.Process.Pid), "Z") {
					break
				}
			}
		}
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 128+int(syscall.SIGINT) {
		t.Errorf("exit code %d", code)
	}
	expectSaid(t, said, "Release rel has been cancelled.",
		"Waiting until the new revision is recorded as failed, and the last good revision is back because of --atomic. A second signal leaves at once.",
		"Left at once: nothing is undone, and release rel stays as it is recorded.", "the next helm upgrade, rollback or uninstall of it takes it over and carries on")
	if err := p.Up(); err != nil {
		t.Fatal(err)
	}
	h.ok("upgrade", "rel", three(t, "3"), "--wait=ordered")
	h.expectObjects(t, "rel")
	h.expectValue(t, "3")
}

// stateOf is how the kernel says that a process stands; empty if there is none.
func (h *helm) stateOf(pid int) string {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return rest[:1]
}
