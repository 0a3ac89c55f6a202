// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/fault"
)

// damage replaces what a stored revision remembers of its order.
func (h *helm) damage(tb testing.TB, rel *release.Release, record string) {
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
	secrets := driver.NewSecrets(h.cluster.Client().CoreV1().Secrets(h.namespace))
	if err := secrets.Update("sh.helm.release.v1."+rel.Name+".v"+strconv.Itoa(rel.Version), rel); err != nil {
		tb.Fatal(err)
	}
}

// TestLifecycleDamagedRecord has the record of a release be of no use: what goes by
// it says so, changes nothing, and names a way on, which works.
func TestLifecycleDamagedRecord(t *testing.T) {
	t.Parallel()
	for name, record := range map[string]struct{ text, says string }{
		"damaged":            {"\x1f\x8b no record", "cannot be used"},
		"cut off":            {`{"version":1,"sequenced":true,"charts":{"name":"app"`, "cannot be used"},
		"of a newer version": {`{"version":7,"something":"else"}`, "use a newer one"},
	} {
		prepare := func(t *testing.T) *helm {
			t.Helper()
			t.Parallel()
			h := newHelm(t)
			h.ok("install", "rel", charts.Write(t, oddParts("1")...), "--wait=ordered")
			h.damage(t, h.last(t, "rel"), record.text)
			h.from = mark()
			return h
		}
		expectUntouched := func(t *testing.T, h *helm) {
			t.Helper()
			if list := h.readTrace(t).since(h.from).touched(); len(list) > 0 {
				t.Errorf("though it was refused, these were written: %q", list)
			}
		}
		t.Run("upgrade/"+name, func(t *testing.T) {
			h := prepare(t)
			h.fails(t, []string{"upgrade", "rel", three(t, "2"), "--wait=ordered"}, "the record of order in release rel, revision 1, cannot be used", record.says, "--wait=true")
			expectUntouched(t, h)
			h.expectStatuses(t, "rel", "deployed")
			h.ok("upgrade", "rel", three(t, "2"), "--wait=true")
			h.expectObjects(t, "rel")
			h.expectValue(t, "2")
			h.from = mark()
			h.ok("upgrade", "rel", three(t, "3"), "--wait=ordered")
			h.proveOrderOf(t, "rel", h.readTrace(t))
			h.expectObjects(t, "rel")
		})
		t.Run("rollback/"+name, func(t *testing.T) {
			h := prepare(t)
			h.ok("upgrade", "rel", three(t, "2"))
			h.from = mark()
			h.fails(t, []string{"rollback", "rel", "1"}, "the record of order in release rel, revision 1, cannot be used", record.says, "--wait=true")
			expectUntouched(t, h)
			h.ok("rollback", "rel", "1", "--wait=true")
			h.expectObjects(t, "rel")
			h.expectValue(t, "1")
			h.ok("rollback", "rel", "1", "--wait=false")
			h.expectObjects(t, "rel")
		})
		t.Run("rollback of it/"+name, func(t *testing.T) {
			h := prepare(t)
			h.ok("upgrade", "rel", three(t, "2"), "--wait")
			h.ok("upgrade", "rel", charts.Write(t, oddParts("3")...), "--wait=ordered")
			good := h.last(t, "rel")
			h.damage(t, good, record.text)
			h.ok("rollback", "rel", "2")
			h.expectObjects(t, "rel")
			h.expectValue(t, "2")
		})
		t.Run("uninstall/"+name, func(t *testing.T) {
			h := prepare(t)
			h.fails(t, []string{"uninstall", "rel"}, "the record of order in release rel, revision 1, cannot be used", record.says, "--wait=true")
			expectUntouched(t, h)
			h.expectObjects(t, "rel")
			for _, args := range [][]string{{"status", "rel"}, {"history", "rel"}, {"get", "all", "rel"}, {"list"}} {
				h.ok(args...)
			}
			h.fails(t, []string{"dag", "rel"}, "cannot be used")
			h.ok("uninstall", "rel", "--wait=true")
			h.expectOnly(t, "rel")
			h.expectNoSecrets(t)
		})
		t.Run("stock Helm/"+name, func(t *testing.T) {
			h := prepare(t)
			h.stock(t, "upgrade", "rel", three(t, "2"))
			h.stock(t, "rollback", "rel", "1")
			h.stock(t, "uninstall", "rel")
			h.expectNoSecrets(t)
		})
	}
}

// TestLifecycleTwoAtOnce has two processes upgrade one release: one wins, the other
// one says so and changes nothing.
func TestLifecycleTwoAtOnce(t *testing.T) {
	t.Parallel()
	t.Run("both have seen the same", func(t *testing.T) {
		t.Parallel()
		h := newHelm(t)
		h.ok("install", "rel", three(t, "0"), "--wait=ordered")
		// The first one is about to store its revision when the second one comes and
		// does all of its work.
		second := *h
		held, pass := h.holdUp(t, isCreationOfRecord)
		p := h.start(t, "upgrade", "rel", charts.Write(t, oddParts("1")...), "--wait=ordered")
		await(t, held, "the attempt to store a revision")
		second.ok("upgrade", "rel", three(t, "2"), "--wait=ordered")
		before := h.objectsOf(t, "rel")
		pass()
		p.expectEnd(t, 1, "another operation has made revision 2 of release rel meanwhile")
		expectDeclared(t, before, h.objectsOf(t, "rel"))
		h.expectObjects(t, "rel")
		h.expectValue(t, "2")
		h.expectStatuses(t, "rel", "superseded deployed")
	})
	t.Run("one is to replace a release, and finds another", func(t *testing.T) {
		t.Parallel()
		h := newHelm(t)
		h.ok("install", "rel", three(t, "0"), "--wait=ordered")
		h.ok("uninstall", "rel", "--keep-history")
		// The second one installs when the first one has read once what there is.
		second := *h
		var reads atomic.Int32
		held, pass := h.holdUp(t, func(what fault.Request) bool {
			return isCreationOfRecord(what) || what.Verb == "list" && what.Resource == "secrets" && reads.Add(1) > 1
		})
		p := h.start(t, "install", "rel", charts.Write(t, oddParts("1")...), "--wait=ordered", "--replace")
		await(t, held, "the attempt to store a revision")
		second.ok("install", "rel", three(t, "2"), "--wait=ordered", "--replace")
		before := h.objectsOf(t, "rel")
		pass()
		p.expectEnd(t, 1, "another operation has made revision 2 of release rel meanwhile")
		expectDeclared(t, before, h.objectsOf(t, "rel"))
		h.expectStatuses(t, "rel", "superseded deployed")
	})
	t.Run("one is under way", func(t *testing.T) {
		t.Parallel()
		h := newHelm(t)
		h.ok("install", "rel", three(t, "0"), "--wait=ordered")
		// The first one goes on once the second one has been refused.
		second := *h
		held, pass := h.holdUp(t, func(what fault.Request) bool {
			return what.Verb == "patch" && what.Resource == "configmaps" && what.Name == "last"
		})
		p := h.start(t, "upgrade", "rel", three(t, "1"), "--wait=ordered")
		await(t, held, "the change of the last object")
		second.fails(t, []string{"upgrade", "rel", charts.Write(t, oddParts("2")...), "--wait=ordered"},
			"another operation (install/upgrade/rollback) is in progress")
		pass()
		if r := p.wait(t); r.code != 0 {
			t.Errorf("the first one failed:\n%s", r.stderr)
		}
		h.expectObjects(t, "rel")
		h.expectValue(t, "1")
	})
	t.Run("all at once", func(t *testing.T) {
		t.Parallel()
		h := newHelm(t)
		h.ok("install", "rel", three(t, "0"), "--wait=ordered")
		var upgrades []*process
		for _, value := range []string{"1", "2", "3"} {
			upgrades = append(upgrades, h.start(t, "upgrade", "rel", charts.Write(t, append(threeParts(value), charts.Object{Name: "of-" + value, Layer: "last"})...), "--wait=ordered"))
		}
		var codes []int
		for _, p := range upgrades {
			r := p.wait(t)
			codes = append(codes, r.code)
			if r.code != 0 && !strings.Contains(r.stderr, "another operation") {
				t.Errorf("one that did not win says\n%s", r.stderr)
			}
		}
		if !slices.Contains(codes, 0) {
			t.Errorf("none of them won: %v", codes)
		}
		h.expectObjects(t, "rel")
		h.expectValue(t, valueOf(h.get(t, "ConfigMap/first")))
	})
}

// TestLifecycleTooLarge refuses releases that cannot be stored, before anything is
// changed.
func TestLifecycleTooLarge(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
	noise := make([]byte, 900<<10)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	large := func() string {
		dir := three(t, "2")
		charts.AddFile(t, dir, "large.txt", base64.StdEncoding.EncodeToString(noise))
		return dir
	}
	h.refused(t, h.run("install", "rel", large(), "--wait=ordered"), "release rel is too large to be stored", "1048576", "large.txt")
	h.ok("install", "rel", three(t, "1"), "--wait=ordered")
	h.from = mark()
	h.fails(t, []string{"upgrade", "rel", large(), "--wait=ordered"}, "release rel is too large to be stored", "1048576", "large.txt")
	if list := h.readTrace(t).since(h.from).touched(); len(list) > 0 {
		t.Errorf("though it was refused, these were written: %q", list)
	}
	h.expectStatuses(t, "rel", "deployed")
	h.expectValue(t, "1")
}
