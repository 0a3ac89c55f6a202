// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
)

// limit has somebody limit how many objects of a resource there may be in the
// namespace, and returns what lifts that.
func (h *helm) limit(tb testing.TB, name corev1.ResourceName, most int64) (lift func()) {
	tb.Helper()
	core := h.cluster.Client().CoreV1()
	quotas := core.ResourceQuotas(h.namespace)
	_, err := quotas.Create(tb.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "house"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{name: *resource.NewQuantity(most, resource.DecimalSI)}},
	}, metav1.CreateOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	eventually(tb, "the enforcement of the quota", func() bool {
		quota, err := quotas.Get(tb.Context(), "house", metav1.GetOptions{})
		return err == nil && len(quota.Status.Hard) > 0 && len(quota.Status.Used) > 0
	})
	return func() {
		if err := quotas.Delete(tb.Context(), "house", metav1.DeleteOptions{}); err != nil {
			tb.Fatal(err)
		}
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}
		eventually(tb, "the end of the quota", func() bool {
			_, err := core.ConfigMaps(h.namespace).Create(tb.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return err == nil
		})
	}
}

// TestPeopleSetQuotas has a quota reached half of the way.
func TestPeopleSetQuotas(t *testing.T) {
	t.Parallel()
	// configMaps are those of three and the one that Kubernetes makes.
	const configMaps corev1.ResourceName = "count/configmaps"
	more := charts.Object{Name: "top", Layer: "top", DependsOn: "last"}
	brief := func(tb testing.TB, value string) string {
		tb.Helper()
		parts := threeParts(value)
		parts[1].Annotations = []string{"helm.sh/readiness-timeout: 4s"}
		return charts.Write(tb, parts...)
	}
	runLifecycle(t, map[string]func(*testing.T, *helm){
		"objects, install": func(t *testing.T, h *helm) {
			lift := h.limit(t, configMaps, 2)
			h.fails(t, []string{"install", "rel", three(t, "1", more), "--wait=ordered"}, "ConfigMap/last", "could not be applied", "exceeded quota: house", "app:top")
			h.expectFailed(t, "failed", "exceeded quota: house")
			h.expectOnly(t, "rel", "ConfigMap/first", "Deployment/app")
			lift()
			h.repair(t, "upgrade", "rel", three(t, "1", more), "--install", "--wait=ordered")
			h.proveOrderOf(t, "rel", h.readTrace(t))
		},
		"objects, upgrade that is atomic": func(t *testing.T, h *helm) {
			h.ok("install", "rel", three(t, "1"), "--wait=ordered")
			h.limit(t, configMaps, 3)
			h.fails(t, []string{"upgrade", "rel", three(t, "2", more), "--wait=ordered", "--atomic"}, "ConfigMap/top", "exceeded quota: house", "has been rolled back")
			h.expectGood(t)
			h.expectValue(t, "1")
		},
		"pods, upgrade": func(t *testing.T, h *helm) {
			h.ok("install", "rel", three(t, "1"), "--wait=ordered")
			lift := h.limit(t, corev1.ResourcePods, 1)
			h.fails(t, []string{"upgrade", "rel", brief(t, "2"), "--wait=ordered"}, "Deployment/app", "FailedCreate", "exceeded quota: house")
			h.expectFailed(t, "deployed failed", "exceeded quota: house")
			lift()
			h.repair(t, "rollback", "rel", "1")
			h.expectValue(t, "1")
		},
		"pods, rollback": func(t *testing.T, h *helm) {
			h.ok("install", "rel", brief(t, "1"), "--wait=ordered", "--readiness-timeout", "4s")
			h.ok("upgrade", "rel", three(t, "2"), "--wait=ordered")
			lift := h.limit(t, corev1.ResourcePods, 1)
			h.fails(t, []string{"rollback", "rel", "1"}, "Deployment/app", "FailedCreate", "exceeded quota: house")
			h.expectFailed(t, "superseded deployed failed", "exceeded quota: house")
			lift()
			h.repair(t, "rollback", "rel", "2")
		},
	})
}
