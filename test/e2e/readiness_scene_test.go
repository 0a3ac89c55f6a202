// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// scene is a case in a cluster.
type scene struct {
	*helm
	readinessCase
	tested *unstructured.Unstructured
	chart  string
}

func newScene(tb testing.TB, c readinessCase) *scene {
	tb.Helper()
	s := &scene{helm: newHelm(tb), readinessCase: c}
	s.tested = parse(tb, strings.ReplaceAll(c.manifest, "NAMESPACE", s.namespace))
	s.chart = c.writeScene(tb, s.tested)
	if isNamespaced(s.tested.GetKind()) {
		s.tested.SetNamespace(s.namespace)
	}
	s.removeAfter(tb, s.tested)
	s.helm.env = append(s.helm.env, "HELM_READINESS_TIMEOUT=")
	s.helm.env = append(s.helm.env, c.env...)
	return s
}

func isNamespaced(kind string) bool {
	switch kind {
	case "CustomResourceDefinition", "APIService", "PersistentVolume", "StorageClass":
		return false
	}
	return true
}

// resourceOf is the resource of a kind, whose plural is regular.
func resourceOf(apiVersion, kind string) schema.GroupVersionResource {
	plural, _ := meta.UnsafeGuessKindToResource(schema.FromAPIVersionAndKind(apiVersion, kind))
	return plural
}

// api reads and writes objects of a kind in the case's namespace.
func (h *helm) api(apiVersion, kind string) dynamic.ResourceInterface {
	resource := h.client.Resource(resourceOf(apiVersion, kind))
	if isNamespaced(kind) {
		return resource.Namespace(h.namespace)
	}
	return resource
}

// testedAPI reads and writes the resource under test.
func (s *scene) testedAPI() dynamic.ResourceInterface {
	return s.api(s.tested.GetAPIVersion(), s.tested.GetKind())
}

// removeAfter removes an object outside namespaces when the test is over; the
// others go with their namespace.
func (h *helm) removeAfter(tb testing.TB, object *unstructured.Unstructured) {
	if isNamespaced(object.GetKind()) {
		return
	}
	api := h.api(object.GetAPIVersion(), object.GetKind())
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), 30*time.Second)
		defer cancel()
		if err := api.Delete(ctx, object.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			tb.Errorf("delete %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	})
}

// until waits for an object to be in a state.
func until(ctx context.Context, api dynamic.ResourceInterface, name string, reached state) (*unstructured.Unstructured, error) {
	for {
		object, err := api.Get(ctx, name, metav1.GetOptions{})
		switch {
		case err != nil && !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("wait for %s: %w", name, err)
		case err == nil && reached(object):
			return object, nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for %s: %w", name, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// untilOne waits until there is an object that is in a state, whatever its name.
func untilOne(ctx context.Context, api dynamic.ResourceInterface, reached state) (*unstructured.Unstructured, error) {
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

// merge changes an object. Once begun it is finished: helm may see the change,
// and end, before the answer is here.
func merge(ctx context.Context, api dynamic.ResourceInterface, name, patch string, subresources ...string) error {
	_, err := api.Patch(context.WithoutCancel(ctx), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	return err
}

// changed is a play that changes the resource once it is in a state.
func changed(when state, patch string, subresources ...string) func(context.Context, *scene) error {
	return func(ctx context.Context, s *scene) error {
		if _, err := until(ctx, s.testedAPI(), s.tested.GetName(), when); err != nil {
			return err
		}
		return merge(ctx, s.testedAPI(), s.tested.GetName(), patch, subresources...)
	}
}

// steps is a play that writes one status after the other, with its number as
// "step". Between two steps a verdict that comes too early has time to show.
func steps(statuses ...string) func(context.Context, *scene) error {
	return func(ctx context.Context, s *scene) error {
		if _, err := until(ctx, s.testedAPI(), s.tested.GetName(), atOnce); err != nil {
			return err
		}
		for i, status := range statuses {
			select {
			case <-ctx.Done():
				return fmt.Errorf("helm did not wait for step %d: %w", i+1, ctx.Err())
			case <-time.After(300 * time.Millisecond):
			}
			patch := fmt.Sprintf(`{"status":{"step":%d,%s`, i+1, strings.TrimPrefix(status, "{")) + "}"
			if err := merge(ctx, s.testedAPI(), s.tested.GetName(), patch, "status"); err != nil {
				return err
			}
		}
		return nil
	}
}

// step is the state after a step.
func step(n int64) state {
	return func(object *unstructured.Unstructured) bool { return intAt(object, "status.step") == n }
}

func intAt(object *unstructured.Unstructured, path string) int64 {
	value, _, _ := unstructured.NestedInt64(object.Object, strings.Split(path, ".")...)
	if value == 0 { // of the audit log, read by encoding/json
		fraction, _, _ := unstructured.NestedFloat64(object.Object, strings.Split(path, ".")...)
		return int64(fraction)
	}
	return value
}

// has is the state of an object with a text at a path.
func has(path, want string) state {
	return func(object *unstructured.Unstructured) bool {
		value, _, _ := unstructured.NestedFieldNoCopy(object.Object, strings.Split(path, ".")...)
		return fmt.Sprint(value) == want
	}
}

// hasCondition is the state of an object with a condition, of any status
// where none is given, for any reason where none is given.
func hasCondition(kind, status, reason string) state {
	return func(object *unstructured.Unstructured) bool {
		conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		for _, entry := range conditions {
			c, _ := entry.(map[string]any)
			if c["type"] == kind && (status == "" || c["status"] == status) && (reason == "" || c["reason"] == reason) {
				return true
			}
		}
		return false
	}
}

// all is the state of what is in each of several.
func all(states ...state) state {
	return func(object *unstructured.Unstructured) bool {
		for _, s := range states {
			if !s(object) {
				return false
			}
		}
		return true
	}
}

// isWaiting is the state of a pod of which a container waits for a reason.
func isWaiting(reason string) state {
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

// read reads one manifest.
func read(text string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		return nil, fmt.Errorf("%w in\n%s", err, text)
	}
	return object, nil
}

// parse is read for a test.
func parse(tb testing.TB, text string) *unstructured.Unstructured {
	tb.Helper()
	object, err := read(text)
	if err != nil {
		tb.Fatal(err)
	}
	return object
}

// create creates an object in the cluster; like merge, it is finished once begun.
func (h *helm) create(ctx context.Context, manifest string) error {
	object, err := read(strings.ReplaceAll(manifest, "NAMESPACE", h.namespace))
	if err != nil {
		return err
	}
	_, err = h.api(object.GetAPIVersion(), object.GetKind()).Create(context.WithoutCancel(ctx), object, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// apply creates an object for the time of the test.
func (h *helm) apply(tb testing.TB, manifest string) {
	tb.Helper()
	h.removeAfter(tb, parse(tb, strings.ReplaceAll(manifest, "NAMESPACE", h.namespace)))
	if err := h.create(tb.Context(), manifest); err != nil {
		tb.Fatal(err)
	}
}

// limitedUser makes helm act as a user who may do what the test allows.
var limitedUser = []string{"--kube-as-user", "limited-NAMESPACE"}

// allowNamespaced lets that user do with everything in the namespace what the
// verbs say, and write it.
func (s *scene) allowNamespaced(tb testing.TB, verbs ...string) {
	tb.Helper()
	s.allow(tb, rbacv1.PolicyRule{
		APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: append([]string{"create", "update", "patch", "delete"}, verbs...),
	})
}

// allowOnly lets the limited user do everything with some resources, and
// nothing with others.
func (s *scene) allowOnly(tb testing.TB, resources ...string) {
	tb.Helper()
	s.allow(tb, rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: resources, Verbs: []string{"*"}})
}
