// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/charts"
)

// meanwhile runs the binary, and does something when it says a text for the first time.
// It must end by itself, and in order.
func (h *helm) meanwhile(tb testing.TB, at string, act func(), args ...string) result {
	tb.Helper()
	h.from = mark()
	p := h.start(tb, args...)
	p.awaitLine(tb, at)
	act()
	r := p.wait(tb)
	if r.code != 0 && r.code != 1 || strings.Contains(r.stderr, "goroutine ") {
		tb.Errorf("helm %s: exit code %d\n%s", strings.Join(args, " "), r.code, r.stderr)
	}
	return r
}

// failsMeanwhile is meanwhile for what must fail with a message that says all of want.
func (h *helm) failsMeanwhile(tb testing.TB, at string, act func(), args []string, want ...string) result {
	tb.Helper()
	r := h.meanwhile(tb, at, act, args...)
	if r.code != 1 {
		tb.Errorf("helm %s: exit code %d, want 1\n%s", strings.Join(args, " "), r.code, r.stderr)
	}
	expectSaid(tb, r.stderr, want...)
	return r
}

// okMeanwhile is meanwhile for what must succeed.
func (h *helm) okMeanwhile(tb testing.TB, at string, act func(), args ...string) result {
	tb.Helper()
	r := h.meanwhile(tb, at, act, args...)
	if r.code != 0 {
		tb.Fatalf("helm %s: exit code %d\n%s", strings.Join(args, " "), r.code, r.stderr)
	}
	return r
}

// expectFailed checks that the newest revision is recorded as failed, for the reason
// that was said.
func (h *helm) expectFailed(tb testing.TB, statuses string, want ...string) {
	tb.Helper()
	h.expectStatuses(tb, "rel", statuses)
	expectSaid(tb, h.last(tb, "rel").Info.Description, want...)
}

// repair runs one ordinary command once the trouble is gone: after it the release is
// what its last revision declares, with nobody holding it, and its order was kept.
func (h *helm) repair(tb testing.TB, args ...string) {
	tb.Helper()
	h.from = mark()
	h.ok(args...)
	if args[0] == "uninstall" {
		h.expectOnly(tb, "rel")
		h.empty(tb)
		return
	}
	h.expectGood(tb)
}

// expectGood checks that the release is in a good state, compared with the server.
func (h *helm) expectGood(tb testing.TB) {
	tb.Helper()
	h.expectObjects(tb, "rel")
	deployed := 0
	for _, rel := range h.history(tb, "rel") {
		switch rel.Info.Status.String() {
		case "deployed":
			deployed++
		case "failed", "superseded":
		default:
			tb.Errorf("revision %d is %s", rel.Version, rel.Info.Status)
		}
		if strings.Contains(string(recordOf(rel)), `"lease"`) {
			tb.Errorf("revision %d is held", rel.Version)
		}
	}
	if last := h.last(tb, "rel"); deployed != 1 || last.Info.Status != "deployed" {
		tb.Errorf("%d revisions are deployed, and the last one is %s: %s", deployed, last.Info.Status, h.statuses(tb, "rel"))
	}
}

// eventually waits until something has happened, for which it looks again and again.
func eventually(tb testing.TB, what string, happened func() bool) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), tooLong)
	defer cancel()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for !happened() {
		select {
		case <-look.C:
		case <-ctx.Done():
			tb.Fatalf("%s never happened", what)
		}
	}
}

// slowThree is three, whose Deployment takes a while to be ready.
func slowThree(tb testing.TB, value, after string, more ...charts.Object) string {
	tb.Helper()
	parts := threeParts(value)
	parts[1].PodAnnotations = []string{`devcluster/after: "` + after + `"`}
	return charts.Write(tb, append(parts, more...)...)
}
