// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// history reads the stored revisions of a release, the oldest first.
func (h *helm) history(tb testing.TB, name string) []*release.Release {
	tb.Helper()
	store := storage.Init(driver.NewSecrets(h.cluster.Client().CoreV1().Secrets(h.namespace)))
	list, err := store.History(name)
	if err != nil {
		tb.Fatal(err)
	}
	releaseutil.SortByRevision(list)
	return list
}

// statuses are those of the stored revisions, the oldest first.
func (h *helm) statuses(tb testing.TB, name string) string {
	tb.Helper()
	var list []string
	for _, rel := range h.history(tb, name) {
		list = append(list, rel.Info.Status.String())
	}
	return strings.Join(list, " ")
}

// expectStatuses checks the statuses of the stored revisions, the oldest first.
func (h *helm) expectStatuses(tb testing.TB, name, want string) {
	tb.Helper()
	if got := h.statuses(tb, name); got != want {
		tb.Errorf("the revisions of release %s are %q, want %q", name, got, want)
	}
}

// last is the newest stored revision.
func (h *helm) last(tb testing.TB, name string) *release.Release {
	tb.Helper()
	list := h.history(tb, name)
	return list[len(list)-1]
}

// listed are the resources that charts of these tests consist of.
var listed = []schema.GroupVersionResource{
	{Version: "v1", Resource: "configmaps"}, {Version: "v1", Resource: "secrets"}, {Version: "v1", Resource: "services"},
	{Version: "v1", Resource: "serviceaccounts"}, {Version: "v1", Resource: "pods"}, {Version: "v1", Resource: "persistentvolumeclaims"},
	{Group: "apps", Version: "v1", Resource: "daemonsets"}, {Group: "apps", Version: "v1", Resource: "deployments"}, {Group: "apps", Version: "v1", Resource: "statefulsets"},
	{Group: "batch", Version: "v1", Resource: "jobs"}, {Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"},
	{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "rolebindings"},
	{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}, {Group: "networking.k8s.io", Version: "v1", Resource: "networkpolicies"},
	{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"},
}

// objectsOf reads, by "Kind/name", the objects in the namespace that bear the mark
// of a release.
func (h *helm) objectsOf(tb testing.TB, name string) map[string]*unstructured.Unstructured {
	tb.Helper()
	client := h.client
	found := map[string]*unstructured.Unstructured{}
	for _, resource := range listed {
		list, err := client.Resource(resource).Namespace(h.namespace).List(tb.Context(), metav1.ListOptions{})
		if err != nil {
			tb.Fatal(err)
		}
		for i := range list.Items {
			if item := &list.Items[i]; item.GetAnnotations()["meta.helm.sh/release-name"] == name {
				found[item.GetKind()+"/"+item.GetName()] = item
			}
		}
	}
	return found
}

// get reads one object; nil if it is not there.
func (h *helm) get(tb testing.TB, id string) *unstructured.Unstructured {
	tb.Helper()
	kind, name, _ := strings.Cut(id, "/")
	list, err := h.client.Resource(h.resource(tb, kind)).Namespace(h.namespace).List(tb.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		tb.Fatal(err)
	}
	if len(list.Items) == 0 {
		return nil
	}
	return &list.Items[0]
}

func (h *helm) resource(tb testing.TB, kind string) schema.GroupVersionResource {
	tb.Helper()
	for _, resource := range listed {
		if kinds[resource.Resource] == kind {
			return resource
		}
	}
	tb.Fatalf("no resource of kind %s", kind)
	return schema.GroupVersionResource{}
}

// patch changes an object as somebody else would.
func (h *helm) patch(tb testing.TB, id, patch string) {
	tb.Helper()
	kind, name, _ := strings.Cut(id, "/")
	_, err := h.client.Resource(h.resource(tb, kind)).Namespace(h.namespace).
		Patch(tb.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		tb.Fatal(err)
	}
}

// delete deletes an object as somebody else would, and returns when it is gone.
func (h *helm) delete(tb testing.TB, id string) {
	tb.Helper()
	kind, name, _ := strings.Cut(id, "/")
	err := h.client.Resource(h.resource(tb, kind)).Namespace(h.namespace).Delete(tb.Context(), name, metav1.DeleteOptions{})
	if err != nil {
		tb.Fatal(err)
	}
}

// expectObjects checks that the release has exactly the objects that its stored
// manifest declares, and those kept beside.
func (h *helm) expectObjects(tb testing.TB, name string, kept ...string) {
	tb.Helper()
	o := &oracle{}
	o.readObjects(tb, h.last(tb, name).Manifest)
	h.expectOnly(tb, name, append(ids(o.objects), kept...)...)
}

// expectOnly checks that exactly these objects bear the mark of a release.
func (h *helm) expectOnly(tb testing.TB, name string, want ...string) {
	tb.Helper()
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(h.objectsOf(tb, name))); !slices.Equal(got, want) {
		tb.Errorf("the release %s has\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func ids(objects []object) []string {
	list := make([]string, len(objects))
	for i, o := range objects {
		list[i] = o.String()
	}
	return list
}

// expectSame checks that objects are the ones that they were before, by their UID.
func expectSame(tb testing.TB, before, after map[string]*unstructured.Unstructured, ids ...string) {
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

// valueOf is what a part's value is in the cluster; "-" if it is not there.
func valueOf(o *unstructured.Unstructured) string {
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

// textAt is a text in an object; empty if there is none.
func textAt(o *unstructured.Unstructured, path ...string) string {
	if o == nil {
		return ""
	}
	text, _, _ := unstructured.NestedString(o.Object, path...)
	return text
}

// fails runs the binary, which must fail with a message that says all of want.
func (h *helm) fails(tb testing.TB, args []string, want ...string) result {
	tb.Helper()
	r := h.run(args...)
	if r.code != 1 {
		tb.Errorf("helm %s: exit code %d, want 1\n%s", strings.Join(args, " "), r.code, r.stderr)
	}
	expectSaid(tb, r.stderr, want...)
	return r
}

func expectSaid(tb testing.TB, text string, want ...string) {
	tb.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			tb.Errorf("it does not say %q:\n%s", w, text)
		}
	}
}

// mark is a time to compare with what the server records from now on: both are on
// one machine, and the server rounds down to microseconds.
func mark() time.Time { return time.Now().Truncate(time.Microsecond) }
