// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
)

// TestLifecycleUpgrade has upgrades with every option, in order.
func TestLifecycleUpgrade(t *testing.T) {
	t.Parallel()
	runLifecycle(t, map[string]func(*testing.T, *helm){
		"what others set stays":             upgradeKeepsForeign,
		"nothing changed":                   upgradeOfNothing,
		"deleted by hand":                   upgradeRestores,
		"another kind":                      upgradeToAnotherKind,
		"gone with their pods":              upgradeDeletesInReverse,
		"force":                             upgradeByForce,
		"recreate pods":                     upgradeRecreatesPods,
		"conflict and take-ownership":       upgradeTakesOwnership,
		"keep policy":                       upgradeKeeps,
		"taken over by another release":     upgradeSparesOthers,
		"history-max":                       upgradeForgets,
		"post-renderer":                     upgradeWithPostRenderer,
		"install":                           upgradeInstalls,
		"unchanged, and not ready":          upgradeOfTheUnready(false),
		"patched in vain, and not ready":    upgradeOfTheUnready(true),
		"hooks":                             upgradeWithHooks,
		"gone, but hanging":                 upgradeHangsAtTheEnd,
		"definitions of its own":            upgradeDefinitions,
		"dry run":                           upgradeInThought,
		"of a failed install":               upgradeOfFailedInstall,
		"install after an uninstall":        upgradeAfterUninstall,
		"cleanup-on-fail":                   upgradeCleansUp,
		"cleanup-on-fail of what was there": upgradeCleansUpItsOwn,
	})
}

func upgradeByForce(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "x"), "--wait=ordered")
	h.patch(t, "ConfigMap/first", `{"metadata":{"labels":{"foreign":"l"}}}`)
	before := h.objectsOf(t, "rel")
	h.from = mark()
	h.ok("upgrade", "rel", three(t, "y"), "--wait=ordered", "--force")
	after, recorded := h.objectsOf(t, "rel"), h.readTrace(t)
	h.proveOrderOf(t, "rel", recorded)
	for id := range before {
		expectSame(t, before, after, id)
		if valueOf(after[id]) != "y" {
			t.Errorf("%s has the value %q", id, valueOf(after[id]))
		}
	}
	if got := recorded.since(h.from).touched("update"); len(got) != 3 {
		t.Errorf("replaced were %q, want all three", got)
	}
	if after["ConfigMap/first"].GetLabels()["foreign"] != "" {
		t.Error("a foreign label has survived, though the object was to be replaced")
	}
}

func upgradeRecreatesPods(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "x"), "--wait=ordered")
	parts := threeParts("x")
	parts[2].Value = "y"
	h.from = mark()
	h.ok("upgrade", "rel", charts.Write(t, parts...), "--wait=ordered", "--recreate-pods")
	late := h.readTrace(t).since(h.from)
	created, deleted := 0, 0
	changed := late.helms("ConfigMap/last", changing...)
	if len(changed) != 1 {
		t.Fatalf("ConfigMap/last was written %d times", len(changed))
	}
	for id, writes := range late {
		if !strings.HasPrefix(id, "Pod/app-") {
			continue
		}
		if gone, _ := late.deleted(id); !gone.IsZero() {
			deleted++
			continue
		}
		created++
		if !slices.ContainsFunc(writes, func(w write) bool { return w.stored.ready("Pod") && w.received.Before(changed[0].received) }) {
			t.Errorf("ConfigMap/last was changed at %s, before the new %s was ready", changed[0].received, id)
		}
	}
	if created != 1 || deleted != 1 {
		t.Errorf("%d pods were created and %d deleted, want one each", created, deleted)
	}
}

func upgradeTakesOwnership(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "x"), "--wait=ordered")
	h.apply(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: foreign, labels: {own: l}}\ndata: {own: d, value: v}\n")
	before := h.get(t, "ConfigMap/foreign")
	next := three(t, "y", charts.Object{Name: "foreign", Layer: "last", Value: "y"})
	h.from = mark()
	h.fails(t, []string{"upgrade", "rel", next, "--wait=ordered"}, `ConfigMap "foreign"`, "invalid ownership metadata", "Unable to continue with update")
	if list := h.readTrace(t).since(h.from).touched(); len(list) > 0 {
		t.Errorf("though it was refused, these were written: %q", list)
	}
	h.expectStatuses(t, "rel", "deployed")
	h.ok("upgrade", "rel", next, "--wait=ordered", "--take-ownership")
	after := h.get(t, "ConfigMap/foreign")
	if after.GetUID() != before.GetUID() || valueOf(after) != "y" || after.GetLabels()["own"] != "l" || textAt(after, "data", "own") != "d" {
		t.Errorf("it was not taken over as it is: %v", after.Object)
	}
	h.expectObjects(t, "rel")
}

func upgradeForgets(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "1"), "--wait=ordered")
	for _, value := range []string{"2", "3", "4"} {
		h.ok("upgrade", "rel", three(t, value), "--wait=ordered", "--history-max", "2")
	}
	if list := h.history(t, "rel"); len(list) != 2 || list[0].Version != 3 || list[1].Version != 4 {
		t.Errorf("%d revisions are stored: %s", len(list), h.statuses(t, "rel"))
	}
}

func upgradeWithPostRenderer(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "x"), "--wait=ordered")
	h.from = mark()
	h.ok("upgrade", "rel", three(t, "y"), "--wait=ordered", "--post-renderer", "sed",
		"--post-renderer-args", `-e/^#/d`, "--post-renderer-args", `-es/"y"/"rendered"/`, "--post-renderer-args", "-es/value: y/value: rendered/")
	recorded := h.readTrace(t)
	o := &oracle{}
	o.readObjects(t, h.last(t, "rel").Manifest)
	if pairs := o.proveChanged(t, recorded, h.from); pairs != 3 {
		t.Errorf("%d pairs had an order, want 3", pairs)
	}
	for id, object := range h.objectsOf(t, "rel") {
		if valueOf(object) != "rendered" {
			t.Errorf("%s has the value %q", id, valueOf(object))
		}
	}
	h.ok("rollback", "rel")
	h.ok("uninstall", "rel")
	h.expectOnly(t, "rel")
}

func upgradeInstalls(t *testing.T, h *helm) {
	h.fails(t, []string{"upgrade", "rel", three(t, "x"), "--wait=ordered"}, `"rel" has no deployed releases`)
	h.from = mark()
	h.ok("upgrade", "--install", "rel", three(t, "x"), "--wait=ordered")
	h.proveOrderOf(t, "rel", h.readTrace(t))
	h.from = mark()
	h.ok("upgrade", "--install", "rel", three(t, "y"), "--wait=ordered")
	h.proveOrderOf(t, "rel", h.readTrace(t))
	h.expectStatuses(t, "rel", "superseded deployed")
}

func upgradeWithHooks(t *testing.T, h *helm) {
	hook := func(name, event string) charts.Object {
		return charts.Object{Kind: "Job", Name: name, Annotations: []string{"helm.sh/hook: " + event}}
	}
	h.ok("install", "rel", three(t, "x", charts.Object{Name: "gone", Layer: "gone"}), "--wait=ordered")
	h.from = mark()
	h.ok("upgrade", "rel", three(t, "y", hook("before", "pre-upgrade"), hook("after", "post-upgrade")), "--wait=ordered")
	recorded := h.readTrace(t)
	before, after := object{kind: "Job", name: "before"}, recorded.helms("Job/after", "create")
	first, gone := recorded.since(h.from).helms("ConfigMap/first", changing...), recorded.since(h.from).helms("ConfigMap/gone", "delete")
	if len(after) != 1 || len(first) != 1 || len(gone) != 1 {
		t.Fatalf("the hook after it was created %d times, first changed %d times, gone deleted %d times", len(after), len(first), len(gone))
	}
	if why := recorded.readyBy(before, first[0].received); why != "" {
		t.Errorf("ConfigMap/first was changed, though the hook before it %s", why)
	}
	if after[0].received.Before(gone[0].received) {
		t.Errorf("the hook after it was created at %s, before ConfigMap/gone was deleted at %s", after[0].received, gone[0].received)
	}
}

func upgradeInThought(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "1"), "--wait=ordered")
	h.from = mark()
	for _, dryRun := range []string{"--dry-run", "--dry-run=server"} {
		r := h.ok("upgrade", "rel", charts.Write(t, oddParts("2")...), "--wait=ordered", dryRun)
		expectSaid(t, r.stdout, "STATUS: pending-upgrade", "name: odder")
	}
	if list := h.readTrace(t).since(h.from).touched(); len(list) > 0 || len(h.history(t, "rel")) != 1 {
		t.Errorf("something was changed all the same: %q, %s", list, h.statuses(t, "rel"))
	}
}

// upgradeAfterUninstall installs anew what was uninstalled with its history kept.
func upgradeAfterUninstall(t *testing.T, h *helm) {
	h.ok("install", "rel", charts.Write(t, oddParts("1")...), "--wait=ordered")
	h.ok("uninstall", "rel", "--keep-history")
	h.fails(t, []string{"upgrade", "rel", three(t, "2"), "--wait=ordered"}, `"rel" has no deployed releases`)
	h.from = mark()
	h.ok("upgrade", "--install", "rel", three(t, "2"), "--wait=ordered")
	h.proveOrderOf(t, "rel", h.readTrace(t))
	h.expectObjects(t, "rel")
	h.expectStatuses(t, "rel", "superseded deployed")
}

func upgradeCleansUp(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "x"), "--wait=ordered")
	before := h.objectsOf(t, "rel")
	parts := append(threeParts("y"), charts.Object{Name: "one", Layer: "one"}, charts.Object{Kind: "Deployment", Name: "two", Layer: "two", DependsOn: "one", Annotations: charts.LongTimeout},
		charts.Object{Name: "three", Layer: "three", DependsOn: "two"})
	parts[1].PodAnnotations, parts[1].Annotations, parts[1].DependsOn = charts.NeverReady, charts.ShortTimeout, "first, three"
	h.from = mark()
	h.fails(t, []string{"upgrade", "rel", charts.Write(t, parts...), "--wait=ordered", "--cleanup-on-fail"}, "UPGRADE FAILED", "Deployment/app")
	late := h.readTrace(t).since(h.from)
	if got := late.touched("delete"); !slices.Equal(got, []string{"ConfigMap/one", "ConfigMap/three", "Deployment/two"}) {
		t.Errorf("deleted were %q", got)
	}
	o := &oracle{}
	o.readObjects(t, h.last(t, "rel").Manifest)
	created := []string{"ConfigMap/one", "ConfigMap/three", "Deployment/two"}
	if pairs := o.proveRemoved(t, late, func(o object) bool { return slices.Contains(created, o.String()) }); pairs != 3 {
		t.Errorf("%d pairs of deleted objects had an order, want 3", pairs)
	}
	after := h.objectsOf(t, "rel")
	h.expectOnly(t, "rel", "ConfigMap/first", "Deployment/app", "ConfigMap/last")
	expectSame(t, before, after, "ConfigMap/first", "Deployment/app", "ConfigMap/last")
	h.expectStatuses(t, "rel", "deployed failed")
}

// upgradeCleansUpItsOwn fails after it took over what others had made: that stays.
func upgradeCleansUpItsOwn(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "x"), "--wait=ordered")
	h.apply(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: foreign}\ndata: {own: d}\n")
	before := h.get(t, "ConfigMap/foreign")
	parts := append(threeParts("y"), charts.Object{Name: "foreign", Layer: "first"}, charts.Object{Name: "created", Layer: "first"})
	parts[1].PodAnnotations, parts[1].Annotations = charts.NeverReady, charts.ShortTimeout
	h.fails(t, []string{"upgrade", "rel", charts.Write(t, parts...), "--wait=ordered", "--cleanup-on-fail", "--take-ownership"}, "UPGRADE FAILED")
	if after := h.get(t, "ConfigMap/foreign"); after == nil || after.GetUID() != before.GetUID() {
		t.Errorf("what the upgrade had taken over was deleted: %v", after)
	}
	if h.get(t, "ConfigMap/created") != nil {
		t.Error("what the upgrade had created was not deleted")
	}
}

// TestLifecycleUpgradeValues combines values as the options say.
func TestLifecycleUpgradeValues(t *testing.T) {
	t.Parallel()
	values := func(of string) string { return "a: " + of + "\nb: " + of + "\nc: " + of + "\n" }
	chart := func(tb testing.TB, of string) string {
		tb.Helper()
		return charts.WriteFiles(tb, map[string]string{
			"Chart.yaml": charts.Metadata, "values.yaml": values(of),
			"templates/all.yaml": charts.Manifests(charts.Object{Name: "first", Layer: "first"}, charts.Object{Name: "last", Layer: "last", DependsOn: "first", Value: "{{ .Values.a }} {{ .Values.b }} {{ .Values.c }}"}),
		})
	}
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"nothing", nil, "given second second"},
		{"others given", []string{"--set", "c=now"}, "second second now"},
		{"reset", []string{"--reset-values"}, "second second second"},
		{"reset, others given", []string{"--reset-values", "--set", "c=now"}, "second second now"},
		{"reuse", []string{"--reuse-values", "--set", "c=now"}, "given first now"},
		{"reset, then reuse", []string{"--reset-then-reuse-values", "--set", "c=now"}, "given second now"},
		{"reset wins", []string{"--reset-values", "--reuse-values", "--reset-then-reuse-values"}, "second second second"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHelm(t)
			h.ok("install", "rel", chart(t, "first"), "--wait=ordered", "--set", "a=given")
			h.ok(append([]string{"upgrade", "rel", chart(t, "second"), "--wait=ordered"}, tt.args...)...)
			if got := valueOf(h.get(t, "ConfigMap/last")); got != tt.want {
				t.Errorf("the values are %q, want %q", got, tt.want)
			}
		})
	}
}
