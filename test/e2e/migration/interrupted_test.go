// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package migration

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/fault"
	"github.com/ordered-helm/helm/test/harness"
)

// isWrite reports whether a request changes something.
func isWrite(r fault.Request) bool {
	return slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb)
}

// directions are the migrations that copy revisions in different ways.
var directions = []struct{ from, to string }{{"secret", "crd"}, {"crd", "secret"}, {"crd", "configmap"}}

// newRelease installs a release with two revisions.
func newRelease(t *testing.T, driverName string) *harness.Helm {
	t.Helper()
	h := newHelm(t)
	dir := charts.WriteTemplate(t, releaseChart)
	with(h, driverName).MustRun("install", "rel", dir, "--set", "text=a")
	with(h, driverName).MustRun("upgrade", "rel", dir, "--set", "text=b")
	return h
}

// runUntilWrite runs a migration whose nth write is intercepted. It returns false if there are fewer.
func runUntilWrite(t *testing.T, h *harness.Helm, n int64, intercept func(p *harness.Process, w http.ResponseWriter), args ...string) (reached bool, r harness.Result) {
	t.Helper()
	other := *h
	other.Env = slices.Clone(h.Env)
	proxy := other.UseProxy(t)
	var writes atomic.Int64
	var started sync.WaitGroup
	started.Add(1)
	var p *harness.Process
	var wasReached atomic.Bool
	proxy.Intercept(func(w http.ResponseWriter, _ *http.Request, what fault.Request) bool {
		if !isWrite(what) || writes.Add(1) != n {
			return false
		}
		started.Wait()
		wasReached.Store(true)
		intercept(p, w)
		return true
	})
	p = other.Start(t, args...)
	started.Done()
	r = p.Wait(t)
	return wasReached.Load(), r
}

// TestMigrationKilledAtEachStep kills a migration before each of its requests that change something. Then no version of
// Helm can change the release, unless the migration had not begun or was done, and the next migration continues.
func TestMigrationKilledAtEachStep(t *testing.T) {
	t.Parallel()
	for _, d := range directions {
		t.Run(d.from+" to "+d.to, func(t *testing.T) {
			t.Parallel()
			template := charts.WriteTemplate(t, releaseChart)
			first, stride := steps(t)
			for n := first; ; n += stride {
				h := newRelease(t, d.from)
				before := describeCurrent(with(h, d.from))
				args := []string{"state", "migrate", "rel", "--from", d.from, "--to", d.to}
				kill := func(p *harness.Process, _ http.ResponseWriter) {
					p.Kill()
					<-p.Ended
				}
				reached, _ := runUntilWrite(t, h, n, kill, args...)
				if !reached {
					t.Logf("fewer than %d steps", n)
					return
				}
				where := fmt.Sprintf("killed before write %d", n)
				expectOneDriver(t, h, where, template, d.from, d.to)
				if r := h.Run(args...); r.ExitCode != 0 || !strings.Contains(r.Stdout, "2 revisions") {
					t.Fatalf("%s: the next migration printed\n%s\n%s", where, r.Stdout, r.Stderr)
				}
				if after := describeCurrent(with(h, d.to)); after != before {
					t.Fatalf("%s: the release is\n%s\nand was\n%s", where, after, before)
				}
				expectStored(t, h, d.to)
				checkOwners(t, h, where, d.to)
				with(h, d.to).MustRun("uninstall", "rel")
				h.ExpectNoReleases(t)
			}
		})
	}
}

// steps returns the first step of a migration to interrupt, and the number of steps to the next one: all of them if
// ORDERED_HELM_KILLS is set, otherwise every fifth.
func steps(t *testing.T) (first, stride int64) {
	t.Helper()
	if os.Getenv("ORDERED_HELM_KILLS") != "" {
		return 1, 1
	}
	stride = 5
	return 1 + int64(harness.NewSeed(t)%uint64(stride)), stride
}

// describeCurrent returns what Helm says about a release with two revisions.
func describeCurrent(h *harness.Helm) string {
	return withoutVersions(h.MustRun("history", "rel").Stdout + h.MustRun("get", "all", "rel").Stdout + h.MustRun("get", "all", "rel", "--revision", "1").Stdout)
}

// checkOwners checks that the objects of the chart have the owners that they have with a storage driver.
func checkOwners(t *testing.T, h *harness.Helm, where, driverName string) {
	t.Helper()
	want := "owned:- kept:- hook:-"
	if driverName == "crd" {
		want = "owned:Release kept:- hook:Release"
	}
	if got := owners(t, h); got != want {
		t.Errorf("%s: the owners are %s, want %s", where, got, want)
	}
}

// expectOneDriver checks that at most one of two storage drivers lets Helm upgrade a release. The upgrades are dry runs.
func expectOneDriver(t *testing.T, h *harness.Helm, where, chart string, drivers ...string) {
	t.Helper()
	var upgraded []string
	for _, name := range drivers {
		if r := with(h, name).Run("upgrade", "rel", chart, "--set", "text=c", "--dry-run"); r.ExitCode == 0 {
			upgraded = append(upgraded, name)
		}
	}
	if len(upgraded) > 1 {
		t.Errorf("%s: %v upgrade the release", where, upgraded)
	}
	if !slices.Contains(drivers, "secret") || slices.Contains(upgraded, "secret") {
		return
	}
	for _, args := range [][]string{{"upgrade", "rel", chart, "--set", "text=c", "--dry-run"}, {"install", "rel", chart, "--set", "text=c"}} {
		if r := h.RunStock(t, args...); r.ExitCode == 0 {
			t.Errorf("%s: stock helm %v succeeded", where, args)
		}
	}
}

// TestMigrationFails makes each request of a migration that changes something fail. The migration then restores the
// state before, or the next one continues.
func TestMigrationFails(t *testing.T) {
	t.Parallel()
	for _, d := range directions {
		t.Run(d.from+" to "+d.to, func(t *testing.T) {
			t.Parallel()
			first, stride := steps(t)
			for n := first; ; n += stride {
				h := newRelease(t, d.from)
				before, ownersBefore := describeCurrent(with(h, d.from)), owners(t, h)
				args := []string{"state", "migrate", "rel", "--from", d.from, "--to", d.to}
				reject := func(_ *harness.Process, w http.ResponseWriter) {
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(http.StatusForbidden)
					_, _ = w.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","message":"not allowed","code":403}`))
				}
				reached, r := runUntilWrite(t, h, n, reject, args...)
				if !reached {
					t.Logf("fewer than %d steps", n)
					return
				}
				where := fmt.Sprintf("write %d failed", n)
				now := d.to
				switch {
				case r.ExitCode == 0: // the request was not needed
				case strings.Contains(r.Stderr, "run the same command again"):
					h.MustRun(args...)
				default:
					now = d.from
				}
				if after := describeCurrent(with(h, now)); after != before {
					t.Fatalf("%s, with %s: the release is\n%s\nand was\n%s", where, r.Stderr, after, before)
				}
				expectStored(t, h, now)
				if now == d.to {
					checkOwners(t, h, where, now)
				} else if got := owners(t, h); got != ownersBefore {
					t.Errorf("%s: the owners are %s, and were %s", where, got, ownersBefore)
				}
				with(h, now).MustRun("upgrade", "rel", charts.WriteTemplate(t, releaseChart), "--set", "text=c")
			}
		})
	}
}

// TestTwoMigrations starts two migrations of a release at once. One of them moves it.
func TestTwoMigrations(t *testing.T) {
	t.Parallel()
	for _, d := range directions {
		t.Run(d.from+" to "+d.to, func(t *testing.T) {
			t.Parallel()
			h := newRelease(t, d.from)
			before := describeCurrent(with(h, d.from))
			args := []string{"state", "migrate", "rel", "--from", d.from, "--to", d.to}
			first, second := h.Start(t, args...), h.Start(t, args...)
			results := []harness.Result{first.Wait(t), second.Wait(t)}
			moved := 0
			for _, r := range results {
				if strings.Contains(r.Stdout, "rel moved from") {
					moved++
				}
			}
			if moved != 1 {
				t.Errorf("%d migrations have moved it: %+v", moved, results)
			}
			if after := describeCurrent(with(h, d.to)); after != before {
				t.Errorf("the release is\n%s\nand was\n%s", after, before)
			}
			expectStored(t, h, d.to)
			checkOwners(t, h, "afterwards", d.to)
		})
	}
}
