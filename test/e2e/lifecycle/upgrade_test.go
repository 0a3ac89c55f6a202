// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestLifecycleUpgrade checks upgrades in order, with every option.
func TestLifecycleUpgrade(t *testing.T) {
	t.Parallel()
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"what others set stays":             upgradeKeepsForeign,
		"nothing changed":                   upgradeOfNothing,
		"deleted by hand":                   upgradeRestores,
		"another kind":                      upgradeToAnotherKind,
		"gone with their pods":              upgradeDeletesInReverse,
		"force":                             upgradeByForce,
		"recreate pods":                     upgradeRecreatesPods,
		"conflict and take-ownership":       upgradeTakesOwnership,
		"keep policy":                       upgradeKeeps,
		"taken over by another release":     upgradeKeepsForeignObjects,
		"history-max":                       upgradeForgets,
		"post-renderer":                     upgradeWithPostRenderer,
		"install":                           upgradeInstalls,
		"unchanged, and not ready":          upgradeWithUnreadyObject(false),
		"patched in vain, and not ready":    upgradeWithUnreadyObject(true),
		"hooks":                             upgradeWithHooks,
		"gone, but hanging":                 upgradeDeletionHangs,
		"definitions of its own":            upgradeCRDs,
		"dry run":                           upgradeDryRun,
		"of a failed install":               upgradeOfFailedInstall,
		"install after an uninstall":        upgradeAfterUninstall,
		"cleanup-on-fail":                   upgradeCleansUp,
		"cleanup-on-fail of what was there": upgradeCleansUpOnlyOwnObjects,
	})
}

func upgradeByForce(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "x"), "--wait=ordered")
	h.Patch(t, "ConfigMap/first", `{"metadata":{"labels":{"foreign":"l"}}}`)
	before := h.ReleaseObjects(t, "rel")
	h.Started = harness.Now()
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "y"), "--wait=ordered", "--force")
	after, recorded := h.ReleaseObjects(t, "rel"), h.ReadTrace(t)
	h.CheckOrder(t, "rel", recorded)
	for id := range before {
		harness.ExpectSameObjects(t, before, after, id)
		if harness.ValueOf(after[id]) != "y" {
			t.Errorf("%s has the value %q", id, harness.ValueOf(after[id]))
		}
	}
	if got := recorded.Since(h.Started).WrittenByHelm("update"); len(got) != 3 {
		t.Errorf("replaced were %q, want all three", got)
	}
	if after["ConfigMap/first"].GetLabels()["foreign"] != "" {
		t.Error("a foreign label has survived, though the object was to be replaced")
	}
}

func upgradeRecreatesPods(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "x"), "--wait=ordered")
	parts := charts.ThreeLayerObjects("x")
	parts[2].Value = "y"
	h.Started = harness.Now()
	h.MustRun("upgrade", "rel", charts.Write(t, parts...), "--wait=ordered", "--recreate-pods")
	late := h.ReadTrace(t).Since(h.Started)
	created, deleted := 0, 0
	changed := late.HelmWrites("ConfigMap/last", harness.ChangeVerbs...)
	if len(changed) != 1 {
		t.Fatalf("ConfigMap/last was written %d times", len(changed))
	}
	for id, writes := range late {
		if !strings.HasPrefix(id, "Pod/app-") {
			continue
		}
		if gone, _ := late.Deleted(id); !gone.IsZero() {
			deleted++
			continue
		}
		created++
		if !slices.ContainsFunc(writes, func(w harness.Write) bool { return w.Stored.Ready("Pod") && w.Received.Before(changed[0].Received) }) {
			t.Errorf("ConfigMap/last was changed at %s, before the new %s was ready", changed[0].Received, id)
		}
	}
	if created != 1 || deleted != 1 {
		t.Errorf("%d pods were created and %d deleted, want one each", created, deleted)
	}
}

func upgradeTakesOwnership(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "x"), "--wait=ordered")
	h.Apply(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: foreign, labels: {own: l}}\ndata: {own: d, value: v}\n")
	before := h.Get(t, "ConfigMap/foreign")
	next := charts.ThreeLayers(t, "y", charts.Object{Name: "foreign", Layer: "last", Value: "y"})
	h.Started = harness.Now()
	h.ExpectFailure(t, []string{"upgrade", "rel", next, "--wait=ordered"}, `ConfigMap "foreign"`, "invalid ownership metadata", "Unable to continue with update")
	if list := h.ReadTrace(t).Since(h.Started).WrittenByHelm(); len(list) > 0 {
		t.Errorf("though it was refused, these were written: %q", list)
	}
	h.ExpectStatuses(t, "rel", "deployed")
	h.MustRun("upgrade", "rel", next, "--wait=ordered", "--take-ownership")
	after := h.Get(t, "ConfigMap/foreign")
	if after.GetUID() != before.GetUID() || harness.ValueOf(after) != "y" || after.GetLabels()["own"] != "l" || stringAt(after, "data", "own") != "d" {
		t.Errorf("it was not taken over as it is: %v", after.Object)
	}
	h.ExpectManifestObjects(t, "rel")
}

func upgradeForgets(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
	for _, value := range []string{"2", "3", "4"} {
		h.MustRun("upgrade", "rel", charts.ThreeLayers(t, value), "--wait=ordered", "--history-max", "2")
	}
	if list := h.History(t, "rel"); len(list) != 2 || list[0].Version != 3 || list[1].Version != 4 {
		t.Errorf("%d revisions are stored: %s", len(list), h.Statuses(t, "rel"))
	}
}

func upgradeWithPostRenderer(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "x"), "--wait=ordered")
	h.Started = harness.Now()
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "y"), "--wait=ordered", "--post-renderer", "sed",
		"--post-renderer-args", `-e/^#/d`, "--post-renderer-args", `-es/"y"/"rendered"/`, "--post-renderer-args", "-es/value: y/value: rendered/")
	recorded := h.ReadTrace(t)
	o := &harness.Order{}
	o.AddManifest(t, h.LastRevision(t, "rel").Manifest)
	if pairs := o.CheckChanges(t, recorded, h.Started); pairs != 3 {
		t.Errorf("%d pairs had an order, want 3", pairs)
	}
	for id, object := range h.ReleaseObjects(t, "rel") {
		if harness.ValueOf(object) != "rendered" {
			t.Errorf("%s has the value %q", id, harness.ValueOf(object))
		}
	}
	h.MustRun("rollback", "rel")
	h.MustRun("uninstall", "rel")
	h.ExpectObjects(t, "rel")
}

func upgradeInstalls(t *testing.T, h *harness.Helm) {
	h.ExpectFailure(t, []string{"upgrade", "rel", charts.ThreeLayers(t, "x"), "--wait=ordered"}, `"rel" has no deployed releases`)
	h.Started = harness.Now()
	h.MustRun("upgrade", "--install", "rel", charts.ThreeLayers(t, "x"), "--wait=ordered")
	h.CheckOrder(t, "rel", h.ReadTrace(t))
	h.Started = harness.Now()
	h.MustRun("upgrade", "--install", "rel", charts.ThreeLayers(t, "y"), "--wait=ordered")
	h.CheckOrder(t, "rel", h.ReadTrace(t))
	h.ExpectStatuses(t, "rel", "superseded deployed")
}

func upgradeWithHooks(t *testing.T, h *harness.Helm) {
	hook := func(name, event string) charts.Object {
		return charts.Object{Kind: "Job", Name: name, Annotations: []string{"helm.sh/hook: " + event}}
	}
	h.MustRun("install", "rel", charts.ThreeLayers(t, "x", charts.Object{Name: "gone", Layer: "gone"}), "--wait=ordered")
	h.Started = harness.Now()
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "y", hook("before", "pre-upgrade"), hook("after", "post-upgrade")), "--wait=ordered")
	recorded := h.ReadTrace(t)
	before, after := harness.OrderedObject{Kind: "Job", Name: "before"}, recorded.HelmWrites("Job/after", "create")
	first, gone := recorded.Since(h.Started).HelmWrites("ConfigMap/first", harness.ChangeVerbs...), recorded.Since(h.Started).HelmWrites("ConfigMap/gone", "delete")
	if len(after) != 1 || len(first) != 1 || len(gone) != 1 {
		t.Fatalf("the hook after it was created %d times, first changed %d times, gone deleted %d times", len(after), len(first), len(gone))
	}
	if why := recorded.NotReadyReason(before, first[0].Received); why != "" {
		t.Errorf("ConfigMap/first was changed, though the hook before it %s", why)
	}
	if after[0].Received.Before(gone[0].Received) {
		t.Errorf("the hook after it was created at %s, before ConfigMap/gone was deleted at %s", after[0].Received, gone[0].Received)
	}
}

func upgradeDryRun(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
	h.Started = harness.Now()
	for _, dryRun := range []string{"--dry-run", "--dry-run=server"} {
		r := h.MustRun("upgrade", "rel", charts.Write(t, charts.OddObjects("2")...), "--wait=ordered", dryRun)
		harness.ExpectContains(t, r.Stdout, "STATUS: pending-upgrade", "name: odder")
	}
	if list := h.ReadTrace(t).Since(h.Started).WrittenByHelm(); len(list) > 0 || len(h.History(t, "rel")) != 1 {
		t.Errorf("something was changed all the same: %q, %s", list, h.Statuses(t, "rel"))
	}
}

// upgradeAfterUninstall checks upgrade --install after an uninstall with --keep-history.
func upgradeAfterUninstall(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.Write(t, charts.OddObjects("1")...), "--wait=ordered")
	h.MustRun("uninstall", "rel", "--keep-history")
	h.ExpectFailure(t, []string{"upgrade", "rel", charts.ThreeLayers(t, "2"), "--wait=ordered"}, `"rel" has no deployed releases`)
	h.Started = harness.Now()
	h.MustRun("upgrade", "--install", "rel", charts.ThreeLayers(t, "2"), "--wait=ordered")
	h.CheckOrder(t, "rel", h.ReadTrace(t))
	h.ExpectManifestObjects(t, "rel")
	h.ExpectStatuses(t, "rel", "superseded deployed")
}

func upgradeCleansUp(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "x"), "--wait=ordered")
	before := h.ReleaseObjects(t, "rel")
	parts := append(charts.ThreeLayerObjects("y"), charts.Object{Name: "one", Layer: "one"}, charts.Object{Kind: "Deployment", Name: "two", Layer: "two", DependsOn: "one", Annotations: charts.LongTimeout},
		charts.Object{Name: "three", Layer: "three", DependsOn: "two"})
	parts[1].PodAnnotations, parts[1].Annotations, parts[1].DependsOn = charts.NeverReady, charts.ShortTimeout, "first, three"
	h.Started = harness.Now()
	h.ExpectFailure(t, []string{"upgrade", "rel", charts.Write(t, parts...), "--wait=ordered", "--cleanup-on-fail"}, "UPGRADE FAILED", "Deployment/app")
	late := h.ReadTrace(t).Since(h.Started)
	if got := late.WrittenByHelm("delete"); !slices.Equal(got, []string{"ConfigMap/one", "ConfigMap/three", "Deployment/two"}) {
		t.Errorf("deleted were %q", got)
	}
	o := &harness.Order{}
	o.AddManifest(t, h.LastRevision(t, "rel").Manifest)
	created := []string{"ConfigMap/one", "ConfigMap/three", "Deployment/two"}
	if pairs := o.CheckDeletions(t, late, func(o harness.OrderedObject) bool { return slices.Contains(created, o.String()) }); pairs != 3 {
		t.Errorf("%d pairs of deleted objects had an order, want 3", pairs)
	}
	after := h.ReleaseObjects(t, "rel")
	h.ExpectObjects(t, "rel", "ConfigMap/first", "Deployment/app", "ConfigMap/last")
	harness.ExpectSameObjects(t, before, after, "ConfigMap/first", "Deployment/app", "ConfigMap/last")
	h.ExpectStatuses(t, "rel", "deployed failed")
}

// upgradeCleansUpOnlyOwnObjects checks that the cleanup of a failed upgrade does not delete
// objects that the upgrade had adopted.
func upgradeCleansUpOnlyOwnObjects(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "x"), "--wait=ordered")
	h.Apply(t, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: foreign}\ndata: {own: d}\n")
	before := h.Get(t, "ConfigMap/foreign")
	parts := append(charts.ThreeLayerObjects("y"), charts.Object{Name: "foreign", Layer: "first"}, charts.Object{Name: "created", Layer: "first"})
	parts[1].PodAnnotations, parts[1].Annotations = charts.NeverReady, charts.ShortTimeout
	h.ExpectFailure(t, []string{"upgrade", "rel", charts.Write(t, parts...), "--wait=ordered", "--cleanup-on-fail", "--take-ownership"}, "UPGRADE FAILED")
	if after := h.Get(t, "ConfigMap/foreign"); after == nil || after.GetUID() != before.GetUID() {
		t.Errorf("what the upgrade had taken over was deleted: %v", after)
	}
	if h.Get(t, "ConfigMap/created") != nil {
		t.Error("what the upgrade had created was not deleted")
	}
}

// TestLifecycleUpgradeValues checks the values of upgrades with --reuse-values, --reset-values
// and --reset-then-reuse-values.
func TestLifecycleUpgradeValues(t *testing.T) {
	t.Parallel()
	values := func(of string) string { return "a: " + of + "\nb: " + of + "\nc: " + of + "\n" }
	chart := func(tb testing.TB, of string) string {
		tb.Helper()
		last := charts.Last("first")
		last.Value = "{{ .Values.a }} {{ .Values.b }} {{ .Values.c }}"
		return charts.Chart{Values: values(of), Objects: []charts.Object{{Name: "first", Layer: "first"}, last}}.Write(tb)
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
			h := harness.New(t)
			h.MustRun("install", "rel", chart(t, "first"), "--wait=ordered", "--set", "a=given")
			h.MustRun(append([]string{"upgrade", "rel", chart(t, "second"), "--wait=ordered"}, tt.args...)...)
			if got := harness.ValueOf(h.Get(t, "ConfigMap/last")); got != tt.want {
				t.Errorf("the values are %q, want %q", got, tt.want)
			}
		})
	}
}

// stringAt returns the string at a path in an object, or an empty string if there is none.
func stringAt(o *unstructured.Unstructured, path ...string) string {
	if o == nil {
		return ""
	}
	text, _, _ := unstructured.NestedString(o.Object, path...)
	return text
}
