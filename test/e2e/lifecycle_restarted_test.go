// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
)

// TestLifecycleRestarted has pods made anew: the operation is over when these are
// ready, whatever the status from before says.
func TestLifecycleRestarted(t *testing.T) {
	t.Parallel()
	slow := func(tb testing.TB, value string, more string) string {
		tb.Helper()
		parts := threeParts("x")
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
			h := newHelm(t)
			h.ok(append([]string{"install", "rel", slow(t, "x", c.more)}, c.install...)...)
			h.from = mark()
			if c.back {
				h.ok(append([]string{"upgrade", "rel", slow(t, "y", c.more)}, c.install...)...)
				h.ok(append([]string{"rollback", "rel", "1", "--recreate-pods"}, c.again...)...)
			} else {
				h.ok(append([]string{"upgrade", "rel", slow(t, "y", c.more), "--recreate-pods"}, c.again...)...)
			}
			h.expectReadyPods(t)
			deleted := 0
			late := h.readTrace(t).since(h.from)
			for id := range late {
				if gone, _ := late.deleted(id); strings.HasPrefix(id, "Pod/") && !gone.IsZero() {
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
		h := newHelm(t)
		held := func(value string) string {
			dir := three(t, value)
			charts.Edit(t, dir, "templates/all.yaml", "metadata: {labels: {app: app}", "metadata: {finalizers: [ordered.example/hold], labels: {app: app}", `name: V, value: "`+value+`"`, `name: V, value: "x"`)
			return dir
		}
		h.ok("install", "rel", held("x"), "--wait")
		h.ok("upgrade", "rel", held("y"), "--wait", "--recreate-pods", "--timeout", "20s")
		h.ok("rollback", "rel", "1", "--wait", "--recreate-pods", "--timeout", "20s")
		pods, err := h.cluster.Client().CoreV1().Pods(h.namespace).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range pods.Items {
			h.patch(t, "Pod/"+pod.Name, `{"metadata":{"finalizers":null}}`)
		}
		if len(pods.Items) != 3 {
			t.Errorf("%d pods are there, want the two that do not go away, and the new one", len(pods.Items))
		}
	})
}

// expectReadyPods checks that the pods that are not on their way out are ready.
func (h *helm) expectReadyPods(tb testing.TB) {
	tb.Helper()
	pods, err := h.cluster.Client().CoreV1().Pods(h.namespace).List(tb.Context(), metav1.ListOptions{})
	if err != nil {
		tb.Fatal(err)
	}
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
