// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/ordered-helm/helm/test/fault"
)

// Allow gives the user "limited-NAMESPACE" permissions in the test's namespace.
func (h *Helm) Allow(tb testing.TB, rules ...rbacv1.PolicyRule) {
	tb.Helper()
	client := h.Cluster.Client().RbacV1()
	meta := metav1.ObjectMeta{Name: "limited"}
	if _, err := client.Roles(h.Namespace).Create(tb.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{}); err != nil {
		tb.Fatal(err)
	}
	_, err := client.RoleBindings(h.Namespace).Create(tb.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "limited"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "limited-" + h.Namespace}},
	}, metav1.CreateOptions{})
	if err != nil {
		tb.Fatal(err)
	}
}

// CreateServiceAccount makes an account with these permissions in the namespace, and returns
// the arguments by which the binary acts as it.
func (h *Helm) CreateServiceAccount(tb testing.TB, name string, rules []rbacv1.PolicyRule) (as []string) {
	tb.Helper()
	ctx, client := tb.Context(), h.Cluster.Client()
	meta := metav1.ObjectMeta{Name: name}
	_, err := client.CoreV1().ServiceAccounts(h.Namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	if err == nil {
		// A rule of its own tells when the whole Role is in force.
		sign := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{"test.example"}, Resources: []string{"signs"}}
		_, err = client.RbacV1().Roles(h.Namespace).Create(ctx, &rbacv1.Role{ObjectMeta: meta, Rules: append(slices.Clone(rules), sign)}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = client.RbacV1().RoleBindings(h.Namespace).Create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: meta,
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: h.Namespace, Name: name}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		}, metav1.CreateOptions{})
	}
	user := "system:serviceaccount:" + h.Namespace + ":" + name
	if err == nil {
		err = wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, Timeout, true, func(ctx context.Context) (bool, error) {
			review, err := client.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
				Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
					Namespace: h.Namespace, Verb: "get", Group: "test.example", Resource: "signs",
				}},
			}, metav1.CreateOptions{})
			return err == nil && review.Status.Allowed, err
		})
	}
	if err != nil {
		tb.Fatalf("make an account: %v", err)
	}
	return []string{"--kube-as-user", user}
}

// UseProxy has the binary reach the API by a proxy of the test's own.
func (h *Helm) UseProxy(tb testing.TB) *fault.Proxy {
	tb.Helper()
	p := fault.New(tb, h.Cluster.Config())
	path := filepath.Join(tb.TempDir(), "kubeconfig")
	if err := p.WriteKubeconfig(path, h.Namespace); err != nil {
		tb.Fatal(err)
	}
	h.Env = append(h.Env, "KUBECONFIG="+path)
	return p
}

// HoldRequests holds the requests of a sort up until pass is called; held says when the first of
// them has come.
func (h *Helm) HoldRequests(tb testing.TB, matches func(fault.Request) bool) (held <-chan struct{}, pass func()) {
	tb.Helper()
	reached, released := make(chan struct{}), make(chan struct{})
	reach := sync.OnceFunc(func() { close(reached) })
	h.UseProxy(tb).Intercept(func(_ http.ResponseWriter, r *http.Request, what fault.Request) bool {
		if matches(what) {
			reach()
			select {
			case <-released:
			case <-r.Context().Done():
			}
		}
		return false
	})
	return reached, sync.OnceFunc(func() { close(released) })
}

// CreatesRevision reports whether a request stores a new revision.
func CreatesRevision(what fault.Request) bool {
	return what.Verb == "create" && what.Resource == "secrets"
}

// Grant gives a user permissions on everything in the namespace and nowhere
// else, and returns the arguments by which the binary acts as that user.
func (h *Helm) Grant(tb testing.TB, verbs ...string) (as []string) {
	tb.Helper()
	return h.GrantRules(tb, rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{"*"}, Resources: []string{"*"}})
}

// GrantRules is grant by rules, the first of which counts for Secrets too.
func (h *Helm) GrantRules(tb testing.TB, rules ...rbacv1.PolicyRule) (as []string) {
	tb.Helper()
	ctx, user := tb.Context(), "user-of-"+h.Namespace
	rbac := h.Cluster.Client().RbacV1()
	_, err := rbac.Roles(h.Namespace).Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "of-the-test"},
		Rules:      rules,
	}, metav1.CreateOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	_, err = rbac.RoleBindings(h.Namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "of-the-test"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "of-the-test"},
	}, metav1.CreateOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	h.AwaitPermission(tb, true, rules[0].Verbs[0], "", "secrets")
	return []string{"--kube-as-user", user}
}

// AwaitPermission waits until the user of grant may do something, or no longer may.
func (h *Helm) AwaitPermission(tb testing.TB, want bool, verb, group, resource string) {
	tb.Helper()
	review := &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: "user-of-" + h.Namespace, ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: h.Namespace, Verb: verb, Group: group, Resource: resource,
		}},
	}
	Eventually(tb, "the change of permissions", func() bool {
		answer, err := h.Cluster.Client().AuthorizationV1().SubjectAccessReviews().Create(tb.Context(), review, metav1.CreateOptions{})
		return err == nil && answer.Status.Allowed == want
	})
}
