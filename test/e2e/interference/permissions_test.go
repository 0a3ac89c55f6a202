// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package interference

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// revokePermissions replaces the permissions of the user of Grant by rules, and waits until
// the user no longer has the given permission.
func revokePermissions(tb testing.TB, h *harness.Helm, verb, group, resource string, rules ...rbacv1.PolicyRule) {
	tb.Helper()
	roles := h.Cluster.Client().RbacV1().Roles(h.Namespace)
	role, err := roles.Get(tb.Context(), "of-the-test", metav1.GetOptions{})
	if err == nil {
		role.Rules = harness.WithStorageRules(rules)
		_, err = roles.Update(tb.Context(), role, metav1.UpdateOptions{})
	}
	harness.NoError(tb, err)
	h.AwaitPermission(tb, false, verb, group, resource)
}

// restorePermissions gives the user of Grant all permissions again.
func restorePermissions(tb testing.TB, h *harness.Helm) {
	tb.Helper()
	roles := h.Cluster.Client().RbacV1().Roles(h.Namespace)
	role, err := roles.Get(tb.Context(), "of-the-test", metav1.GetOptions{})
	if err == nil {
		role.Rules = []rbacv1.PolicyRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}}
		_, err = roles.Update(tb.Context(), role, metav1.UpdateOptions{})
	}
	harness.NoError(tb, err)
	h.AwaitPermission(tb, true, "create", "", "configmaps")
}

// TestOthersRevokePermissions checks operations during which permissions of their account are
// revoked.
func TestOthersRevokePermissions(t *testing.T) {
	t.Parallel()
	// All permissions except to write ConfigMaps, and all permissions except to write the
	// stored release.
	reads := rbacv1.PolicyRule{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{"*"}, Resources: []string{"*"}}
	secrets := rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{""}, Resources: []string{"secrets"}}
	others := rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"configmaps", "deployments"}}
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"creation, install": func(t *testing.T, h *harness.Helm) {
			as := h.Grant(t, "*")
			h.ExpectFailureWhile(t, appliedApp, func() { revokePermissions(t, h, "create", "", "configmaps", reads, secrets) },
				append(as, "install", "rel", slowThreeLayers(t, "1", "2s"), "--wait=ordered"), "ConfigMap/last", "could not be applied", "is forbidden", "cannot create resource")
			expectFailed(t, h, "failed", "is forbidden")
			h.ExpectObjects(t, "rel", "ConfigMap/first", "Deployment/app")
			restorePermissions(t, h)
			h.Repair(t, "upgrade", "rel", charts.ThreeLayers(t, "1"), "--install", "--wait=ordered")
		},
		"change, upgrade": func(t *testing.T, h *harness.Helm) {
			as := h.Grant(t, "*")
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
			h.ExpectFailureWhile(t, appliedApp, func() { revokePermissions(t, h, "patch", "", "configmaps", reads, secrets) },
				append(as, "upgrade", "rel", slowThreeLayers(t, "2", "2s"), "--wait=ordered"), "ConfigMap/last", "is forbidden", "cannot patch resource")
			expectFailed(t, h, "deployed failed", "is forbidden")
			restorePermissions(t, h)
			h.Repair(t, "rollback", "rel", "1")
			h.ExpectValues(t, "1")
		},
		"deletion, uninstall": func(t *testing.T, h *harness.Helm) {
			parts := charts.ThreeLayerObjects("1")
			parts[1].PodAnnotations = []string{"devcluster/stop-after: 2s"}
			h.MustRun("install", "rel", charts.Write(t, parts...), "--wait=ordered")
			as := h.Grant(t, "*")
			h.ExpectFailureWhile(t, "app:app deleting", func() { revokePermissions(t, h, "delete", "", "configmaps", reads, secrets) },
				append(as, "uninstall", "rel"), "first", "is forbidden", "cannot delete resource")
			expectFailed(t, h, "failed", "is forbidden")
			restorePermissions(t, h)
			h.Repair(t, "uninstall", "rel")
		},
		"the record": func(t *testing.T, h *harness.Helm) {
			as := h.Grant(t, "*")
			h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
			h.ExpectFailureWhile(t, appliedApp, func() { revokePermissions(t, h, "update", "", "secrets", reads, others) },
				append(as, "upgrade", "rel", slowThreeLayers(t, "2", "2s"), "--wait=ordered"), "is forbidden", harness.RevisionResource())
			restorePermissions(t, h)
			h.Repair(t, "upgrade", "rel", charts.ThreeLayers(t, "3"), "--wait=ordered")
			h.ExpectValues(t, "3")
		},
		"everything": func(t *testing.T, h *harness.Helm) {
			as := h.Grant(t, "*")
			h.ExpectFailureWhile(t, appliedApp, func() { revokePermissions(t, h, "get", "apps", "deployments") },
				append(as, "install", "rel", slowThreeLayers(t, "1", "2s"), "--wait=ordered"), "orbidden", "failed to record that revision 1 of release rel is now failed")
			restorePermissions(t, h)
			h.Repair(t, "upgrade", "rel", charts.ThreeLayers(t, "2"), "--install", "--wait=ordered")
		},
	})
}
