// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package interference

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/fault"
	"github.com/ordered-helm/helm/test/harness"
)

// rounds is how often TestConcurrentOperations starts each pair of operations.
const rounds = 2

// TestConcurrentOperations starts two operations on one release at the same time. It checks
// that at least one of them succeeds, that the error of a failed one names the conflict, and
// that the release is deployed or uninstalled afterwards.
func TestConcurrentOperations(t *testing.T) {
	t.Parallel()
	one, two := charts.ThreeLayers(t, "1"), charts.ThreeLayers(t, "2", charts.Object{Name: "more", Layer: "more", DependsOn: "last"})
	upgrade := func(dir string) []string { return []string{"upgrade", "rel", dir, "--wait=ordered"} }
	rollback, uninstall := []string{"rollback", "rel", "1"}, []string{"uninstall", "rel"}
	for name, tt := range map[string]struct {
		fresh  bool
		do     [2][]string
		losers []string
	}{
		"two installs":             {true, [2][]string{{"install", "rel", one, "--wait=ordered"}, {"install", "rel", two, "--wait=ordered"}}, []string{"cannot re-use a name that is still in use", "another operation created revision 1 of release rel in the meantime"}},
		"install and upgrade":      {true, [2][]string{{"install", "rel", one, "--wait=ordered"}, append(upgrade(two), "--install")}, conflictMessages},
		"two upgrades":             {false, [2][]string{upgrade(one), upgrade(two)}, conflictMessages},
		"upgrade and rollback":     {false, [2][]string{upgrade(two), rollback}, conflictMessages},
		"upgrade and uninstall":    {false, [2][]string{upgrade(two), uninstall}, append(conflictMessages, `"rel" has no deployed releases`, "release: not found")},
		"an upgrade and a cleanup": {false, [2][]string{append(upgrade(two), "--atomic"), append(upgrade(one), "--cleanup-on-fail")}, conflictMessages},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range rounds {
				t.Run(fmt.Sprint(round), func(t *testing.T) {
					t.Parallel()
					h := harness.New(t)
					if !tt.fresh {
						h.MustRun("install", "rel", charts.ThreeLayers(t, "0", charts.Object{Name: "less", Layer: "less", DependsOn: "last"}), "--wait=ordered")
					}
					runConcurrently(t, h, tt.do, tt.losers)
				})
			}
		})
	}
}

// conflictMessages contains texts, one of which the error of an operation must contain if it
// fails because of another operation.
var conflictMessages = slices.Clip([]string{"in progress", "in the meantime", "was taken over by", "revision 1 of release rel is uninstalling", "revision 1 of release rel is uninstalled", "by helm "})

// runConcurrently starts two operations at the same time, and checks their results. losers
// contains texts, one of which the error of a failed operation must contain.
func runConcurrently(tb testing.TB, h *harness.Helm, do [2][]string, losers []string) {
	tb.Helper()
	first, second := h.Start(tb, do[0]...), h.Start(tb, do[1]...)
	results := [2]harness.Result{first.Wait(tb), second.Wait(tb)}
	story := ""
	for i, r := range results {
		story += fmt.Sprintf("%s: exit code %d\n%s\n", strings.Join(do[i], " "), r.ExitCode, r.Stderr)
	}
	won, uninstalled := 0, false
	for i, r := range results {
		says := func(text string) bool { return strings.Contains(r.Stderr, text) }
		switch {
		case r.ExitCode == 0:
			won++
			uninstalled = uninstalled || do[i][0] == "uninstall"
		case r.ExitCode != 1 || says("goroutine "):
			tb.Errorf("%s: exit code %d", do[i][0], r.ExitCode)
		case !slices.ContainsFunc(losers, says):
			tb.Errorf("%s does not say what is in the way", do[i][0])
		}
	}
	stored, err := h.Storage().ListReleases()
	harness.NoError(tb, err)
	switch {
	case won == 0:
		tb.Error("nobody won")
	case len(stored) == 0 && uninstalled:
		h.ExpectObjects(tb, "rel")
	case len(stored) == 0:
		tb.Error("the release is lost")
	default:
		h.ExpectDeployed(tb)
	}
	if tb.Failed() {
		tb.Log(story)
	}
}

// TestConcurrentUpgradeAndUninstall starts an upgrade and an uninstall that both see the
// release unlocked. It checks that the operation that stores its lock second detects the other
// one, and stops before it changes anything. If each of them detects the other one, the
// uninstall continues.
func TestConcurrentUpgradeAndUninstall(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T) *harness.Helm {
		t.Helper()
		h := harness.New(t)
		h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
		return h
	}
	t.Run("the upgrade is second", func(t *testing.T) {
		t.Parallel()
		h := begin(t)
		direct := *h
		held, pass := h.HoldRequests(t, harness.CreatesRevision)
		upgrade := h.Start(t, "upgrade", "rel", charts.ThreeLayers(t, "2"), "--wait=ordered")
		harness.AwaitClosed(t, held, "the attempt to store a revision")
		other := direct.Start(t, "uninstall", "rel")
		other.AwaitLine(t, "uninstalling release rel")
		pass()
		r := upgrade.Wait(t)
		if r.ExitCode != 1 || !slices.ContainsFunc([]string{"is uninstalling; locked by helm uninstall on ", "is uninstalled"}, func(text string) bool { return strings.Contains(r.Stderr, text) }) {
			t.Errorf("the upgrade ended with %d:\n%s", r.ExitCode, r.Stderr)
		}
		other.ExpectExit(t, 0)
		direct.ExpectObjects(t, "rel")
	})
	t.Run("the uninstall is second", func(t *testing.T) {
		t.Parallel()
		h := begin(t)
		direct := *h
		held, pass := h.HoldRequests(t, harness.UpdatesRevision)
		uninstall := h.Start(t, "uninstall", "rel")
		harness.AwaitClosed(t, held, "the attempt to store that it is being removed")
		other := direct.Start(t, "upgrade", "rel", slowThreeLayers(t, "2", "5s"), "--wait=ordered")
		other.AwaitLine(t, "app:app applied")
		pass()
		r := uninstall.Wait(t)
		if r.ExitCode != 1 || !strings.Contains(r.Stderr, "revision 2 of release rel is pending-upgrade; locked by helm upgrade on ") {
			t.Errorf("the uninstall ended with %d:\n%s", r.ExitCode, r.Stderr)
		}
		other.ExpectExit(t, 0)
		direct.ExpectDeployed(t)
	})
	t.Run("each finds the other", func(t *testing.T) {
		t.Parallel()
		h := begin(t)
		upgrader, uninstaller := *h, *h
		upgrader.Env, uninstaller.Env = slices.Clip(h.Env), slices.Clip(h.Env)
		recorded, record, restores, restore := holdTwoUpdates(t, &uninstaller)
		uninstall := uninstaller.Start(t, "uninstall", "rel")
		harness.AwaitClosed(t, recorded, "the attempt to record the uninstall")
		var created atomic.Bool
		stored, goOn := upgrader.HoldRequests(t, func(what fault.Request) bool {
			created.CompareAndSwap(false, harness.CreatesRevision(what))
			return created.Load() && h.ReadsRevision(t, what, "rel", 1)
		})
		upgrade := upgrader.Start(t, "upgrade", "rel", charts.ThreeLayers(t, "2"), "--wait=ordered")
		harness.AwaitClosed(t, stored, "the new revision")
		record()
		harness.AwaitClosed(t, restores, "the attempt to restore the record")
		goOn()
		r := upgrade.Wait(t)
		if r.ExitCode != 1 || !strings.Contains(r.Stderr, "is uninstalling; locked by helm uninstall on ") {
			t.Errorf("the upgrade ended with %d:\n%s", r.ExitCode, r.Stderr)
		}
		restore()
		uninstall.ExpectExit(t, 0)
		h.ExpectObjects(t, "rel")
	})
}

// holdTwoUpdates makes a proxy delay the first two updates of stored revisions. The channels
// are closed when the updates are received, and the functions let them continue.
func holdTwoUpdates(tb testing.TB, h *harness.Helm) (first <-chan struct{}, passFirst func(), second <-chan struct{}, passSecond func()) {
	tb.Helper()
	var updates atomic.Int32
	held, passed := [2]chan struct{}{make(chan struct{}), make(chan struct{})}, [2]chan struct{}{make(chan struct{}), make(chan struct{})}
	h.UseProxy(tb).Intercept(func(_ http.ResponseWriter, r *http.Request, what fault.Request) bool {
		if !harness.UpdatesRevision(what) {
			return false
		}
		if n := updates.Add(1) - 1; n < 2 {
			close(held[n])
			select {
			case <-passed[n]:
			case <-r.Context().Done():
			}
		}
		return false
	})
	return held[0], sync.OnceFunc(func() { close(passed[0]) }), held[1], sync.OnceFunc(func() { close(passed[1]) })
}
