// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package interference

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// setQuota creates a ResourceQuota that limits the number of objects of a resource in the
// namespace, and returns a function that deletes it.
func setQuota(tb testing.TB, h *harness.Helm, name corev1.ResourceName, most int64) (lift func()) {
	tb.Helper()
	core := h.Cluster.Client().CoreV1()
	quotas := core.ResourceQuotas(h.Namespace)
	_, err := quotas.Create(tb.Context(), &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Name: "house"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{name: *resource.NewQuantity(most, resource.DecimalSI)}},
	}, metav1.CreateOptions{})
	harness.NoError(tb, err)
	harness.Eventually(tb, "the enforcement of the quota", func() bool {
		quota, err := quotas.Get(tb.Context(), "house", metav1.GetOptions{})
		return err == nil && len(quota.Status.Hard) > 0 && len(quota.Status.Used) > 0
	})
	return func() {
		harness.NoError(tb, quotas.Delete(tb.Context(), "house", metav1.DeleteOptions{}))
		probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "probe"}}
		harness.Eventually(tb, "the end of the quota", func() bool {
			_, err := core.ConfigMaps(h.Namespace).Create(tb.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return err == nil
		})
	}
}

// TestQuotaExceeded checks operations that exceed a ResourceQuota.
func TestQuotaExceeded(t *testing.T) {
	t.Parallel()
	// configMaps counts the ConfigMaps of the chart and the one that Kubernetes creates.
	const configMaps corev1.ResourceName = "count/configmaps"
	more := charts.Object{Name: "top", Layer: "top", DependsOn: "last"}
	brief := func(tb testing.TB, value string) string {
		tb.Helper()
		parts := charts.ThreeLayerObjects(value)
		parts[1].Annotations = []string{"helm.sh/readiness-timeout: 4s"}
		return charts.Write(tb, parts...)
	}
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"objects, install": func(t *testing.T, h *harness.Helm) {
			lift := setQuota(t, h, configMaps, 2)
			h.ExpectFailure(t, []string{"install", "rel", charts.ThreeLayers(t, "1", more), "--wait=ordered"}, "ConfigMap/last", "could not be applied", "exceeded quota: house", "app:top")
			expectFailed(t, h, "failed", "exceeded quota: house")
			h.ExpectObjects(t, "rel", "ConfigMap/first", "Deployment/app")
			lift()
			h.Repair(t, "upgrade", "rel", charts.ThreeLayers(t, "1", more), "--install", "--wait=ordered")
			h.CheckOrder(t, "rel", h.ReadTrace(t))
		},
		"objects, upgrade that is atomic": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
			setQuota(t, h, configMaps, 3)
			h.ExpectFailure(t, []string{"upgrade", "rel", charts.ThreeLayers(t, "2", more), "--wait=ordered", "--atomic"}, "ConfigMap/top", "exceeded quota: house", "has been rolled back")
			h.ExpectDeployed(t)
			h.ExpectValues(t, "1")
		},
		"pods, upgrade": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
			lift := setQuota(t, h, corev1.ResourcePods, 1)
			h.ExpectFailure(t, []string{"upgrade", "rel", brief(t, "2"), "--wait=ordered"}, "Deployment/app", "FailedCreate", "exceeded quota: house")
			expectFailed(t, h, "deployed failed", "exceeded quota: house")
			lift()
			h.Repair(t, "rollback", "rel", "1")
			h.ExpectValues(t, "1")
		},
		"pods, rollback": func(t *testing.T, h *harness.Helm) {
			h.MustRun("install", "rel", brief(t, "1"), "--wait=ordered", "--readiness-timeout", "4s")
			h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "2"), "--wait=ordered")
			lift := setQuota(t, h, corev1.ResourcePods, 1)
			h.ExpectFailure(t, []string{"rollback", "rel", "1"}, "Deployment/app", "FailedCreate", "exceeded quota: house")
			expectFailed(t, h, "superseded deployed failed", "exceeded quota: house")
			lift()
			h.Repair(t, "rollback", "rel", "2")
		},
	})
}
