// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package ordering

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestSlowBranchDoesNotBlockOthers checks that a slow pod in one branch of the graph does not
// delay a chain of three nodes in another branch.
func TestSlowBranchDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	pod := func(name, after string, annotations ...string) charts.Object {
		return charts.Object{Kind: "Pod", Name: name, Layer: name, DependsOn: after, Annotations: annotations}
	}
	chart := charts.Write(t, pod("slow", "", "devcluster/after: 4s"), pod("after-slow", "slow"),
		pod("one", ""), pod("two", "one"), pod("three", "two"))
	h.MustRun("install", "rel", chart, "--wait=ordered")
	recorded := h.ReadTrace(t)
	if three, slow := recorded.Ready("Pod/three"), recorded.Ready("Pod/slow"); !three.Before(slow) {
		t.Errorf("the quick branch ended at %s, the slow one was ready at %s", three, slow)
	}
	if after, slow := recorded.Created("Pod/after-slow"), recorded.Ready("Pod/slow"); after.Before(slow) {
		t.Errorf("what depends on the slow pod was created at %s, before it was ready at %s", after, slow)
	}
}

// TestFailedNode checks an install with a node that never becomes ready: its dependents do not
// start, an independent branch finishes, the cause is stored in the release, and the release
// can be uninstalled.
func TestFailedNode(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	chart := charts.Write(t, charts.Pod("never", "first", "helm.sh/readiness-timeout: 2s", "devcluster/pod: never"), charts.Last("first"),
		charts.Object{Name: "beside", Layer: "beside"}, charts.Object{Name: "after-beside", Layer: "after-beside", DependsOn: "beside"})
	h.ExpectFailure(t, []string{"install", "rel", chart, "--wait=ordered"}, "INSTALLATION FAILED", `layer "first" of chart app`, "never", "2s", "helm.sh/readiness-timeout", "app:last")
	recorded := h.ReadTrace(t)
	if len(recorded["ConfigMap/last"]) > 0 {
		t.Error("what depends on the failed node was created")
	}
	if len(recorded["ConfigMap/after-beside"]) == 0 {
		t.Error("an independent branch did not finish")
	}
	status := h.MustRun("status", "rel", "--show-desc").Stdout
	harness.ExpectContains(t, status, "STATUS: failed", "Pod/never was not ready within 2s")
	h.MustRun("uninstall", "rel")
	h.ExpectEmptyNamespace(t)
}

// TestAtomicInstall checks that a failed install with --atomic deletes the objects that it has
// created, in reverse order, and leaves nothing.
func TestAtomicInstall(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	chart := charts.HangingChart(t, "1s")
	h.ExpectFailure(t, []string{"install", "rel", chart, "--wait=ordered", "--atomic"}, "has been uninstalled due to atomic being set")
	recorded := h.ReadTrace(t)
	first, _ := recorded.Deleted("ConfigMap/first")
	if _, gone := recorded.Deleted("Pod/never"); gone.IsZero() || first.Before(gone) {
		t.Errorf("ConfigMap/first was deleted at %s, before Pod/never was gone at %s", first, gone)
	}
	h.ExpectEmptyNamespace(t)
}

// TestCRDsInEarlierLayer installs and uninstalls a chart with custom resources whose CRD is in
// an earlier layer.
func TestCRDsInEarlierLayer(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	group := h.Namespace + ".example"
	definition, widget := charts.Definition(group, "Widget"), charts.CustomResource(group, "Widget", "one")
	definition.Layer, widget.Layer, widget.DependsOn = "definitions", "widgets", "definitions"
	chart := charts.Write(t, definition, widget, charts.Object{Name: "end"})
	h.MustRun("install", "rel", chart, "--wait=ordered")
	h.MustRun("get", "manifest", "rel")
	h.MustRun("uninstall", "rel")
	h.ExpectEmptyNamespace(t)
}

// TestPostRendererThatDropsComments checks that the order is followed if a post-renderer
// removes the comments that name the template of each manifest.
func TestPostRendererThatDropsComments(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	o := &harness.Order{
		SubtreeAfter: [][2]string{{"umbrella/backend", "umbrella/platform"}, {"umbrella/frontend", "umbrella/backend"}},
		OwnAfter:     [][2]string{{"umbrella", "umbrella/frontend"}},
	}
	chart := harness.ExampleChart(t, "umbrella")
	o.AddManifest(t, h.MustRun("template", "rel", chart).Stdout)
	h.MustRun("install", "rel", chart, "--wait=ordered", "--post-renderer", "grep", "--post-renderer-args", "-v", "--post-renderer-args", "^#")
	o.CheckInstall(t, h.ReadTrace(t), 80)
	if manifest := h.MustRun("get", "manifest", "rel").Stdout; strings.Contains(manifest, "ordered.helm.sh") || strings.Contains(manifest, "# Source") {
		t.Errorf("the stored manifest still has markers or comments:\n%s", manifest)
	}
	h.MustRun("uninstall", "rel")
	o.CheckUninstall(t, h.ReadTrace(t))
}

// TestResourcePolicyKeep checks that Helm neither deletes resources with the resource policy
// keep nor waits for their deletion.
func TestResourcePolicyKeep(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	kept := charts.Object{Name: "kept", Layer: "second", DependsOn: "first", Annotations: []string{`helm.sh/resource-policy: " Keep "`}}
	chart := charts.Write(t, charts.Object{Name: "first", Layer: "first"}, kept)
	h.MustRun("install", "rel", chart, "--wait=ordered")
	out := h.MustRun("uninstall", "rel").Stdout
	if !strings.Contains(out, "[ConfigMap] kept") {
		t.Errorf("the kept object is not named:\n%s", out)
	}
	if _, err := h.Cluster.Client().CoreV1().ConfigMaps(h.Namespace).Get(t.Context(), "kept", metav1.GetOptions{}); err != nil {
		t.Errorf("the kept object is gone: %v", err)
	}
	if deleted, _ := h.ReadTrace(t).Deleted("ConfigMap/first"); deleted.IsZero() {
		t.Error("what the kept object depends on was not deleted")
	}
}

// TestStockHelmManagesOrderedRelease checks that stock Helm can list, read and uninstall a
// release that was deployed in order, and that Ordered Helm can do so with a release of stock
// Helm.
func TestStockHelmManagesOrderedRelease(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.MustRun("install", "ours", harness.ExampleChart(t, "shop"), "--wait=ordered", "--timeout", "2m")
	if out := h.MustRunStock(t, "get", "all", "ours"); strings.Contains(out, "ordered-helm") {
		t.Errorf("stock Helm prints the record:\n%s", out)
	}
	if ours, theirs := h.MustRun("get", "manifest", "ours").Stdout, h.MustRunStock(t, "get", "manifest", "ours"); ours != theirs {
		t.Error("the two read different manifests")
	}
	h.MustRunStock(t, "uninstall", "ours", "--wait")
	h.MustRunStock(t, "install", "theirs", harness.ExampleChart(t, "shop"))
	h.MustRun("uninstall", "theirs")
	h.ExpectEmptyNamespace(t)
}

// TestLeafTimeoutStartsWhenApplied checks that the readiness timeout of a leaf starts when the
// leaf is applied, even if another branch of the graph takes longer.
func TestLeafTimeoutStartsWhenApplied(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	chart := charts.Write(t,
		charts.Pod("leaf", "leaf", "helm.sh/readiness-timeout: 4s", "devcluster/after: 1s"),
		charts.Object{Kind: "StatefulSet", Name: "slow", Layer: "slow", PodAnnotations: []string{"devcluster/after: 6s"}},
		charts.Object{Name: "end", Layer: "end", DependsOn: "slow"})
	h.MustRun("install", "rel", chart, "--wait=ordered", "--readiness-timeout", "1m")
}

// TestPostRendererAddsObjects checks that objects that a post-renderer adds are deployed, even
// if their Source comment does not name a template of the chart.
func TestPostRendererAddsObjects(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	script := filepath.Join(t.TempDir(), "post-render")
	added := "cat; printf -- '---\\n# Source: app/crds/x.yaml\\napiVersion: v1\\nkind: ConfigMap\\nmetadata:\\n  name: added\\n'\n"
	harness.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\n"+added), 0o700))
	chart := charts.Write(t, charts.Object{Name: "first", Layer: "first"})
	h.MustRun("install", "rel", chart, "--wait=ordered", "--post-renderer", script)
	if len(h.ReadTrace(t)["ConfigMap/added"]) == 0 {
		t.Error("what the post-renderer added was not deployed")
	}
}

// TestResourcePolicyKeepOnList checks the resource policy keep on an object of kind List, and
// on an item of such a list.
func TestResourcePolicyKeepOnList(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	item := func(name, more string) string {
		return "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: " + name + "\n" + more
	}
	chart := charts.WriteFiles(t, map[string]string{
		"Chart.yaml": charts.Metadata,
		"templates/list.yaml": "apiVersion: v1\nkind: List\nmetadata:\n  annotations: {helm.sh/resource-policy: keep}\nitems:\n" +
			item("one", "") + item("two", ""),
		"templates/other.yaml": "apiVersion: v1\nkind: List\nitems:\n" + item("going", "") +
			item("three", "    annotations: {helm.sh/resource-policy: keep}\n"),
	})
	h.MustRun("install", "rel", chart, "--wait=ordered")
	out := h.MustRun("uninstall", "rel").Stdout
	for _, name := range []string{"one", "two", "three"} {
		if !strings.Contains(out, "[ConfigMap] "+name+"\n") {
			t.Errorf("%s is not named as kept:\n%s", name, out)
		}
		if _, err := h.Cluster.Client().CoreV1().ConfigMaps(h.Namespace).Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Errorf("%s was to be kept: %v", name, err)
		}
	}
	if deleted, _ := h.ReadTrace(t).Deleted("ConfigMap/going"); deleted.IsZero() {
		t.Error("ConfigMap/going was not deleted")
	}
}
