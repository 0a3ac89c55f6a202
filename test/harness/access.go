// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"errors"
	"slices"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Allow grants the user limited-NAMESPACE, where NAMESPACE is the namespace of the test,
// permissions in the namespace. helm acts as this user with --kube-as-user.
func (h *Helm) Allow(tb testing.TB, rules ...rbacv1.PolicyRule) {
	tb.Helper()
	h.bindRole(tb, "limited", user("limited-"+h.Namespace), rules)
}

// Grant grants a user the verbs on all resources in the namespace, and returns the arguments
// with which helm acts as that user.
func (h *Helm) Grant(tb testing.TB, verbs ...string) (as []string) {
	tb.Helper()
	return h.GrantRules(tb, rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{"*"}, Resources: []string{"*"}})
}

// GrantRules is like Grant, but grants rules. The first rule must apply to Secrets.
func (h *Helm) GrantRules(tb testing.TB, rules ...rbacv1.PolicyRule) (as []string) {
	tb.Helper()
	h.bindRole(tb, "of-the-test", user(h.grantedUser()), rules)
	h.AwaitPermission(tb, true, rules[0].Verbs[0], "", "secrets")
	return []string{"--kube-as-user", h.grantedUser()}
}

// CreateServiceAccount creates a service account with the given permissions in the namespace,
// and returns the arguments with which helm acts as that account.
func (h *Helm) CreateServiceAccount(tb testing.TB, name string, rules []rbacv1.PolicyRule) (as []string) {
	tb.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := h.Cluster.Client().CoreV1().ServiceAccounts(h.Namespace).Create(tb.Context(), account, metav1.CreateOptions{}); err != nil {
		tb.Fatal(err)
	}
	// This additional permission, which nothing needs, shows when the Role is in effect.
	sign := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"test.example"}, Resources: []string{"signs"}}
	h.bindRole(tb, name, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: h.Namespace, Name: name}, append(slices.Clone(rules), sign))
	asUser := "system:serviceaccount:" + h.Namespace + ":" + name
	h.awaitAccess(tb, asUser, true, authorizationv1.ResourceAttributes{Verb: "get", Group: "test.example", Resource: "signs"})
	return []string{"--kube-as-user", asUser}
}

// AwaitPermission waits until the user of Grant has a permission, or if want is false, until
// the user no longer has it.
func (h *Helm) AwaitPermission(tb testing.TB, want bool, verb, group, resource string) {
	tb.Helper()
	h.awaitAccess(tb, h.grantedUser(), want, authorizationv1.ResourceAttributes{Verb: verb, Group: group, Resource: resource})
}

func (h *Helm) grantedUser() string { return "user-of-" + h.Namespace }

func user(name string) rbacv1.Subject {
	return rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: name}
}

// bindRole creates a Role in the namespace, and binds it to a subject.
func (h *Helm) bindRole(tb testing.TB, name string, subject rbacv1.Subject, rules []rbacv1.PolicyRule) {
	tb.Helper()
	client, meta := h.Cluster.Client().RbacV1(), metav1.ObjectMeta{Name: name}
	_, err := client.Roles(h.Namespace).Create(tb.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: WithStorageRules(rules)}, metav1.CreateOptions{})
	_, err2 := client.RoleBindings(h.Namespace).Create(tb.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta,
		Subjects:   []rbacv1.Subject{subject},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
	}, metav1.CreateOptions{})
	NoError(tb, errors.Join(err, err2))
}

// awaitAccess waits until the API server allows a user a request, or if want is false, until
// it denies the request.
func (h *Helm) awaitAccess(tb testing.TB, user string, want bool, what authorizationv1.ResourceAttributes) {
	tb.Helper()
	what.Namespace = h.Namespace
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &what}}
	Eventually(tb, "the change of permissions", func() bool {
		answer, err := h.Cluster.Client().AuthorizationV1().SubjectAccessReviews().Create(tb.Context(), review, metav1.CreateOptions{})
		return err == nil && answer.Status.Allowed == want
	})
}
