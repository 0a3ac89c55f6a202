// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// ownershipChart writes a chart whose values enable each of its objects: the object "user", an
// object with a finalizer, a pod that never becomes ready, a hook that fails, and a custom
// resource with its CRD.
func ownershipChart(tb testing.TB, group string) string {
	tb.Helper()
	widgets, widget := charts.Definition(group, "Widget"), charts.CustomResource(group, "Widget", "w")
	widgets.Layer, widget.Layer, widget.DependsOn = "base", "widget", "base"
	return charts.WriteFiles(tb, map[string]string{
		"Chart.yaml":  charts.Metadata,
		"values.yaml": "user: false\nheld: false\nnever: false\nhook: false\nwidget: false\nplain: false\n",
		"templates/all.yaml": charts.ConfigMap("base", "helm.sh/layer: base") + `
{{ if .Values.user }}---
apiVersion: v1
kind: ConfigMap
metadata: {name: user, annotations: {helm.sh/layer: base}}
data: {of: the-release}
{{ end }}{{ if .Values.held }}---
apiVersion: v1
kind: ConfigMap
metadata: {name: held, finalizers: [example.com/held], annotations: {helm.sh/layer: base}}
{{ end }}{{ if .Values.never }}---
apiVersion: v1
kind: Pod
metadata:
  name: never
  annotations: {devcluster/pod: never, helm.sh/layer: last, depends-on.helm.sh/layers: base, helm.sh/readiness-timeout: 1s}
spec: {containers: [{name: a, image: a}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: after, annotations: {helm.sh/layer: after, depends-on.helm.sh/layers: last}}
{{ end }}{{ if .Values.hook }}---
apiVersion: batch/v1
kind: Job
metadata: {name: hook, annotations: {helm.sh/hook: pre-upgrade, devcluster/pod: fail}}
spec: {backoffLimit: 0, template: {metadata: {annotations: {devcluster/pod: fail}}, spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}
{{ end }}{{ if .Values.widget }}` + charts.Manifests(widgets, widget) + `{{ end }}`,
	})
}

// TestForeignObjectsAreUnchanged checks that no operation changes an object that does not
// belong to the release, even if a failed revision declared an object with the same name.
func TestForeignObjectsAreUnchanged(t *testing.T) {
	t.Parallel()
	// declared makes an upgrade fail before it creates the object "user".
	declared := func(h *harness.Helm, chart string) {
		h.MustRun("install", "rel", chart, "--wait=ordered")
		h.ExpectFailure(h.TB, []string{"upgrade", "rel", chart, "--wait=ordered", "--set", "user=true,hook=true"})
	}
	for _, c := range []struct {
		name string
		do   func(t *testing.T, h *harness.Helm, chart string)
	}{
		{"an upgrade refuses what is another's", func(t *testing.T, h *harness.Helm, chart string) {
			declared(h, chart)
			createForeignObject(t, h)
			r := h.Run("upgrade", "rel", chart, "--wait=ordered", "--set", "user=true")
			if r.ExitCode == 0 || !strings.Contains(r.Stderr, `ConfigMap "user" in namespace "`+h.Namespace+`" exists and cannot be imported`) {
				t.Errorf("exit code %d, %s", r.ExitCode, r.Stderr)
			}
		}},
		{"an ordered upgrade", func(_ *testing.T, h *harness.Helm, chart string) {
			declared(h, chart)
			createForeignObject(t, h)
			h.MustRun("upgrade", "rel", chart, "--wait=ordered")
		}},
		{"a plain upgrade", func(_ *testing.T, h *harness.Helm, chart string) {
			declared(h, chart)
			createForeignObject(t, h)
			h.MustRun("upgrade", "rel", chart)
		}},
		{"uninstall", func(_ *testing.T, h *harness.Helm, chart string) {
			declared(h, chart)
			createForeignObject(t, h)
			h.MustRun("uninstall", "rel")
		}},
		{"uninstall without the order", func(_ *testing.T, h *harness.Helm, chart string) {
			declared(h, chart)
			createForeignObject(t, h)
			h.MustRun("uninstall", "rel", "--wait=false")
		}},
		{"an atomic upgrade that took it over", func(t *testing.T, h *harness.Helm, chart string) {
			h.MustRun("install", "rel", chart, "--wait=ordered")
			createForeignObject(t, h)
			h.ExpectFailure(t, []string{"upgrade", "rel", chart, "--wait=ordered", "--atomic", "--take-ownership", "--set", "user=true,never=true"})
		}},
		{"an atomic plain upgrade that took it over", func(t *testing.T, h *harness.Helm, chart string) {
			h.MustRun("install", "rel", chart)
			createForeignObject(t, h)
			h.ExpectFailure(t, []string{"upgrade", "rel", chart, "--atomic", "--timeout", "2s", "--take-ownership", "--set", "user=true,never=true"})
		}},
		{"a second uninstall", func(t *testing.T, h *harness.Helm, chart string) {
			h.MustRun("install", "rel", chart, "--wait=ordered", "--set", "user=true,held=true")
			h.MustRun("upgrade", "rel", chart, "--wait=ordered", "--set", "held=true")
			createForeignObject(t, h)
			h.ExpectFailure(t, []string{"uninstall", "rel", "--wait", "--timeout", "2s"})
			removeFinalizer(t, h)
			h.MustRun("uninstall", "rel")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			c.do(t, h, ownershipChart(t, "example.com"))
			if _, err := h.Cluster.Client().CoreV1().ConfigMaps(h.Namespace).Get(t.Context(), "user", metav1.GetOptions{}); err != nil {
				t.Error(err)
			}
		})
	}
}

// createForeignObject creates an object named "user" that belongs to no release.
func createForeignObject(t *testing.T, h *harness.Helm) {
	t.Helper()
	_, err := h.Cluster.Client().CoreV1().ConfigMaps(h.Namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "user"}, Data: map[string]string{"of": "somebody"},
	}, metav1.CreateOptions{})
	harness.NoError(t, err)
}

// removeFinalizer removes the finalizer of the object "held".
func removeFinalizer(t *testing.T, h *harness.Helm) {
	t.Helper()
	_, err := h.Cluster.Client().CoreV1().ConfigMaps(h.Namespace).Patch(t.Context(), "held", types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
}

// TestKindsWithoutCRD checks that operations on a release succeed if earlier revisions contain
// custom resources whose CRD was deleted or was never created.
func TestKindsWithoutCRD(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	chart := ownershipChart(t, h.Namespace+".example.com")
	h.MustRun("install", "rel", chart, "--wait=ordered", "--set", "widget=true,held=true")
	// The finalizer keeps the CRD terminating, and helm does not wait for it.
	h.MustRun("upgrade", "rel", chart, "--wait=ordered", "--set", "user=true")
	removeFinalizer(t, h)
	h.MustRun("upgrade", "rel", chart, "--wait=ordered")
	h.ExpectFailure(t, []string{"upgrade", "rel", chart, "--wait=ordered", "--set", "widget=true,hook=true"})
	h.MustRun("upgrade", "rel", chart, "--wait=true")
	h.MustRun("uninstall", "rel")
	h.ExpectEmptyNamespace(t)
}
