// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/test/harness"
)

// caseRun is a readinessCase that runs in its own namespace. tested is the resource under
// test, chart the directory of its chart.
type caseRun struct {
	*harness.Helm
	readinessCase
	tested *unstructured.Unstructured
	chart  string
}

func newCaseRun(tb testing.TB, c readinessCase) *caseRun {
	tb.Helper()
	s := &caseRun{Helm: harness.New(tb), readinessCase: c}
	s.tested = harness.ParseManifest(tb, strings.ReplaceAll(c.manifest, "NAMESPACE", s.Namespace))
	s.chart = c.writeChart(tb, s.tested)
	if harness.IsNamespaced(s.tested.GetKind()) {
		s.tested.SetNamespace(s.Namespace)
	}
	s.DeleteAfter(tb, s.tested)
	s.Env = append(s.Env, "HELM_READINESS_TIMEOUT=")
	s.Env = append(s.Env, c.env...)
	return s
}

// testedAPI returns a client for the kind of the resource under test.
func (s *caseRun) testedAPI() dynamic.ResourceInterface {
	return s.Resource(s.tested.GetAPIVersion(), s.tested.GetKind())
}

// awaitAny waits until any object is in a state, and returns the object.
func awaitAny(ctx context.Context, api dynamic.ResourceInterface, reached harness.State) (*unstructured.Unstructured, error) {
	for {
		list, err := api.List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			if reached(&list.Items[i]) {
				return &list.Items[i], nil
			}
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// changed returns a play that patches the resource under test when it is in a state.
func changed(when harness.State, patch string, subresources ...string) func(context.Context, *caseRun) error {
	return func(ctx context.Context, s *caseRun) error {
		if _, err := harness.AwaitState(ctx, s.testedAPI(), s.tested.GetName(), when); err != nil {
			return err
		}
		return harness.MergePatch(ctx, s.testedAPI(), s.tested.GetName(), patch, subresources...)
	}
}

// steps returns a play that writes the given statuses to the resource under test, one after
// the other. Each contains its number, from 1, as "step". The play pauses before each of them,
// so that the test detects if Helm does not wait for it.
func steps(statuses ...string) func(context.Context, *caseRun) error {
	return func(ctx context.Context, s *caseRun) error {
		if _, err := harness.AwaitState(ctx, s.testedAPI(), s.tested.GetName(), always); err != nil {
			return err
		}
		for i, status := range statuses {
			select {
			case <-ctx.Done():
				return fmt.Errorf("helm did not wait for step %d: %w", i+1, ctx.Err())
			case <-time.After(300 * time.Millisecond):
			}
			patch := fmt.Sprintf(`{"status":{"step":%d,%s`, i+1, strings.TrimPrefix(status, "{")) + "}"
			if err := harness.MergePatch(ctx, s.testedAPI(), s.tested.GetName(), patch, "status"); err != nil {
				return err
			}
		}
		return nil
	}
}

// step returns the state of an object whose status has the given number in the field "step".
func step(n int64) harness.State {
	return func(object *unstructured.Unstructured) bool { return harness.IntAt(object, "status.step") == n }
}

// all returns the state of an object that is in all of the given states.
func all(states ...harness.State) harness.State {
	return func(object *unstructured.Unstructured) bool {
		for _, s := range states {
			if !s(object) {
				return false
			}
		}
		return true
	}
}

// hasWaitingContainer returns the state of a pod that has a container in the state waiting,
// with the given reason.
func hasWaitingContainer(reason string) harness.State {
	return func(object *unstructured.Unstructured) bool {
		containers, _, _ := unstructured.NestedSlice(object.Object, "status", "containerStatuses")
		for _, entry := range containers {
			c, _ := entry.(map[string]any)
			if waits, _, _ := unstructured.NestedString(c, "state", "waiting", "reason"); waits == reason {
				return true
			}
		}
		return false
	}
}

// limitedUser makes helm act as a user with only the permissions that the test grants.
var limitedUser = []string{"--kube-as-user", "limited-NAMESPACE"}

// allowNamespaced grants the limited user the given verbs, and the verbs that write, on all
// resources in the namespace.
func (s *caseRun) allowNamespaced(tb testing.TB, verbs ...string) {
	tb.Helper()
	s.Allow(tb, rbacv1.PolicyRule{
		APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: append([]string{"create", "update", "patch", "delete"}, verbs...),
	})
}

// allowOnly grants the limited user all verbs on the given resources in the namespace.
func (s *caseRun) allowOnly(tb testing.TB, resources ...string) {
	tb.Helper()
	s.Allow(tb, rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: resources, Verbs: []string{"*"}})
}

// hasField returns the state of an object that has a value at a path, such as "status.phase".
func hasField(path, want string) harness.State {
	return func(object *unstructured.Unstructured) bool {
		value, _, _ := unstructured.NestedFieldNoCopy(object.Object, strings.Split(path, ".")...)
		return fmt.Sprint(value) == want
	}
}
