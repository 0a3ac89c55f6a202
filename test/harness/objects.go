// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/crdstorage"
	"github.com/ordered-helm/helm/internal/releaseapi"
)

// ExpectEmptyNamespace checks that the namespace contains no object of a release and no
// stored revision.
func (h *Helm) ExpectEmptyNamespace(tb testing.TB) {
	tb.Helper()
	list, err := h.Cluster.Client().CoreV1().ConfigMaps(h.Namespace).List(tb.Context(), metav1.ListOptions{
		LabelSelector: "app.kubernetes.io/managed-by=Helm",
	})
	NoError(tb, err)
	secrets, err := h.Cluster.Client().CoreV1().Secrets(h.Namespace).List(tb.Context(), metav1.ListOptions{})
	NoError(tb, err)
	if n := len(list.Items) + len(secrets.Items); n > 0 {
		tb.Errorf("%d objects are left", n)
	}
}

// ExpectNoReleases checks that no release is stored in the namespace. If a process was killed while it deleted a
// ReleaseVersion, the garbage collector deletes its Secrets, for which ExpectNoReleases waits.
func (h *Helm) ExpectNoReleases(tb testing.TB) {
	tb.Helper()
	Eventually(tb, "the garbage collector deletes what ReleaseVersions owned", func() bool { return !h.hasOwnedSecret(tb) })
	secrets, err := h.Cluster.Client().CoreV1().Secrets(h.Namespace).List(tb.Context(), metav1.ListOptions{})
	NoError(tb, err)
	for _, s := range secrets.Items {
		tb.Errorf("Secret/%s is left", s.Name)
	}
	if StorageDriver() != crdstorage.DriverName {
		return
	}
	for _, resource := range []schema.GroupVersionResource{
		releaseapi.ReleaseGVR(), releaseapi.ReleaseVersionGVR(), {Group: "coordination.k8s.io", Version: "v1", Resource: "leases"},
	} {
		left, err := h.Client.Resource(resource).Namespace(h.Namespace).List(tb.Context(), metav1.ListOptions{})
		NoError(tb, err)
		for i := range left.Items {
			tb.Errorf("%s/%s is left", resource.Resource, left.Items[i].GetName())
		}
	}
}

// hasOwnedSecret reports whether the namespace contains a Secret that a ReleaseVersion owns.
func (h *Helm) hasOwnedSecret(tb testing.TB) bool {
	tb.Helper()
	secrets, err := h.Cluster.Client().CoreV1().Secrets(h.Namespace).List(tb.Context(), metav1.ListOptions{})
	NoError(tb, err)
	return slices.ContainsFunc(secrets.Items, func(s corev1.Secret) bool {
		return slices.ContainsFunc(s.OwnerReferences, func(r metav1.OwnerReference) bool { return r.Kind == releaseapi.ReleaseVersionKind })
	})
}

// declared returns the contents of objects as JSON, without the fields that the API server and
// controllers set.
func declared(tb testing.TB, objects map[string]*unstructured.Unstructured) map[string]string {
	tb.Helper()
	texts := map[string]string{}
	for id, o := range objects {
		o = o.DeepCopy()
		delete(o.Object, "status")
		metadata, _ := o.Object["metadata"].(map[string]any)
		for _, key := range []string{"managedFields", "resourceVersion", "generation"} {
			delete(metadata, key)
		}
		unstructured.RemoveNestedField(metadata, "annotations", "deployment.kubernetes.io/revision")
		text, err := json.Marshal(o.Object)
		NoError(tb, err)
		texts[id] = string(text)
	}
	return texts
}

// ExpectSameContent checks that before and after contain the same objects with the same
// content, apart from fields that the API server and controllers set.
func ExpectSameContent(tb testing.TB, before, after map[string]*unstructured.Unstructured) {
	tb.Helper()
	want, got := declared(tb, before), declared(tb, after)
	for id, text := range want {
		if got[id] != text {
			tb.Errorf("%s is\n%s\nand was\n%s", id, got[id], text)
		}
	}
	for id := range got {
		if _, was := want[id]; !was {
			tb.Errorf("%s was not there before", id)
		}
	}
}

// Resources are the resources that occur in the charts of the tests.
var Resources = []schema.GroupVersionResource{
	{Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "secrets"}, {Version: "v1", Resource: "services"},
	{Version: "v1", Resource: "serviceaccounts"}, {Version: "v1", Resource: "pods"}, {Version: "v1", Resource: "persistentvolumeclaims"},
	{Group: "apps", Version: "v1", Resource: "daemonsets"}, {Group: "apps", Version: "v1", Resource: "deployments"}, {Group: "apps", Version: "v1", Resource: "statefulsets"},
	{Group: "batch", Version: "v1", Resource: "jobs"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
	{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}, {Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"},
	{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
}

// ReleaseObjects returns the objects in the namespace that belong to a release, by
// "Kind/name".
func (h *Helm) ReleaseObjects(tb testing.TB, name string) map[string]*unstructured.Unstructured {
	tb.Helper()
	found := map[string]*unstructured.Unstructured{}
	for _, resource := range Resources {
		list, err := h.Client.Resource(resource).Namespace(h.Namespace).List(tb.Context(), metav1.ListOptions{})
		NoError(tb, err)
		for i := range list.Items {
			if item := &list.Items[i]; item.GetAnnotations()["meta.helm.sh/release-name"] == name {
				found[item.GetKind()+"/"+item.GetName()] = item
			}
		}
	}
	return found
}

// Get returns the object with the "Kind/name" id, or nil if it does not exist.
func (h *Helm) Get(tb testing.TB, id string) *unstructured.Unstructured {
	tb.Helper()
	kind, name, _ := strings.Cut(id, "/")
	list, err := h.Client.Resource(h.ResourceOfKind(tb, kind)).Namespace(h.Namespace).List(tb.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	NoError(tb, err)
	if len(list.Items) == 0 {
		return nil
	}
	return &list.Items[0]
}

// ResourceOfKind returns the resource of a kind among Resources.
func (h *Helm) ResourceOfKind(tb testing.TB, kind string) schema.GroupVersionResource {
	tb.Helper()
	for _, resource := range Resources {
		if Kinds[resource.Resource] == kind {
			return resource
		}
	}
	tb.Fatalf("no resource of kind %s", kind)
	return schema.GroupVersionResource{}
}

// Patch changes an object as another client would.
func (h *Helm) Patch(tb testing.TB, id, patch string) {
	tb.Helper()
	kind, name, _ := strings.Cut(id, "/")
	_, err := h.Client.Resource(h.ResourceOfKind(tb, kind)).Namespace(h.Namespace).
		Patch(tb.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	NoError(tb, err)
}

// RemoveFinalizers removes the finalizers of an object.
func (h *Helm) RemoveFinalizers(tb testing.TB, id string) {
	tb.Helper()
	h.Patch(tb, id, `{"metadata":{"finalizers":null}}`)
}

// Delete deletes an object, as another client would.
func (h *Helm) Delete(tb testing.TB, id string) {
	tb.Helper()
	kind, name, _ := strings.Cut(id, "/")
	err := h.Client.Resource(h.ResourceOfKind(tb, kind)).Namespace(h.Namespace).Delete(tb.Context(), name, metav1.DeleteOptions{})
	NoError(tb, err)
}

// ExpectObjects checks that exactly these objects belong to a release.
func (h *Helm) ExpectObjects(tb testing.TB, name string, want ...string) {
	tb.Helper()
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(h.ReleaseObjects(tb, name))); !slices.Equal(got, want) {
		tb.Errorf("the release %s has\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// ExpectSameObjects checks by their UIDs that the objects named by ids were not recreated.
func ExpectSameObjects(tb testing.TB, before, after map[string]*unstructured.Unstructured, ids ...string) {
	tb.Helper()
	for _, id := range ids {
		switch was, is := before[id], after[id]; {
		case was == nil || is == nil:
			tb.Errorf("%s: before %v, after %v", id, was != nil, is != nil)
		case was.GetUID() != is.GetUID():
			tb.Errorf("%s is another object than before", id)
		}
	}
}

// ValueOf returns the charts.Object.Value that an object in the cluster has, or "-" if o is
// nil.
func ValueOf(o *unstructured.Unstructured) string {
	if o == nil {
		return "-"
	}
	if value, found, _ := unstructured.NestedString(o.Object, "data", "value"); found {
		return value
	}
	containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
	if len(containers) == 0 {
		containers, _, _ = unstructured.NestedSlice(o.Object, "spec", "containers")
	}
	for _, c := range containers {
		env, _, _ := unstructured.NestedSlice(c.(map[string]any), "env")
		for _, e := range env {
			return fmt.Sprint(e.(map[string]any)["value"])
		}
	}
	return ""
}

// ExpectValues checks that all objects of charts.ThreeLayers have the value.
func (h *Helm) ExpectValues(tb testing.TB, value string) {
	tb.Helper()
	for _, id := range []string{"ConfigMap/first", "Deployment/app", "ConfigMap/last"} {
		if got := ValueOf(h.Get(tb, id)); got != value {
			tb.Errorf("%s has the value %q, want %q", id, got, value)
		}
	}
}

// State reports whether an object is in a certain state.
type State func(*unstructured.Unstructured) bool

// IsNamespaced reports whether objects of a kind are in a namespace.
func IsNamespaced(kind string) bool {
	switch kind {
	case "CustomResourceDefinition", "APIService", "PersistentVolume", "StorageClass":
		return false
	}
	return true
}

// GuessResource returns the resource of a kind. The plural of the kind must be regular.
func GuessResource(apiVersion, kind string) schema.GroupVersionResource {
	plural, _ := meta.UnsafeGuessKindToResource(schema.FromAPIVersionAndKind(apiVersion, kind))
	return plural
}

// Resource returns a client for objects of a kind, in the namespace of the test unless the
// kind is cluster-scoped.
func (h *Helm) Resource(apiVersion, kind string) dynamic.ResourceInterface {
	resource := h.Client.Resource(GuessResource(apiVersion, kind))
	if IsNamespaced(kind) {
		return resource.Namespace(h.Namespace)
	}
	return resource
}

// DeleteAfter deletes the object at the end of the test if it is cluster-scoped. Namespaced
// objects are deleted with the namespace.
func (h *Helm) DeleteAfter(tb testing.TB, object *unstructured.Unstructured) {
	if IsNamespaced(object.GetKind()) {
		return
	}
	api := h.Resource(object.GetAPIVersion(), object.GetKind())
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tb.Context()), 30*time.Second)
		defer cancel()
		if err := api.Delete(ctx, object.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			tb.Errorf("delete %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	})
}

// AwaitState waits until an object is in a state, and returns the object.
func AwaitState(ctx context.Context, api dynamic.ResourceInterface, name string, reached State) (*unstructured.Unstructured, error) {
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

// MergePatch applies a JSON merge patch to an object. The request is not canceled with the
// context, because Helm may see the change and exit before the response arrives.
func MergePatch(ctx context.Context, api dynamic.ResourceInterface, name, patch string, subresources ...string) error {
	_, err := api.Patch(context.WithoutCancel(ctx), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...)
	return err
}

// IntAt returns the number at a path, such as "status.replicas", in an object, or 0 if there
// is none.
func IntAt(object *unstructured.Unstructured, path string) int64 {
	value, _, _ := unstructured.NestedInt64(object.Object, strings.Split(path, ".")...)
	if value == 0 { // of the audit log, read by encoding/json
		fraction, _, _ := unstructured.NestedFloat64(object.Object, strings.Split(path, ".")...)
		return int64(fraction)
	}
	return value
}

// HasCondition returns the state of an object that has a condition of the type kind with the
// given status and reason. An empty status or reason matches any.
func HasCondition(kind, status, reason string) State {
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

// read parses the manifest of one object.
func read(text string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		return nil, fmt.Errorf("%w in\n%s", err, text)
	}
	return object, nil
}

// ParseManifest parses the manifest of one object, and ends the test if it is invalid.
func ParseManifest(tb testing.TB, text string) *unstructured.Unstructured {
	tb.Helper()
	object, err := read(text)
	NoError(tb, err)
	return object
}

// Create creates an object from a manifest. Like MergePatch, it is not canceled with the
// context.
func (h *Helm) Create(ctx context.Context, manifest string) error {
	object, err := read(strings.ReplaceAll(manifest, "NAMESPACE", h.Namespace))
	if err != nil {
		return err
	}
	_, err = h.Resource(object.GetAPIVersion(), object.GetKind()).Create(context.WithoutCancel(ctx), object, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// Apply creates an object from a manifest. The object is deleted after the test.
func (h *Helm) Apply(tb testing.TB, manifest string) {
	tb.Helper()
	h.DeleteAfter(tb, ParseManifest(tb, strings.ReplaceAll(manifest, "NAMESPACE", h.Namespace)))
	NoError(tb, h.Create(tb.Context(), manifest))
}

// OpenGates creates ConfigMaps that are gates, if they do not exist yet. Pods with a
// charts.Object.Gate do not start before their gate exists.
func (h *Helm) OpenGates(tb testing.TB, names ...string) {
	tb.Helper()
	for _, name := range names {
		gate := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"e2e": "gate"}}}
		_, err := h.Cluster.Client().CoreV1().ConfigMaps(h.Namespace).Create(tb.Context(), gate, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			tb.Fatal(err)
		}
	}
}
