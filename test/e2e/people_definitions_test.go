// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
)

const gizmos = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gizmos.NAMESPACE.example}
spec:
  group: NAMESPACE.example
  scope: Namespaced
  names: {kind: Gizmo, plural: gizmos, singular: gizmo}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// defines has somebody define a kind; undefine takes it away.
func (h *helm) defines(tb testing.TB) {
	tb.Helper()
	h.apply(tb, gizmos)
	api := h.api("apiextensions.k8s.io/v1", "CustomResourceDefinition")
	if _, err := until(tb.Context(), api, "gizmos."+h.namespace+".example", hasCondition("Established", "True", "")); err != nil {
		tb.Fatal(err)
	}
}

func (h *helm) undefine(tb testing.TB) {
	tb.Helper()
	api, name := h.api("apiextensions.k8s.io/v1", "CustomResourceDefinition"), "gizmos."+h.namespace+".example"
	if err := api.Delete(tb.Context(), name, metav1.DeleteOptions{}); err != nil {
		tb.Fatal(err)
	}
	eventually(tb, "the deletion of the definition", func() bool {
		_, err := api.Get(tb.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// gizmoChart has a custom resource between two ConfigMaps.
func gizmoChart(tb testing.TB, h *helm, value, annotations string) string {
	tb.Helper()
	gizmo := strings.NewReplacer("NAMESPACE", h.namespace, "MORE", annotations, "VALUE", value).Replace(`---
apiVersion: NAMESPACE.example/v1
kind: Gizmo
metadata:
  name: one
  annotations: {helm.sh/layer: gizmo, depends-on.helm.sh/layers: firstMORE}
spec: {value: "VALUE"}
`)
	return charts.WriteTemplate(tb, charts.Object{Name: "first", Layer: "first", Value: value}.Manifest()+gizmo+charts.Object{Name: "last", Layer: "last", DependsOn: "gizmo", Value: value}.Manifest())
}

// TestPeopleRemoveDefinitions has somebody remove the definition of a custom resource.
func TestPeopleRemoveDefinitions(t *testing.T) {
	t.Parallel()
	const waits = `, helm.sh/readiness-success: "{.phase} == Done", helm.sh/readiness-timeout: 3s`
	plain := func(tb testing.TB, value string) string {
		tb.Helper()
		return charts.Write(tb, charts.Object{Name: "first", Layer: "first", Value: value}, charts.Object{Name: "last", Layer: "last", DependsOn: "first", Value: value})
	}
	runLifecycle(t, map[string]func(*testing.T, *helm){
		"while it is waited for": func(t *testing.T, h *helm) {
			h.defines(t)
			h.failsMeanwhile(t, "app:gizmo applied", func() { h.undefine(t) },
				[]string{"install", "rel", gizmoChart(t, h, "1", waits), "--wait=ordered", "--timeout", "30s"}, "Gizmo/one", "never started because of that: app:last")
			h.expectFailed(t, "failed", "Gizmo/one")
			h.expectOnly(t, "rel", "ConfigMap/first")
			h.defines(t)
			h.repair(t, "upgrade", "rel", plain(t, "3"), "--install", "--wait=ordered")
		},
		"before an upgrade": func(t *testing.T, h *helm) {
			h.defines(t)
			h.ok("install", "rel", gizmoChart(t, h, "1", ""), "--wait=ordered")
			h.undefine(t)
			h.fails(t, []string{"upgrade", "rel", gizmoChart(t, h, "2", ""), "--wait=ordered"}, `Gizmo`, "ensure CRDs are installed first")
			h.defines(t)
			h.repair(t, "upgrade", "rel", plain(t, "3"), "--install", "--wait=ordered")
		},
		"before a rollback": func(t *testing.T, h *helm) {
			h.defines(t)
			h.ok("install", "rel", gizmoChart(t, h, "1", ""), "--wait=ordered")
			h.ok("upgrade", "rel", plain(t, "2"), "--wait=ordered")
			h.undefine(t)
			h.fails(t, []string{"rollback", "rel", "1"}, "Gizmo/one", "could not be applied", "never started because of that: app:last")
			h.expectFailed(t, "superseded deployed failed", "Gizmo/one")
			h.defines(t)
			h.repair(t, "upgrade", "rel", plain(t, "3"), "--install", "--wait=ordered")
		},
	})
}
