// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"crypto/rand"
	"encoding/base64"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/fault"
	"github.com/ordered-helm/helm/test/harness"
)

// replaceRecord replaces the order record of a stored revision.
func replaceRecord(tb testing.TB, h *harness.Helm, rel *release.Release, record string) {
	tb.Helper()
	damaged := false
	for _, f := range rel.Chart.Files {
		if f.Name == ".ordered-helm/record.json" {
			f.Data, damaged = []byte(record), true
		}
	}
	if !damaged {
		tb.Fatal("the release has no record")
	}
	harness.NoError(tb, h.Storage().Update(rel))
}

// TestLifecycleDamagedOrderRecord checks operations on a release whose order record is
// damaged. An operation that needs the record changes nothing, and its error names a way to
// continue, which must work.
func TestLifecycleDamagedOrderRecord(t *testing.T) {
	t.Parallel()
	for name, record := range map[string]struct{ text, says string }{
		"damaged":            {"\x1f\x8b no record", "cannot be used"},
		"cut off":            {`{"version":1,"sequenced":true,"charts":{"name":"app"`, "cannot be used"},
		"of a newer version": {`{"version":7,"something":"else"}`, "upgrade Ordered Helm"},
	} {
		prepare := func(t *testing.T) *harness.Helm {
			t.Helper()
			t.Parallel()
			h := harness.New(t)
			h.MustRun("install", "rel", charts.Write(t, charts.OddObjects("1")...), "--wait=ordered")
			replaceRecord(t, h, h.LastRevision(t, "rel"), record.text)
			h.Started = harness.Now()
			return h
		}
		expectUntouched := func(t *testing.T, h *harness.Helm) {
			t.Helper()
			if list := h.ReadTrace(t).Since(h.Started).WrittenByHelm(); len(list) > 0 {
				t.Errorf("though it was refused, these were written: %q", list)
			}
		}
		t.Run("upgrade/"+name, func(t *testing.T) {
			h := prepare(t)
			h.ExpectFailure(t, []string{"upgrade", "rel", charts.ThreeLayers(t, "2"), "--wait=ordered"}, "the order record of release rel, revision 1, cannot be used", record.says, "--wait=true")
			expectUntouched(t, h)
			h.ExpectStatuses(t, "rel", "deployed")
			h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "2"), "--wait=true")
			h.ExpectManifestObjects(t, "rel")
			h.ExpectValues(t, "2")
			h.Started = harness.Now()
			h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "3"), "--wait=ordered")
			h.CheckOrder(t, "rel", h.ReadTrace(t))
			h.ExpectManifestObjects(t, "rel")
		})
		t.Run("rollback/"+name, func(t *testing.T) {
			h := prepare(t)
			h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "2"))
			h.Started = harness.Now()
			h.ExpectFailure(t, []string{"rollback", "rel", "1"}, "the order record of release rel, revision 1, cannot be used", record.says, "--wait=true")
			expectUntouched(t, h)
			h.MustRun("rollback", "rel", "1", "--wait=true")
			h.ExpectManifestObjects(t, "rel")
			h.ExpectValues(t, "1")
			h.MustRun("rollback", "rel", "1", "--wait=false")
			h.ExpectManifestObjects(t, "rel")
		})
		t.Run("rollback of it/"+name, func(t *testing.T) {
			h := prepare(t)
			h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "2"), "--wait")
			h.MustRun("upgrade", "rel", charts.Write(t, charts.OddObjects("3")...), "--wait=ordered")
			good := h.LastRevision(t, "rel")
			replaceRecord(t, h, good, record.text)
			h.MustRun("rollback", "rel", "2")
			h.ExpectManifestObjects(t, "rel")
			h.ExpectValues(t, "2")
		})
		t.Run("uninstall/"+name, func(t *testing.T) {
			h := prepare(t)
			h.ExpectFailure(t, []string{"uninstall", "rel"}, "the order record of release rel, revision 1, cannot be used", record.says, "--wait=true")
			expectUntouched(t, h)
			h.ExpectManifestObjects(t, "rel")
			for _, args := range [][]string{{"status", "rel"}, {"history", "rel"}, {"get", "all", "rel"}, {"list"}} {
				h.MustRun(args...)
			}
			h.ExpectFailure(t, []string{"dag", "rel"}, "cannot be used")
			h.MustRun("uninstall", "rel", "--wait=true")
			h.ExpectObjects(t, "rel")
			h.ExpectNoReleases(t)
		})
		t.Run("stock Helm/"+name, func(t *testing.T) {
			h := prepare(t)
			h.MustRunStock(t, "upgrade", "rel", charts.ThreeLayers(t, "2"))
			h.MustRunStock(t, "rollback", "rel", "1")
			h.MustRunStock(t, "uninstall", "rel")
			h.ExpectNoReleases(t)
		})
	}
}

// TestLifecycleConcurrentProcesses lets a second process operate on a release at a critical
// moment of the first one. It checks that one of them succeeds, and that the other one reports
// the conflict and changes nothing.
func TestLifecycleConcurrentProcesses(t *testing.T) {
	t.Parallel()
	t.Run("both have seen the same", func(t *testing.T) {
		t.Parallel()
		h := harness.New(t)
		h.MustRun("install", "rel", charts.ThreeLayers(t, "0"), "--wait=ordered")
		// The second process starts and completes when the first one is about to store its
		// revision.
		second := *h
		held, pass := h.HoldRequests(t, harness.CreatesRevision)
		p := h.Start(t, "upgrade", "rel", charts.Write(t, charts.OddObjects("1")...), "--wait=ordered")
		harness.AwaitClosed(t, held, "the attempt to store a revision")
		second.MustRun("upgrade", "rel", charts.ThreeLayers(t, "2"), "--wait=ordered")
		before := h.ReleaseObjects(t, "rel")
		pass()
		p.ExpectExit(t, 1, "another operation created revision 2 of release rel in the meantime")
		harness.ExpectSameContent(t, before, h.ReleaseObjects(t, "rel"))
		h.ExpectManifestObjects(t, "rel")
		h.ExpectValues(t, "2")
		h.ExpectStatuses(t, "rel", "superseded deployed")
	})
	t.Run("one is to replace a release, and finds another", func(t *testing.T) {
		t.Parallel()
		h := harness.New(t)
		h.MustRun("install", "rel", charts.ThreeLayers(t, "0"), "--wait=ordered")
		h.MustRun("uninstall", "rel", "--keep-history")
		// The second process installs after the first one has read the existing revisions
		// once.
		second := *h
		var reads atomic.Int32
		held, pass := h.HoldRequests(t, func(what fault.Request) bool {
			return harness.CreatesRevision(what) || harness.ListsRevisions(what) && reads.Add(1) > 1
		})
		p := h.Start(t, "install", "rel", charts.Write(t, charts.OddObjects("1")...), "--wait=ordered", "--replace")
		harness.AwaitClosed(t, held, "the attempt to store a revision")
		second.MustRun("install", "rel", charts.ThreeLayers(t, "2"), "--wait=ordered", "--replace")
		before := h.ReleaseObjects(t, "rel")
		pass()
		p.ExpectExit(t, 1, "another operation created revision 2 of release rel in the meantime")
		harness.ExpectSameContent(t, before, h.ReleaseObjects(t, "rel"))
		h.ExpectStatuses(t, "rel", "superseded deployed")
	})
	t.Run("one is under way", func(t *testing.T) {
		t.Parallel()
		h := harness.New(t)
		h.MustRun("install", "rel", charts.ThreeLayers(t, "0"), "--wait=ordered")
		// The first process continues after the second one has been rejected.
		second := *h
		held, pass := h.HoldRequests(t, func(what fault.Request) bool {
			return what.Verb == "patch" && what.Resource == "configmaps" && what.Name == "last"
		})
		p := h.Start(t, "upgrade", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
		harness.AwaitClosed(t, held, "the change of the last object")
		second.ExpectFailure(t, []string{"upgrade", "rel", charts.Write(t, charts.OddObjects("2")...), "--wait=ordered"},
			"another operation (install/upgrade/rollback) is in progress")
		pass()
		if r := p.Wait(t); r.ExitCode != 0 {
			t.Errorf("the first one failed:\n%s", r.Stderr)
		}
		h.ExpectManifestObjects(t, "rel")
		h.ExpectValues(t, "1")
	})
	t.Run("all at once", func(t *testing.T) {
		t.Parallel()
		h := harness.New(t)
		h.MustRun("install", "rel", charts.ThreeLayers(t, "0"), "--wait=ordered")
		var upgrades []*harness.Process
		for _, value := range []string{"1", "2", "3"} {
			upgrades = append(upgrades, h.Start(t, "upgrade", "rel", charts.Write(t, append(charts.ThreeLayerObjects(value), charts.Object{Name: "of-" + value, Layer: "last"})...), "--wait=ordered"))
		}
		var codes []int
		for _, p := range upgrades {
			r := p.Wait(t)
			codes = append(codes, r.ExitCode)
			if r.ExitCode != 0 && !strings.Contains(r.Stderr, "another operation") {
				t.Errorf("one that did not win says\n%s", r.Stderr)
			}
		}
		if !slices.Contains(codes, 0) {
			t.Errorf("none of them won: %v", codes)
		}
		h.ExpectManifestObjects(t, "rel")
		h.ExpectValues(t, harness.ValueOf(h.Get(t, "ConfigMap/first")))
	})
}

// TestLifecycleReleaseTooLarge checks that a release that is too large for a Secret is
// rejected before anything is changed.
func TestLifecycleReleaseTooLarge(t *testing.T) {
	t.Parallel()
	harness.RequireSecrets(t, "releases as objects have no limit")
	h := harness.New(t)
	noise := make([]byte, 900<<10)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	large := func() string {
		dir := charts.ThreeLayers(t, "2")
		charts.AddFile(t, dir, "large.txt", base64.StdEncoding.EncodeToString(noise))
		return dir
	}
	h.ExpectRejected(t, h.Run("install", "rel", large(), "--wait=ordered"), "release rel is too large to be stored", "1048576", "large.txt")
	h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
	h.Started = harness.Now()
	h.ExpectFailure(t, []string{"upgrade", "rel", large(), "--wait=ordered"}, "release rel is too large to be stored", "1048576", "large.txt")
	if list := h.ReadTrace(t).Since(h.Started).WrittenByHelm(); len(list) > 0 {
		t.Errorf("though it was refused, these were written: %q", list)
	}
	h.ExpectStatuses(t, "rel", "deployed")
	h.ExpectValues(t, "1")
}
