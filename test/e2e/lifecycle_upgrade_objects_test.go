// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
)

func upgradeKeepsForeign(t *testing.T, h *helm) {
	settings := func(data string) string {
		return charts.Object{Name: "settings", Layer: "first"}.Manifest() + "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: more\n" +
			"  labels: {own: \"1\"}\n  annotations: {helm.sh/layer: second, depends-on.helm.sh/layers: first}\ndata: " + data + "\n" +
			charts.Object{Kind: "Deployment", Name: "app", Layer: "third", DependsOn: "second", Value: data[:5], Annotations: charts.LongTimeout}.Manifest()
	}
	h.ok("install", "rel", charts.WriteTemplate(t, settings("{a: one, b: two, c: three}")), "--wait=ordered")
	h.patch(t, "ConfigMap/more", `{"metadata":{"labels":{"foreign":"l"},"annotations":{"foreign":"a"}},"data":{"foreign":"d","c":"by hand"}}`)
	h.patch(t, "Deployment/app", `{"metadata":{"labels":{"foreign":"l"}},"spec":{"replicas":2,"template":{"metadata":{"annotations":{"foreign":"a"}}}}}`)
	before := h.objectsOf(t, "rel")
	h.ok("upgrade", "rel", charts.WriteTemplate(t, settings("{a: other, c: three}")), "--wait=ordered")
	after := h.objectsOf(t, "rel")
	expectSame(t, before, after, "ConfigMap/more", "Deployment/app")
	more, app := after["ConfigMap/more"], after["Deployment/app"]
	for path, want := range map[string]string{"a": "other", "foreign": "d", "c": "three", "b": ""} {
		if got := textAt(more, "data", path); got != want {
			t.Errorf("data.%s is %q, want %q", path, got, want)
		}
	}
	if more.GetLabels()["foreign"] != "l" || more.GetLabels()["own"] != "1" || more.GetAnnotations()["foreign"] != "a" || app.GetLabels()["foreign"] != "l" {
		t.Errorf("foreign labels or annotations are gone: %v, %v, %v", more.GetLabels(), more.GetAnnotations(), app.GetLabels())
	}
	if got := textAt(app, "spec", "template", "metadata", "annotations", "foreign"); got != "a" || intAt(app, "spec.replicas") != 2 {
		t.Errorf("what others set in the Deployment is gone: %q, %d replicas", got, intAt(app, "spec.replicas"))
	}
}

func upgradeOfNothing(t *testing.T, h *helm) {
	chart := three(t, "x")
	h.ok("install", "rel", chart, "--wait=ordered")
	h.from = mark()
	h.ok("upgrade", "rel", chart, "--wait=ordered")
	if list := h.readTrace(t).since(h.from).touched(); len(list) > 0 {
		t.Errorf("though nothing changed, these were written: %q", list)
	}
	h.expectStatuses(t, "rel", "superseded deployed")
}

func upgradeRestores(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "x"), "--wait=ordered")
	h.delete(t, "ConfigMap/first")
	h.delete(t, "ConfigMap/last")
	h.from = mark()
	h.ok("upgrade", "rel", three(t, "y"), "--wait=ordered")
	h.proveOrderOf(t, "rel", h.readTrace(t))
	h.expectObjects(t, "rel")
}

func upgradeToAnotherKind(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "x", charts.Object{Kind: "Deployment", Name: "thing", Layer: "thing", Annotations: charts.LongTimeout}), "--wait=ordered")
	h.from = mark()
	h.ok("upgrade", "rel", three(t, "y", charts.Object{Kind: "Job", Name: "thing", Layer: "thing", Annotations: charts.LongTimeout}), "--wait=ordered")
	h.expectObjects(t, "rel")
	recorded := h.readTrace(t)
	deleted, _ := recorded.deleted("Deployment/thing")
	if created := recorded.helms("Job/thing", "create"); len(created) != 1 || deleted.Before(created[0].received) {
		t.Errorf("the Deployment was deleted at %s, the Job created by %v", deleted, created)
	}
}

// upgradeDeletesInReverse drops three layers of workloads, whose pods take their
// time to stop.
func upgradeDeletesInReverse(t *testing.T, h *helm) {
	slow := []string{"devcluster/stop-after: 1s"}
	h.ok("install", "rel", three(t, "x",
		charts.Object{Kind: "Deployment", Name: "db", Layer: "db", Annotations: charts.LongTimeout, PodAnnotations: slow},
		charts.Object{Kind: "Deployment", Name: "api", Layer: "api", DependsOn: "db", Annotations: charts.LongTimeout, PodAnnotations: slow},
		charts.Object{Name: "settings", Layer: "api"},
		charts.Object{Kind: "Pod", Name: "web", Layer: "web", DependsOn: "api", Annotations: charts.LongTimeout, PodAnnotations: slow}), "--wait=ordered")
	old := &oracle{}
	old.readObjects(t, h.last(t, "rel").Manifest)
	h.from = mark()
	h.ok("upgrade", "rel", three(t, "y"), "--wait=ordered", "--readiness-timeout", "30s")
	recorded := h.readTrace(t)
	h.proveOrderOf(t, "rel", recorded)
	gone := []string{"Deployment/db", "Deployment/api", "ConfigMap/settings", "Pod/web"}
	isGone := func(o object) bool { return slices.Contains(gone, o.String()) }
	if pairs := old.proveRemoved(t, recorded.since(h.from), isGone); pairs != 5 {
		t.Errorf("%d pairs of deleted objects had an order, want 5", pairs)
	}
	h.expectObjects(t, "rel")
}

func upgradeKeeps(t *testing.T, h *helm) {
	var kept []charts.Object
	var names []string
	for name, policy := range map[string]string{"exact": "keep", "upper": "Keep", "spaces": " keep ", "shouted": "KEEP", "other": "retain"} {
		kept = append(kept, charts.Object{Name: name, Layer: "kept", DependsOn: "last", Annotations: []string{`helm.sh/resource-policy: "` + policy + `"`}})
		names = append(names, "ConfigMap/"+name)
	}
	kept = append(kept, charts.Object{Name: "by-hand", Layer: "kept"}, charts.Object{Name: "on-top", Layer: "top", DependsOn: "kept"})
	names = append(names, "ConfigMap/by-hand")
	h.ok("install", "rel", three(t, "x", kept...), "--wait=ordered")
	h.patch(t, "ConfigMap/by-hand", `{"metadata":{"annotations":{"helm.sh/resource-policy":"keep"}}}`)
	r := h.ok("upgrade", "rel", three(t, "y"), "--wait=ordered")
	for _, id := range names {
		_, name, _ := strings.Cut(id, "/")
		if !strings.Contains(r.stderr, `"`+name+`"`) {
			t.Errorf("it is not said that %s stays:\n%s", id, r.stderr)
		}
	}
	h.expectObjects(t, "rel", names...)
}

func upgradeSparesOthers(t *testing.T, h *helm) {
	h.ok("install", "rel", three(t, "x", charts.Object{Name: "shared", Layer: "shared"}, charts.Object{Name: "kept", Layer: "last"}), "--wait=ordered")
	h.ok("install", "other", charts.Write(t, charts.Object{Name: "shared", Layer: "a", Value: "theirs"}), "--wait=ordered", "--take-ownership")
	before := h.get(t, "ConfigMap/shared")
	h.ok("upgrade", "rel", three(t, "y", charts.Object{Name: "kept", Layer: "last"}), "--wait=ordered")
	h.ok("install", "third", charts.Write(t, charts.Object{Name: "kept", Layer: "a", Value: "theirs"}), "--wait=ordered", "--take-ownership")
	h.ok("uninstall", "rel")
	for _, id := range []string{"ConfigMap/shared", "ConfigMap/kept"} {
		if got := valueOf(h.get(t, id)); got != "theirs" {
			t.Errorf("%s, which belongs to another release, has the value %q", id, got)
		}
	}
	if after := h.get(t, "ConfigMap/shared"); after != nil && after.GetResourceVersion() != before.GetResourceVersion() {
		t.Error("it was changed by the upgrade of a release that it no longer belonged to")
	}
	h.expectOnly(t, "rel")
}

// upgradeOfTheUnready waits in vain for what it did not change, and says that. An
// object that declares something empty is patched all the same, as Helm does: the
// server changes nothing then.
func upgradeOfTheUnready(empty bool) func(*testing.T, *helm) {
	return func(t *testing.T, h *helm) {
		parts := threeParts("x")
		parts[1] = charts.Object{Kind: "Pod", Name: "app", Layer: "app", DependsOn: "first", Value: "x", Annotations: []string{"helm.sh/readiness-timeout: 2s"}}
		chart := func() string {
			dir := charts.Write(t, parts...)
			if empty {
				charts.Edit(t, dir, "templates/all.yaml", `name: V, value: "x"`, `name: V, value: ""`)
			}
			return dir
		}
		h.ok("install", "rel", chart(), "--wait=ordered")
		h.patch(t, "Pod/app", `{"metadata":{"annotations":{"devcluster/pod":"crash-loop"}}}`)
		if _, err := until(t.Context(), h.api("v1", "Pod"), "app", hasCondition("Ready", "False", "")); err != nil {
			t.Fatal(err)
		}
		parts[2].Value = "y"
		h.from = mark()
		h.fails(t, []string{"upgrade", "rel", chart(), "--wait=ordered"}, "Pod/app", "unchanged", "--wait=false", "never started")
		if list := h.readTrace(t).since(h.from).touched(); len(list) > 0 && !empty {
			t.Errorf("these were written all the same: %q", list)
		}
		h.ok("upgrade", "rel", chart(), "--wait=false")
		if got := valueOf(h.get(t, "ConfigMap/last")); got != "y" {
			t.Errorf("the way out has left the value %q", got)
		}
	}
}

// upgradeHangsAtTheEnd drops two objects, the second of which does not go: the
// upgrade fails, and is finished by the next one.
func upgradeHangsAtTheEnd(t *testing.T, h *helm) {
	dir := charts.Write(t, oddParts("1")...)
	charts.Edit(t, dir, "templates/all.yaml", "{name: odder,", "{name: odder, finalizers: [ordered.example/hold],")
	h.ok("install", "rel", dir, "--wait=ordered", "--timeout", "1m")
	h.fails(t, []string{"upgrade", "rel", three(t, "2"), "--wait=ordered", "--timeout", "30s", "--readiness-timeout", "2s"},
		"delete what the release no longer has", "/odder was not gone when the operation's time of", "ordered.example/hold", "not deleted because of that")
	h.expectOnly(t, "rel", "ConfigMap/first", "Deployment/app", "ConfigMap/last", "ConfigMap/odd", "ConfigMap/odder")
	h.expectValue(t, "2")
	h.expectStatuses(t, "rel", "deployed failed")
	h.patch(t, "ConfigMap/odder", `{"metadata":{"finalizers":null}}`)
	h.ok("upgrade", "rel", three(t, "3"), "--wait=ordered")
	h.expectObjects(t, "rel")
}

// upgradeDefinitions adds, changes and drops custom resources along with their
// definition.
func upgradeDefinitions(t *testing.T, h *helm) {
	group := h.namespace + ".example"
	definition := "---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: gears." + group + "\n" +
		"  annotations: {helm.sh/layer: definitions}\nspec:\n  group: " + group + "\n  scope: Namespaced\n  names: {kind: Gear, plural: gears, singular: gear}\n" +
		"  versions:\n  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}\n"
	gear := func(spec string) string {
		return "---\napiVersion: " + group + "/v1\nkind: Gear\nmetadata:\n  name: one\n" +
			"  annotations: {helm.sh/layer: gears, depends-on.helm.sh/layers: definitions}\nspec: {" + spec + "}\n"
	}
	chart := func(value, more string) string {
		dir := three(t, value)
		charts.AddFile(t, dir, "templates/more.yaml", more)
		return dir
	}
	h.ok("install", "rel", three(t, "1"), "--wait=ordered")
	h.ok("upgrade", "rel", chart("2", definition+gear("teeth: few, gone: soon")), "--wait=ordered")
	h.ok("upgrade", "rel", chart("3", definition+gear("teeth: many")), "--wait=ordered")
	one, err := h.api(group+"/v1", "Gear").Get(t.Context(), "one", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if teeth, gone := textAt(one, "spec", "teeth"), textAt(one, "spec", "gone"); teeth != "many" || gone != "" {
		t.Errorf("the custom resource has %q and %q", teeth, gone)
	}
	h.ok("upgrade", "rel", three(t, "4"), "--wait=ordered")
	h.expectObjects(t, "rel")
	definitions := h.client.Resource(resourceOf("apiextensions.k8s.io/v1", "CustomResourceDefinition"))
	if crd, err := definitions.Get(t.Context(), "gears."+group, metav1.GetOptions{}); err == nil && crd.GetDeletionTimestamp() == nil {
		t.Error("the definition is still there")
	}
	h.ok("rollback", "rel", "2", "--timeout", "1m")
	if _, err := h.api(group+"/v1", "Gear").Get(t.Context(), "one", metav1.GetOptions{}); err != nil {
		t.Errorf("the custom resource did not come back: %v", err)
	}
	h.ok("uninstall", "rel")
	h.expectNoSecrets(t)
}

// upgradeOfFailedInstall mends an install that failed; what only that had goes.
func upgradeOfFailedInstall(t *testing.T, h *helm) {
	h.fails(t, []string{"install", "rel", charts.Write(t, failingParts("1")...), "--wait=ordered"}, "Deployment/app")
	h.from = mark()
	h.ok("upgrade", "rel", three(t, "2", charts.Object{Name: "marked", Layer: "extra"}), "--wait=ordered")
	h.proveOrderOf(t, "rel", h.readTrace(t))
	h.expectObjects(t, "rel")
	proveLeftNothing(t, h, "2", true)
}
