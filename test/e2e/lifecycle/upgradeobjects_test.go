// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

func upgradeKeepsForeign(t *testing.T, h *harness.Helm) {
	settings := func(data string) string {
		return charts.Object{Name: "settings", Layer: "first"}.Manifest() + "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: more\n" +
			"  labels: {own: \"1\"}\n  annotations: {helm.sh/layer: second, depends-on.helm.sh/layers: first}\ndata: " + data + "\n" +
			charts.Object{Kind: "Deployment", Name: "app", Layer: "third", DependsOn: "second", Value: data[:5], Annotations: charts.LongTimeout}.Manifest()
	}
	h.MustRun("install", "rel", charts.WriteTemplate(t, settings("{a: one, b: two, c: three}")), "--wait=ordered")
	h.Patch(t, "ConfigMap/more", `{"metadata":{"labels":{"foreign":"l"},"annotations":{"foreign":"a"}},"data":{"foreign":"d","c":"by hand"}}`)
	h.Patch(t, "Deployment/app", `{"metadata":{"labels":{"foreign":"l"}},"spec":{"replicas":2,"template":{"metadata":{"annotations":{"foreign":"a"}}}}}`)
	before := h.ReleaseObjects(t, "rel")
	h.MustRun("upgrade", "rel", charts.WriteTemplate(t, settings("{a: other, c: three}")), "--wait=ordered")
	after := h.ReleaseObjects(t, "rel")
	harness.ExpectSameObjects(t, before, after, "ConfigMap/more", "Deployment/app")
	more, app := after["ConfigMap/more"], after["Deployment/app"]
	for path, want := range map[string]string{"a": "other", "foreign": "d", "c": "three", "b": ""} {
		if got := stringAt(more, "data", path); got != want {
			t.Errorf("data.%s is %q, want %q", path, got, want)
		}
	}
	if more.GetLabels()["foreign"] != "l" || more.GetLabels()["own"] != "1" || more.GetAnnotations()["foreign"] != "a" || app.GetLabels()["foreign"] != "l" {
		t.Errorf("foreign labels or annotations are gone: %v, %v, %v", more.GetLabels(), more.GetAnnotations(), app.GetLabels())
	}
	if got := stringAt(app, "spec", "template", "metadata", "annotations", "foreign"); got != "a" || harness.IntAt(app, "spec.replicas") != 2 {
		t.Errorf("what others set in the Deployment is gone: %q, %d replicas", got, harness.IntAt(app, "spec.replicas"))
	}
}

func upgradeOfNothing(t *testing.T, h *harness.Helm) {
	chart := charts.ThreeLayers(t, "x")
	h.MustRun("install", "rel", chart, "--wait=ordered")
	h.Started = harness.Now()
	h.MustRun("upgrade", "rel", chart, "--wait=ordered")
	if list := h.ReadTrace(t).Since(h.Started).WrittenByHelm(); len(list) > 0 {
		t.Errorf("though nothing changed, these were written: %q", list)
	}
	h.ExpectStatuses(t, "rel", "superseded deployed")
}

func upgradeRestores(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "x"), "--wait=ordered")
	h.Delete(t, "ConfigMap/first")
	h.Delete(t, "ConfigMap/last")
	h.Started = harness.Now()
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "y"), "--wait=ordered")
	h.CheckOrder(t, "rel", h.ReadTrace(t))
	h.ExpectManifestObjects(t, "rel")
}

func upgradeToAnotherKind(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "x", charts.Object{Kind: "Deployment", Name: "thing", Layer: "thing", Annotations: charts.LongTimeout}), "--wait=ordered")
	h.Started = harness.Now()
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "y", charts.Object{Kind: "Job", Name: "thing", Layer: "thing", Annotations: charts.LongTimeout}), "--wait=ordered")
	h.ExpectManifestObjects(t, "rel")
	recorded := h.ReadTrace(t)
	deleted, _ := recorded.Deleted("Deployment/thing")
	if created := recorded.HelmWrites("Job/thing", "create"); len(created) != 1 || deleted.Before(created[0].Received) {
		t.Errorf("the Deployment was deleted at %s, the Job created by %v", deleted, created)
	}
}

// upgradeDeletesInReverse checks an upgrade that deletes three layers of workloads whose pods
// take some time to stop.
func upgradeDeletesInReverse(t *testing.T, h *harness.Helm) {
	slow := []string{"devcluster/stop-after: 1s"}
	h.MustRun("install", "rel", charts.ThreeLayers(t, "x",
		charts.Object{Kind: "Deployment", Name: "db", Layer: "db", Annotations: charts.LongTimeout, PodAnnotations: slow},
		charts.Object{Kind: "Deployment", Name: "api", Layer: "api", DependsOn: "db", Annotations: charts.LongTimeout, PodAnnotations: slow},
		charts.Object{Name: "settings", Layer: "api"},
		charts.Object{Kind: "Pod", Name: "web", Layer: "web", DependsOn: "api", Annotations: charts.LongTimeout, PodAnnotations: slow}), "--wait=ordered")
	old := &harness.Order{}
	old.AddManifest(t, h.LastRevision(t, "rel").Manifest)
	h.Started = harness.Now()
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "y"), "--wait=ordered", "--readiness-timeout", "30s")
	recorded := h.ReadTrace(t)
	h.CheckOrder(t, "rel", recorded)
	gone := []string{"Deployment/db", "Deployment/api", "ConfigMap/settings", "Pod/web"}
	isGone := func(o harness.OrderedObject) bool { return slices.Contains(gone, o.String()) }
	if pairs := old.CheckDeletions(t, recorded.Since(h.Started), isGone); pairs != 5 {
		t.Errorf("%d pairs of deleted objects had an order, want 5", pairs)
	}
	h.ExpectManifestObjects(t, "rel")
}

func upgradeKeeps(t *testing.T, h *harness.Helm) {
	var kept []charts.Object
	var names []string
	for name, policy := range map[string]string{"exact": "keep", "upper": "Keep", "spaces": " keep ", "shouted": "KEEP", "other": "retain"} {
		kept = append(kept, charts.Object{Name: name, Layer: "kept", DependsOn: "last", Annotations: []string{`helm.sh/resource-policy: "` + policy + `"`}})
		names = append(names, "ConfigMap/"+name)
	}
	kept = append(kept, charts.Object{Name: "by-hand", Layer: "kept"}, charts.Object{Name: "on-top", Layer: "top", DependsOn: "kept"})
	names = append(names, "ConfigMap/by-hand")
	h.MustRun("install", "rel", charts.ThreeLayers(t, "x", kept...), "--wait=ordered")
	h.Patch(t, "ConfigMap/by-hand", `{"metadata":{"annotations":{"helm.sh/resource-policy":"keep"}}}`)
	r := h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "y"), "--wait=ordered")
	for _, id := range names {
		_, name, _ := strings.Cut(id, "/")
		if !strings.Contains(r.Stderr, `"`+name+`"`) {
			t.Errorf("it is not said that %s stays:\n%s", id, r.Stderr)
		}
	}
	h.ExpectManifestObjects(t, "rel", names...)
}

func upgradeKeepsForeignObjects(t *testing.T, h *harness.Helm) {
	h.MustRun("install", "rel", charts.ThreeLayers(t, "x", charts.Object{Name: "shared", Layer: "shared"}, charts.Object{Name: "kept", Layer: "last"}), "--wait=ordered")
	h.MustRun("install", "other", charts.Write(t, charts.Object{Name: "shared", Layer: "a", Value: "theirs"}), "--wait=ordered", "--take-ownership")
	before := h.Get(t, "ConfigMap/shared")
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "y", charts.Object{Name: "kept", Layer: "last"}), "--wait=ordered")
	h.MustRun("install", "third", charts.Write(t, charts.Object{Name: "kept", Layer: "a", Value: "theirs"}), "--wait=ordered", "--take-ownership")
	h.MustRun("uninstall", "rel")
	for _, id := range []string{"ConfigMap/shared", "ConfigMap/kept"} {
		if got := harness.ValueOf(h.Get(t, id)); got != "theirs" {
			t.Errorf("%s, which belongs to another release, has the value %q", id, got)
		}
	}
	if after := h.Get(t, "ConfigMap/shared"); after != nil && after.GetResourceVersion() != before.GetResourceVersion() {
		t.Error("it was changed by the upgrade of a release that it no longer belonged to")
	}
	h.ExpectObjects(t, "rel")
}

// upgradeWithUnreadyObject returns a test of an upgrade that times out while it waits for an
// object that it did not change. If empty is true, the object declares an empty field, so that
// Helm patches it, but the patch changes nothing.
func upgradeWithUnreadyObject(empty bool) func(*testing.T, *harness.Helm) {
	return func(t *testing.T, h *harness.Helm) {
		parts := charts.ThreeLayerObjects("x")
		parts[1] = charts.Object{Kind: "Pod", Name: "app", Layer: "app", DependsOn: "first", Value: "x"}
		chart := func() string {
			dir := charts.Write(t, parts...)
			if empty {
				charts.Edit(t, dir, "templates/all.yaml", `name: V, value: "x"`, `name: V, value: ""`)
			}
			return dir
		}
		h.MustRun("install", "rel", chart(), "--wait=ordered")
		h.Patch(t, "Pod/app", `{"metadata":{"annotations":{"devcluster/pod":"crash-loop"}}}`)
		if _, err := harness.AwaitState(t.Context(), h.Resource("v1", "Pod"), "app", harness.HasCondition("Ready", "False", "")); err != nil {
			t.Fatal(err)
		}
		parts[2].Value = "y"
		h.Started = harness.Now()
		h.ExpectFailure(t, []string{"upgrade", "rel", chart(), "--wait=ordered", "--readiness-timeout", "2s"}, "Pod/app", "unchanged", "--wait=false", "skipped (blocked by this failure)")
		if list := h.ReadTrace(t).Since(h.Started).WrittenByHelm(); len(list) > 0 && !empty {
			t.Errorf("these were written all the same: %q", list)
		}
		h.MustRun("upgrade", "rel", chart(), "--wait=false")
		if got := harness.ValueOf(h.Get(t, "ConfigMap/last")); got != "y" {
			t.Errorf("the way out has left the value %q", got)
		}
	}
}

// upgradeDeletionHangs checks an upgrade that fails because one of the objects that it deletes
// has a finalizer, and that the next upgrade succeeds.
func upgradeDeletionHangs(t *testing.T, h *harness.Helm) {
	dir := charts.Write(t, charts.OddObjects("1")...)
	charts.AddFinalizer(t, dir, "odder")
	h.MustRun("install", "rel", dir, "--wait=ordered", "--timeout", "1m")
	h.ExpectFailure(t, []string{"upgrade", "rel", charts.ThreeLayers(t, "2"), "--wait=ordered", "--timeout", "30s", "--readiness-timeout", "2s"},
		"prune resources no longer in the chart", "/odder still existed when the operation timed out after", "ordered.example/hold", "not deleted (blocked by this failure)")
	h.ExpectObjects(t, "rel", "ConfigMap/first", "Deployment/app", "ConfigMap/last", "ConfigMap/odd", "ConfigMap/odder")
	h.ExpectValues(t, "2")
	h.ExpectStatuses(t, "rel", "deployed failed")
	h.RemoveFinalizers(t, "ConfigMap/odder")
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "3"), "--wait=ordered")
	h.ExpectManifestObjects(t, "rel")
}

// upgradeCRDs checks upgrades that add, change and delete custom resources and their CRD.
func upgradeCRDs(t *testing.T, h *harness.Helm) {
	group := h.Namespace + ".example"
	definition := charts.Definition(group, "Gear")
	definition.Layer = "definitions"
	chart := func(value, spec string) string {
		gear := charts.CustomResource(group, "Gear", "one")
		gear.Layer, gear.DependsOn, gear.Body = "gears", "definitions", "spec: {"+spec+"}\n"
		return charts.ThreeLayers(t, value, definition, gear)
	}
	h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
	h.MustRun("upgrade", "rel", chart("2", "teeth: few, gone: soon"), "--wait=ordered")
	h.MustRun("upgrade", "rel", chart("3", "teeth: many"), "--wait=ordered")
	one, err := h.Resource(group+"/v1", "Gear").Get(t.Context(), "one", metav1.GetOptions{})
	harness.NoError(t, err)
	if teeth, gone := stringAt(one, "spec", "teeth"), stringAt(one, "spec", "gone"); teeth != "many" || gone != "" {
		t.Errorf("the custom resource has %q and %q", teeth, gone)
	}
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "4"), "--wait=ordered")
	h.ExpectManifestObjects(t, "rel")
	definitions := h.Client.Resource(harness.GuessResource("apiextensions.k8s.io/v1", "CustomResourceDefinition"))
	if crd, err := definitions.Get(t.Context(), "gears."+group, metav1.GetOptions{}); err == nil && crd.GetDeletionTimestamp() == nil {
		t.Error("the definition is still there")
	}
	h.MustRun("rollback", "rel", "2", "--timeout", "1m")
	if _, err := h.Resource(group+"/v1", "Gear").Get(t.Context(), "one", metav1.GetOptions{}); err != nil {
		t.Errorf("the custom resource did not come back: %v", err)
	}
	h.MustRun("uninstall", "rel")
	h.ExpectNoReleases(t)
}

// upgradeOfFailedInstall checks that an upgrade after a failed install deletes the objects
// that only the failed install declared.
func upgradeOfFailedInstall(t *testing.T, h *harness.Helm) {
	h.ExpectFailure(t, []string{"install", "rel", charts.Write(t, charts.FailingObjects("1")...), "--wait=ordered"}, "Deployment/app")
	h.Started = harness.Now()
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "2", charts.Object{Name: "marked", Layer: "extra"}), "--wait=ordered")
	h.CheckOrder(t, "rel", h.ReadTrace(t))
	h.ExpectManifestObjects(t, "rel")
	checkCleanedUp(t, h, "2", true)
}
