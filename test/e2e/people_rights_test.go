// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/charts"
)

// revoke takes from the account of the test what rules do not leave to it, and returns
// when that counts.
func (h *helm) revoke(tb testing.TB, verb, group, resource string, rules ...rbacv1.PolicyRule) {
	tb.Helper()
	roles := h.cluster.Client().RbacV1().Roles(h.namespace)
	role, err := roles.Get(tb.Context(), "of-the-test", metav1.GetOptions{})
	if err == nil {
		role.Rules = rules
		_, err = roles.Update(tb.Context(), role, metav1.UpdateOptions{})
	}
	if err != nil {
		tb.Fatal(err)
	}
	h.awaitRight(tb, false, verb, group, resource)
}

// restore gives all of it back.
func (h *helm) restore(tb testing.TB) {
	tb.Helper()
	roles := h.cluster.Client().RbacV1().Roles(h.namespace)
	role, err := roles.Get(tb.Context(), "of-the-test", metav1.GetOptions{})
	if err == nil {
		role.Rules = []rbacv1.PolicyRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}}
		_, err = roles.Update(tb.Context(), role, metav1.UpdateOptions{})
	}
	if err != nil {
		tb.Fatal(err)
	}
	h.awaitRight(tb, true, "create", "", "configmaps")
}

// TestPeopleTakeRightsAway has somebody take permissions away half of the way.
func TestPeopleTakeRightsAway(t *testing.T) {
	t.Parallel()
	// Everything but the right to write ConfigMaps, and everything but that to write
	// the release.
	reads := rbacv1.PolicyRule{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{"*"}, Resources: []string{"*"}}
	secrets := rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{""}, Resources: []string{"secrets"}}
	others := rbacv1.PolicyRule{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"configmaps", "deployments"}}
	runLifecycle(t, map[string]func(*testing.T, *helm){
		"creation, install": func(t *testing.T, h *helm) {
			as := h.grant(t, "*")
			h.failsMeanwhile(t, appliedApp, func() { h.revoke(t, "create", "", "configmaps", reads, secrets) },
				append(as, "install", "rel", slowThree(t, "1", "2s"), "--wait=ordered"), "ConfigMap/last", "could not be applied", "is forbidden", "cannot create resource")
			h.expectFailed(t, "failed", "is forbidden")
			h.expectOnly(t, "rel", "ConfigMap/first", "Deployment/app")
			h.restore(t)
			h.repair(t, "upgrade", "rel", three(t, "1"), "--install", "--wait=ordered")
		},
		"change, upgrade": func(t *testing.T, h *helm) {
			as := h.grant(t, "*")
			h.ok("install", "rel", three(t, "1"), "--wait=ordered")
			h.failsMeanwhile(t, appliedApp, func() { h.revoke(t, "patch", "", "configmaps", reads, secrets) },
				append(as, "upgrade", "rel", slowThree(t, "2", "2s"), "--wait=ordered"), "ConfigMap/last", "is forbidden", "cannot patch resource")
			h.expectFailed(t, "deployed failed", "is forbidden")
			h.restore(t)
			h.repair(t, "rollback", "rel", "1")
			h.expectValue(t, "1")
		},
		"deletion, uninstall": func(t *testing.T, h *helm) {
			parts := threeParts("1")
			parts[1].PodAnnotations = []string{"devcluster/stop-after: 2s"}
			h.ok("install", "rel", charts.Write(t, parts...), "--wait=ordered")
			as := h.grant(t, "*")
			h.failsMeanwhile(t, "app:app deleting", func() { h.revoke(t, "delete", "", "configmaps", reads, secrets) },
				append(as, "uninstall", "rel"), "first", "is forbidden", "cannot delete resource")
			h.expectFailed(t, "failed", "is forbidden")
			h.restore(t)
			h.repair(t, "uninstall", "rel")
		},
		"the record": func(t *testing.T, h *helm) {
			as := h.grant(t, "*")
			h.ok("install", "rel", three(t, "1"), "--wait=ordered")
			h.failsMeanwhile(t, appliedApp, func() { h.revoke(t, "update", "", "secrets", reads, others) },
				append(as, "upgrade", "rel", slowThree(t, "2", "2s"), "--wait=ordered"), "is forbidden", "secrets")
			h.restore(t)
			h.repair(t, "upgrade", "rel", three(t, "3"), "--wait=ordered")
			h.expectValue(t, "3")
		},
		"everything": func(t *testing.T, h *helm) {
			as := h.grant(t, "*")
			h.failsMeanwhile(t, appliedApp, func() { h.revoke(t, "get", "apps", "deployments") },
				append(as, "install", "rel", slowThree(t, "1", "2s"), "--wait=ordered"), "orbidden", "could not be recorded that revision 1 of release rel is failed")
			h.restore(t)
			h.repair(t, "upgrade", "rel", three(t, "2"), "--install", "--wait=ordered")
		},
	})
}
