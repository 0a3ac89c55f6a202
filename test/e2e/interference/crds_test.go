// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package interference

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// defineGizmos creates the CRD of the kind Gizmo.
func defineGizmos(tb testing.TB, h *harness.Helm) {
	tb.Helper()
	h.Apply(tb, charts.Definition(h.Namespace+".example", "Gizmo").Manifest())
	api := h.Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition")
	if _, err := harness.AwaitState(tb.Context(), api, "gizmos."+h.Namespace+".example", harness.HasCondition("Established", "True", "")); err != nil {
		tb.Fatal(err)
	}
}

// deleteGizmoDefinition deletes the CRD of the kind Gizmo.
func deleteGizmoDefinition(tb testing.TB, h *harness.Helm) {
	tb.Helper()
	api, name := h.Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition"), "gizmos."+h.Namespace+".example"
	harness.NoError(tb, api.Delete(tb.Context(), name, metav1.DeleteOptions{}))
	harness.Eventually(tb, "the deletion of the definition", func() bool {
		_, err := api.Get(tb.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// gizmoChart writes a chart with three layers: a ConfigMap, a Gizmo, and another ConfigMap.
func gizmoChart(tb testing.TB, h *harness.Helm, value string, annotations ...string) string {
	tb.Helper()
	gizmo := charts.CustomResource(h.Namespace+".example", "Gizmo", "one")
	gizmo.Layer, gizmo.DependsOn, gizmo.Annotations, gizmo.Body = "gizmo", "first", annotations, "spec: {value: \""+value+"\"}\n"
	return charts.Write(tb, charts.Object{Name: "first", Layer: "first", Value: value}, gizmo, charts.Object{Name: "last", Layer: "last", DependsOn: "gizmo", Value: value})
}

// TestOthersDeleteCRDs checks operations on a release with a custom resource whose CRD another
// client deletes, before or during the operation.
func TestOthersDeleteCRDs(t *testing.T) {
	t.Parallel()
	waits := []string{`helm.sh/readiness-success: "{.phase} == Done"`, "helm.sh/readiness-timeout: 3s"}
	plain := func(tb testing.TB, value string) string {
		tb.Helper()
		return charts.Write(tb, charts.Object{Name: "first", Layer: "first", Value: value}, charts.Object{Name: "last", Layer: "last", DependsOn: "first", Value: value})
	}
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"while it is waited for": func(t *testing.T, h *harness.Helm) {
			defineGizmos(t, h)
			h.ExpectFailureWhile(t, "app:gizmo applied", func() { deleteGizmoDefinition(t, h) },
				[]string{"install", "rel", gizmoChart(t, h, "1", waits...), "--wait=ordered", "--timeout", "30s"}, "Gizmo/one", "skipped (blocked by this failure): app:last")
			expectFailed(t, h, "failed", "Gizmo/one")
			h.ExpectObjects(t, "rel", "ConfigMap/first")
			defineGizmos(t, h)
			h.Repair(t, "upgrade", "rel", plain(t, "3"), "--install", "--wait=ordered")
		},
		"before an upgrade": func(t *testing.T, h *harness.Helm) {
			defineGizmos(t, h)
			h.MustRun("install", "rel", gizmoChart(t, h, "1"), "--wait=ordered")
			deleteGizmoDefinition(t, h)
			h.ExpectFailure(t, []string{"upgrade", "rel", gizmoChart(t, h, "2"), "--wait=ordered"}, `Gizmo`, "ensure CRDs are installed first")
			defineGizmos(t, h)
			h.Repair(t, "upgrade", "rel", plain(t, "3"), "--install", "--wait=ordered")
		},
		"before a rollback": func(t *testing.T, h *harness.Helm) {
			defineGizmos(t, h)
			h.MustRun("install", "rel", gizmoChart(t, h, "1"), "--wait=ordered")
			h.MustRun("upgrade", "rel", plain(t, "2"), "--wait=ordered")
			deleteGizmoDefinition(t, h)
			h.ExpectFailure(t, []string{"rollback", "rel", "1"}, "Gizmo/one", "could not be applied", "skipped (blocked by this failure): app:last")
			expectFailed(t, h, "superseded deployed failed", "Gizmo/one")
			defineGizmos(t, h)
			h.Repair(t, "upgrade", "rel", plain(t, "3"), "--install", "--wait=ordered")
		},
	})
}
