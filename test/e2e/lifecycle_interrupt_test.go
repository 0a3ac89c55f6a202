// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/charts"
)

// TestLifecycleInterrupted stops operations in the middle by SIGTERM: the process
// ends, the release is recorded as failed, nothing more is done, and the next
// operation works.
func TestLifecycleInterrupted(t *testing.T) {
	t.Parallel()
	slowly := func(tb testing.TB, value string) string {
		tb.Helper()
		parts := threeParts(value)
		parts[1].PodAnnotations, parts[1].Annotations = charts.NeverReady, []string{"helm.sh/readiness-timeout: 4m"}
		return charts.Write(tb, parts...)
	}
	t.Run("rollback", func(t *testing.T) {
		t.Parallel()
		h := newHelm(t)
		h.apply(t, outside)
		dir := needyParts(t, "1")
		charts.Edit(t, dir, "templates/all.yaml", "readiness-timeout: 3s", "readiness-timeout: 4m")
		h.ok("install", "rel", dir, "--wait=ordered")
		h.ok("upgrade", "rel", three(t, "2"), "--wait=ordered")
		h.delete(t, "ConfigMap/outside")
		h.interrupt(t, "Rolling back rel has been cancelled", "rollback", "rel", "1")
		h.expectStatuses(t, "rel", "superseded deployed failed")
		h.ok("upgrade", "rel", three(t, "4"), "--wait=ordered")
		h.expectObjects(t, "rel")
		h.expectValue(t, "4")
	})
	t.Run("upgrade", func(t *testing.T) {
		t.Parallel()
		h := newHelm(t)
		h.ok("install", "rel", three(t, "1"), "--wait=ordered")
		h.interrupt(t, "rel has been cancelled", "upgrade", "rel", slowly(t, "2"), "--wait=ordered")
		h.expectStatuses(t, "rel", "deployed failed")
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
		h.expectStatuses(t, "rel", "superseded failed deployed")
		expectDeclared(t, before, h.objectsOf(t, "rel"))
	})
	t.Run("uninstall", func(t *testing.T) {
		t.Parallel()
		h := newHelm(t)
		parts := threeParts("1")
		parts[2] = charts.Object{Kind: "Pod", Name: "last", Layer: "last", DependsOn: "app"}
		dir := charts.Write(t, parts...)
		charts.Edit(t, dir, "templates/all.yaml", "{name: last,", "{name: last, finalizers: [ordered.example/hold],")
		h.ok("install", "rel", dir, "--wait=ordered")
		h.interruptAt(t, "app:last deleting", "Uninstalling rel has been cancelled", "uninstall", "rel")
		h.expectStatuses(t, "rel", "failed")
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

// interruptAt sends SIGTERM when the binary says something, and waits for its end.
func (h *helm) interruptAt(tb testing.TB, at, said string, args ...string) {
	tb.Helper()
	h.from = mark()
	p := h.start(tb, args...)
	p.awaitLine(tb, at)
	p.signal(tb, syscall.SIGTERM)
	p.expectEnd(tb, 1, said)
}

// slowParts are threeParts whose second is not ready for minutes.
func slowParts(value string, more ...charts.Object) []charts.Object {
	parts := threeParts(value)
	parts[1].PodAnnotations, parts[1].Annotations = charts.NeverReady, []string{"helm.sh/readiness-timeout: 4m"}
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
	p := h.start(tb, args...)
	p.awaitLine(tb, at)
	look := time.NewTicker(20 * time.Millisecond) // each look reads the whole record
	defer look.Stop()
	for !happened() && tb.Context().Err() == nil {
		<-look.C
	}
	p.kill()
	p.expectEnd(tb, -1)
}

// TestSecondSignal leaves at once where the first one still waits, and says how it goes on:
// the next operation carries on.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
	h.ok("install", "rel", three(t, "1"), "--wait=ordered")
	proxy := h.viaProxy(t)
	p := h.start(t, "upgrade", "rel", charts.Write(t, slowParts("2")...), "--wait=ordered", "--atomic")
	p.awaitLine(t, "app:app applied")
	proxy.Down() // nothing can be recorded
	p.signal(t, syscall.SIGINT)
	p.awaitLine(t, "Waiting until")
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for running := true; running; { // a signal that comes too soon does not count
		select {
		case <-again.C:
			running = p.cmd.Process.Signal(syscall.SIGINT) == nil
		case <-p.ended:
			running = false
		}
	}
	p.expectEnd(t, 128+int(syscall.SIGINT), "Release rel has been cancelled.",
		"Waiting until the new revision is recorded as failed, and the last good revision is back because of --atomic. A second signal leaves at once.",
		"Left at once: nothing is undone, and release rel stays as it is recorded.", "the next helm upgrade, rollback or uninstall of it takes it over and carries on")
	if err := proxy.Up(); err != nil {
		t.Fatal(err)
	}
	h.ok("upgrade", "rel", three(t, "3"), "--wait=ordered")
	h.expectObjects(t, "rel")
	h.expectValue(t, "3")
}
