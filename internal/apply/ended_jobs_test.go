// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"testing"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/inventory"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
)

// oneObjectBuilder builds the objects of a manifest that contains one object.
type oneObjectBuilder struct{ cluster.Builder }

func (oneObjectBuilder) Build(manifest []byte, _ bool) (kube.ResourceList, error) {
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(manifest, &u.Object); err != nil {
		return nil, err
	}
	return kube.ResourceList{infoOf(u)}, nil
}

func infoOf(u *unstructured.Unstructured) *object.Info {
	gvk := schema.FromAPIVersionAndKind(u.GetAPIVersion(), u.GetKind())
	return &object.Info{Name: u.GetName(), Namespace: "ns", Object: u, Mapping: &meta.RESTMapping{GroupVersionKind: gvk, Scope: meta.RESTScopeNamespace}}
}

// TestHasEnded checks for which objects a rollback does not wait.
func TestHasEnded(t *testing.T) {
	const (
		job      = "{apiVersion: batch/v1, kind: Job, metadata: {name: x}, spec: {completions: 1}}"
		other    = "{apiVersion: batch/v1, kind: Job, metadata: {name: x}, spec: {completions: 2}}"
		pod      = "{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {}, status: {phase: Succeeded}}"
		complete = "{apiVersion: batch/v1, kind: Job, metadata: {name: x}, status: {conditions: [{type: Complete, status: 'True'}]}}"
		failed   = "{apiVersion: batch/v1, kind: Job, metadata: {name: x}, status: {conditions: [{type: Failed, status: 'True'}]}}"
	)
	for _, c := range []struct {
		name, earlier, declared, live string
		unchanged, want               bool
	}{
		{name: "unchanged and complete", earlier: job, declared: job, live: complete, unchanged: true, want: true},
		{name: "unchanged and failed", earlier: job, declared: job, live: failed, unchanged: true, want: true},
		{name: "unchanged and running", earlier: job, declared: job, live: job, unchanged: true},
		{name: "created again", earlier: job, declared: job, live: job, want: true},
		{name: "created with another spec", earlier: other, declared: job, live: job},
		{name: "created for the first time", earlier: pod, declared: job, live: job},
		{name: "unchanged, but no Job", earlier: pod, declared: pod, live: pod, unchanged: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			build := func(manifest string) *object.Info {
				list, err := oneObjectBuilder{}.Build([]byte(manifest), false)
				if err != nil {
					t.Fatal(err)
				}
				return list[0]
			}
			earlier := &release.Release{Name: "rel", Version: 1, Manifest: c.earlier, Info: &release.Info{Status: release.StatusDeployed}}
			inv := inventory.New([]*release.Release{earlier}, earlier)
			if err := inv.ReadAsHelm(oneObjectBuilder{}); err != nil {
				t.Fatal(err)
			}
			a, info := New(ApplierConfig{Inventory: inv}), build(c.declared)
			done := &objectwriter.ApplyResult{}
			if c.unchanged {
				done.Unchanged = kube.ResourceList{info}
			} else {
				done.Created = kube.ResourceList{info}
			}
			a.recordResult(done)
			if got := a.HasEnded(info, build(c.live)); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
