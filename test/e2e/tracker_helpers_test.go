// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/test/cluster"
	"github.com/ordered-helm/helm/test/fault"
)

// viaProxy has the binary reach the API by a proxy of the test's own.
func (h *helm) viaProxy(tb testing.TB) *fault.Proxy {
	tb.Helper()
	p := fault.New(tb, h.cluster.Config())
	path := filepath.Join(tb.TempDir(), "kubeconfig")
	if err := p.WriteKubeconfig(path, h.namespace); err != nil {
		tb.Fatal(err)
	}
	h.env = append(h.env, "KUBECONFIG="+path)
	return p
}

// expectSuccess checks that the binary succeeded, and by the server's record
// that the second object was created when the first was ready.
func (h *helm) expectSuccess(tb testing.TB, r result, first, second string) {
	tb.Helper()
	if r.code != 0 {
		tb.Fatalf("exit code %d\n%s", r.code, r.stderr)
	}
	recorded := h.readTrace(tb)
	switch ready, created := recorded.ready(first), recorded.created(second); {
	case ready.IsZero():
		tb.Errorf("%s never got ready", first)
	case created.Before(ready):
		tb.Errorf("%s was created at %s, before %s was ready at %s", second, created, first, ready)
	}
}

// firstWatch tells when the resource is first watched through the proxy.
func firstWatch(p *fault.Proxy, resource string) <-chan struct{} {
	watched := make(chan struct{})
	var once sync.Once
	p.Intercept(func(_ http.ResponseWriter, _ *http.Request, what fault.Request) bool {
		if what.Verb == "watch" && what.Resource == resource {
			once.Do(func() { close(watched) })
		}
		return false
	})
	return watched
}

// holdUp holds the requests of a sort up until pass is called; held says when the first of
// them has come.
func (h *helm) holdUp(tb testing.TB, matches func(fault.Request) bool) (held <-chan struct{}, pass func()) {
	tb.Helper()
	reached, released := make(chan struct{}), make(chan struct{})
	reach := sync.OnceFunc(func() { close(reached) })
	h.viaProxy(tb).Intercept(func(_ http.ResponseWriter, r *http.Request, what fault.Request) bool {
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

// isCreationOfRecord reports whether a request stores a new revision.
func isCreationOfRecord(what fault.Request) bool {
	return what.Verb == "create" && what.Resource == "secrets"
}

func await(tb testing.TB, happened <-chan struct{}, what string) {
	tb.Helper()
	select {
	case <-happened:
	case <-time.After(tooLong):
		tb.Fatalf("%s never happened", what)
	}
}

// grant gives a user permissions on everything in the namespace and nowhere
// else, and returns the arguments by which the binary acts as that user.
func (h *helm) grant(tb testing.TB, verbs ...string) (as []string) {
	tb.Helper()
	return h.grantRules(tb, rbacv1.PolicyRule{Verbs: verbs, APIGroups: []string{"*"}, Resources: []string{"*"}})
}

// grantRules is grant by rules, the first of which counts for Secrets too.
func (h *helm) grantRules(tb testing.TB, rules ...rbacv1.PolicyRule) (as []string) {
	tb.Helper()
	ctx, user := tb.Context(), "user-of-"+h.namespace
	rbac := h.cluster.Client().RbacV1()
	_, err := rbac.Roles(h.namespace).Create(ctx, &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Name: "of-the-test"},
		Rules:      rules,
	}, metav1.CreateOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	_, err = rbac.RoleBindings(h.namespace).Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "of-the-test"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "of-the-test"},
	}, metav1.CreateOptions{})
	if err != nil {
		tb.Fatal(err)
	}
	h.awaitRight(tb, true, rules[0].Verbs[0], "", "secrets")
	return []string{"--kube-as-user", user}
}

// awaitRight waits until the user of grant may do something, or no longer may.
func (h *helm) awaitRight(tb testing.TB, want bool, verb, group, resource string) {
	tb.Helper()
	review := &authorizationv1.SubjectAccessReview{
		Spec: authorizationv1.SubjectAccessReviewSpec{User: "user-of-" + h.namespace, ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: h.namespace, Verb: verb, Group: group, Resource: resource,
		}},
	}
	eventually(tb, "the change of permissions", func() bool {
		answer, err := h.cluster.Client().AuthorizationV1().SubjectAccessReviews().Create(tb.Context(), review, metav1.CreateOptions{})
		return err == nil && answer.Status.Allowed == want
	})
}

// openGates creates the ConfigMaps that pods wait for. A gate may be opened before there
// is a pod, and more than once.
func (h *helm) openGates(tb testing.TB, names ...string) {
	tb.Helper()
	for _, name := range names {
		gate := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"e2e": "gate"}}}
		_, err := h.cluster.Client().CoreV1().ConfigMaps(h.namespace).Create(tb.Context(), gate, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			tb.Fatal(err)
		}
	}
}

// asked is what the server recorded of the binary's requests about a resource in
// the namespace, each request once.
func (h *helm) asked(tb testing.TB, resource string) []cluster.Event {
	tb.Helper()
	var events []cluster.Event
	for _, e := range h.cluster.Audit(tb) {
		endOfWatch := e.Verb == "watch" && e.Stage == cluster.StageComplete
		if e.Namespace == h.namespace && e.Resource == resource && strings.HasPrefix(e.UserAgent, "Helm/") && !endOfWatch {
			events = append(events, e)
		}
	}
	return events
}

func countVerb(events []cluster.Event, verb string) int {
	n := 0
	for _, e := range events {
		if e.Verb == verb {
			n++
		}
	}
	return n
}
