// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// withRoles returns a Helm in a cluster with the chart of the definitions, including the roles.
func withRoles(t *testing.T) *harness.Helm {
	t.Helper()
	h := withoutDefinitions(t)
	dir := filepath.Join(t.TempDir(), "helm-state")
	h.MustRun("state", "init", "--chart", dir)
	h.MustRun("install", "definitions", dir)
	t.Cleanup(func() { // they are cluster-scoped
		ctx := context.WithoutCancel(t.Context())
		for _, role := range []string{"helm-release-viewer", "helm-release-deployer"} {
			harness.NoError(t, h.Cluster.Client().RbacV1().ClusterRoles().Delete(ctx, role, metav1.DeleteOptions{}))
		}
	})
	return h
}

// bind binds a ClusterRole to a user in the namespace of the test, and returns the user. If the role
// is aggregated, it waits until it includes the permission to list Releases.
func bind(t *testing.T, h *harness.Helm, role string) string {
	t.Helper()
	user := role + "-" + h.Namespace
	_, err := h.Cluster.Client().RbacV1().RoleBindings(h.Namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
	}, metav1.CreateOptions{})
	harness.NoError(t, err)
	harness.Eventually(t, role+" is in effect", func() bool { return isAllowed(t, h, user, "list", "helm.sh", "releases") })
	return user
}

func isAllowed(t *testing.T, h *harness.Helm, user, verb, group, resource string) bool {
	t.Helper()
	review, err := h.Cluster.Client().AuthorizationV1().SubjectAccessReviews().Create(t.Context(), &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{
			User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: h.Namespace, Verb: verb, Group: group, Resource: resource},
		},
	}, metav1.CreateOptions{})
	harness.NoError(t, err)
	return review.Status.Allowed
}

// TestRoles checks what the roles of the chart of the definitions allow, by themselves and added to
// the roles of Kubernetes.
func TestRoles(t *testing.T) {
	h := withRoles(t)
	all := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	reading := all[:3]
	resources := map[string]string{"releases": "helm.sh", "releaseversions": "helm.sh", "leases": "coordination.k8s.io", "applications": "app.k8s.io", "secrets": ""}
	viewer := map[string][]string{"releases": reading, "releaseversions": reading, "leases": {"get", "list"}}
	deployer := map[string][]string{
		"releases": all, "releaseversions": all, "leases": all, "secrets": all, "applications": {"get", "list", "create", "update", "patch", "delete"},
	}
	for role, want := range map[string]map[string][]string{
		"helm-release-viewer": viewer, "helm-release-deployer": deployer, "view": viewer, "edit": deployer, "admin": deployer,
	} {
		t.Run(role, func(t *testing.T) {
			user := bind(t, h, role)
			for resource, group := range resources {
				for _, verb := range all {
					if got := isAllowed(t, h, user, verb, group, resource); got != slices.Contains(want[resource], verb) {
						t.Errorf("%s %s: allowed %v", verb, resource, got)
					}
				}
			}
		})
	}
}

// TestViewer checks that an account with the role for viewers can list releases with kubectl, and
// cannot read Secrets.
func TestViewer(t *testing.T) {
	h := withRoles(t)
	_, err := client(h).Releases.Create(t.Context(), sampleRelease(h.Namespace, "shop"))
	harness.NoError(t, err)
	_, err = client(h).Versions.Create(t.Context(), sampleVersion(h.Namespace, "shop"))
	harness.NoError(t, err)
	as := bind(t, h, "helm-release-viewer")
	for _, tt := range []struct{ resource, want string }{
		{"hrel", "NAME   REVISION   UPDATED   STATUS     CHART        APP VERSION"}, {"releases.helm.sh", "shop-1.0.0"},
		{"hrelv", "NAME                         RELEASE   REVISION   UPDATED"}, {"releaseversions.helm.sh", ulid},
	} {
		if out, err := h.Kubectl(t, "get", tt.resource, "--as", as); err != nil || !strings.Contains(out, tt.want) {
			t.Errorf("%s: %v\n%s", tt.resource, err, out)
		}
	}
	if out, err := h.Kubectl(t, "get", "secrets", "--as", as); err == nil || !strings.Contains(out, "forbidden") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := h.Kubectl(t, "delete", "hrel", "shop", "--as", as); err == nil || !strings.Contains(out, "forbidden") {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestDeployer checks that the role for deployers, with permissions for the objects of the chart, is
// enough for all operations on releases that are stored as objects.
func TestDeployer(t *testing.T) {
	h := withRoles(t)
	h.GrantRules(t, rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"secrets"}},
		rbacv1.PolicyRule{Verbs: []string{"get", "list", "watch", "create", "update", "patch", "delete"}, APIGroups: []string{""}, Resources: []string{"configmaps"}})
	as := bind(t, h, "helm-release-deployer")
	roles := h.Cluster.Client().RbacV1().RoleBindings(h.Namespace)
	binding, err := roles.Get(t.Context(), "of-the-test", metav1.GetOptions{})
	harness.NoError(t, err)
	binding.Subjects[0].Name = as
	_, err = roles.Update(t.Context(), binding, metav1.UpdateOptions{})
	harness.NoError(t, err)
	harness.Eventually(t, "the deployer may create ConfigMaps", func() bool { return isAllowed(t, h, as, "create", "", "configmaps") })

	h.Env = append(h.Env, "HELM_DRIVER=crd")
	one, two := charts.Write(t, charts.Last("")), charts.Write(t, charts.Object{Name: "other"})
	for _, args := range [][]string{
		{"install", "rel", one, "--wait=ordered"}, {"upgrade", "rel", two, "--wait=ordered"}, {"rollback", "rel", "1"}, {"list"}, {"history", "rel"},
		{"status", "rel"}, {"uninstall", "rel"},
	} {
		if r := h.MustRun(append([]string{"--kube-as-user", as}, args...)...); strings.Contains(r.Stderr, "orbidden") {
			t.Errorf("helm %s: %s", args[0], r.Stderr)
		}
	}
	list, err := client(h).Releases.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("got %+v, %v", list, err)
	}
}

// TestDocumentedRoles checks that docs/permissions.md shows the roles as they are in the chart.
func TestDocumentedRoles(t *testing.T) {
	h := harness.New(t)
	dir := filepath.Join(t.TempDir(), "helm-state")
	h.MustRun("state", "init", "--chart", dir)
	page, err := os.ReadFile(filepath.Join(binaries.Root(t), "docs", "permissions.md"))
	harness.NoError(t, err)
	documented := map[string][]rbacv1.PolicyRule{}
	for _, block := range regexp.MustCompile("(?s)```yaml\nkind: ClusterRole\n(.*?)```").FindAllSubmatch(page, -1) {
		var role rbacv1.ClusterRole
		harness.NoError(t, yaml.UnmarshalStrict(block[1], &role))
		documented[role.Name] = role.Rules
	}
	shipped := map[string][]rbacv1.PolicyRule{}
	for document := range strings.SplitSeq(h.MustRun("template", dir, "--show-only", "templates/viewer.yaml", "--show-only", "templates/deployer.yaml").Stdout, "---\n") {
		var role rbacv1.ClusterRole
		harness.NoError(t, yaml.Unmarshal([]byte(document), &role))
		if role.Name != "" {
			shipped[role.Name] = role.Rules
		}
	}
	if len(shipped) != 2 {
		t.Errorf("got %d roles", len(shipped))
	}
	expectSame(t, documented, shipped)
}
