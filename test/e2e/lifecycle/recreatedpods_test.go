// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestLifecycleRecreatedPods checks operations with --recreate-pods: they end only when the
// new pods are ready, although the status of the Deployment first describes the old pods.
func TestLifecycleRecreatedPods(t *testing.T) {
	t.Parallel()
	slow := func(tb testing.TB, value string, more string) string {
		tb.Helper()
		parts := charts.ThreeLayerObjects("x")
		parts[1].PodAnnotations, parts[2].Value = []string{`devcluster/after: "2s"`}, value
		dir := charts.Write(tb, parts...)
		charts.AddFile(tb, dir, "templates/more.yaml", more)
		return dir
	}
	const service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: app\n" +
		"  annotations: {helm.sh/layer: service, depends-on.helm.sh/layers: app}\nspec: {selector: {app: app}, ports: [{port: 80}]}\n"
	for name, c := range map[string]struct {
		install, again []string
		back           bool
		more           string
	}{
		"upgrade in order":         {install: []string{"--wait=ordered"}, again: []string{"--wait=ordered"}},
		"upgrade":                  {install: []string{"--wait"}, again: []string{"--wait"}},
		"upgrade with a service":   {install: []string{"--wait"}, again: []string{"--wait"}, more: service},
		"a service in a later one": {install: []string{"--wait=ordered"}, again: []string{"--wait=ordered"}, more: service},
		"rollback in order":        {install: []string{"--wait=ordered"}, back: true},
		"rollback":                 {install: []string{"--wait"}, again: []string{"--wait"}, back: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			h.MustRun(append([]string{"install", "rel", slow(t, "x", c.more)}, c.install...)...)
			h.Started = harness.Now()
			if c.back {
				h.MustRun(append([]string{"upgrade", "rel", slow(t, "y", c.more)}, c.install...)...)
				h.MustRun(append([]string{"rollback", "rel", "1", "--recreate-pods"}, c.again...)...)
			} else {
				h.MustRun(append([]string{"upgrade", "rel", slow(t, "y", c.more), "--recreate-pods"}, c.again...)...)
			}
			expectReadyPods(t, h)
			deleted := 0
			late := h.ReadTrace(t).Since(h.Started)
			for id := range late {
				if gone, _ := late.Deleted(id); strings.HasPrefix(id, "Pod/") && !gone.IsZero() {
					deleted++
				}
			}
			if deleted != 1 {
				t.Errorf("%d pods were deleted, want one", deleted)
			}
		})
	}
	t.Run("pods that do not go away", func(t *testing.T) {
		t.Parallel()
		h := harness.New(t)
		held := func(value string) string {
			dir := charts.ThreeLayers(t, value)
			charts.Edit(t, dir, "templates/all.yaml", "metadata: {labels: {app: app}", "metadata: {finalizers: [ordered.example/hold], labels: {app: app}", `name: V, value: "`+value+`"`, `name: V, value: "x"`)
			return dir
		}
		h.MustRun("install", "rel", held("x"), "--wait")
		h.MustRun("upgrade", "rel", held("y"), "--wait", "--recreate-pods", "--timeout", "20s")
		h.MustRun("rollback", "rel", "1", "--wait", "--recreate-pods", "--timeout", "20s")
		pods, err := h.Cluster.Client().CoreV1().Pods(h.Namespace).List(t.Context(), metav1.ListOptions{})
		harness.NoError(t, err)
		for _, pod := range pods.Items {
			h.RemoveFinalizers(t, "Pod/"+pod.Name)
		}
		if len(pods.Items) != 3 {
			t.Errorf("%d pods are there, want the two that do not go away, and the new one", len(pods.Items))
		}
	})
}

// expectReadyPods checks that all pods that are not being deleted are ready.
func expectReadyPods(tb testing.TB, h *harness.Helm) {
	tb.Helper()
	pods, err := h.Cluster.Client().CoreV1().Pods(h.Namespace).List(tb.Context(), metav1.ListOptions{})
	harness.NoError(tb, err)
	there := 0
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp != nil {
			continue
		}
		there++
		for _, c := range pod.Status.Conditions {
			if c.Type == "Ready" && c.Status != "True" {
				tb.Errorf("the operation is over, and %s is not ready", pod.Name)
			}
		}
	}
	if there != 1 {
		tb.Errorf("%d pods are there, want one", there)
	}
}
