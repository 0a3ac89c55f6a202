// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"errors"
	"slices"
	"testing"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/object"
)

// otherClient is a custom Kubernetes client that modifies the objects that it receives.
type otherClient struct {
	kube.Interface
	originals, targets kube.ResourceList
	force              bool
	err                error
}

func (p *otherClient) Update(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	p.originals, p.targets, p.force = original, target, force
	for _, info := range slices.Concat(original, target) {
		live := info.Object.(*unstructured.Unstructured).DeepCopy()
		live.SetUID("uid")
		_ = info.Refresh(live, true)
	}
	return &kube.Result{Created: target[:1], Updated: target[1:]}, p.err
}

type otherThreeWayClient struct{ *otherClient }

func (p otherThreeWayClient) UpdateThreeWayMerge(original, target kube.ResourceList, force bool) (*kube.Result, error) {
	_, _ = p.Update(original, target, force)
	return nil, errors.New("three-way")
}

func (p *otherClient) Delete(list kube.ResourceList) (*kube.Result, []error) {
	for _, info := range list {
		_ = info.Refresh(&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"uid": "uid"}}}, true)
	}
	return nil, nil
}

// TestDelegatedDelete checks that a custom client does not modify the objects of the caller
// when it deletes them.
func TestDelegatedDelete(t *testing.T) {
	list := fakeapi.Infos(t, fakeapi.ConfigMap("a", ""), fakeapi.ConfigMap("b", ""))
	result, errs := NewWithoutCluster(&otherClient{}).Delete(t.Context(), list, DeleteOptions{Propagation: metav1.DeletePropagationBackground})
	if len(errs) > 0 || !slices.Equal(result.Deleted, list) || !slices.Equal(result.Terminating, list) {
		t.Errorf("got %v, %v", result, errs)
	}
	for _, info := range list {
		if uid := object.UID(info); uid != "" {
			t.Errorf("%s has changed", info.Name)
		}
	}
}

// TestDelegatedApply checks that a custom client deletes nothing, and does not modify the
// objects of the caller.
func TestDelegatedApply(t *testing.T) {
	api := fakeapi.NewWritableAPI(t)
	originals := fakeapi.Infos(t, fakeapi.ConfigMap("gone", ""), fakeapi.ConfigMap("b", ""))
	list := fakeapi.Infos(t, fakeapi.ConfigMap("a", ""), fakeapi.ConfigMap("b", ""))
	for _, c := range []struct {
		name     string
		client   func(*otherClient) kube.Interface
		threeWay bool
		err      error
		want     string
	}{
		{name: "merged", client: func(p *otherClient) kube.Interface { return p }},
		{name: "failing", client: func(p *otherClient) kube.Interface { return p }, err: errors.New("its own"), want: "its own"},
		{name: "three-way", client: func(p *otherClient) kube.Interface { return otherThreeWayClient{p} }, threeWay: true, want: "three-way"},
		{name: "not three-way", client: func(p *otherClient) kube.Interface { return p }, threeWay: true, want: "taking ownership needs three-way merges, which a Kubernetes client of type *objectwriter.otherClient does not support"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := &otherClient{err: c.err}
			writer := NewCustom(c.client(p), cluster.Connect(api.Getter(), nil))
			applied, err := writer.Apply(t.Context(), list, ApplyOptions{Originals: originals, Force: true, ThreeWay: c.threeWay})
			if (err != nil) != (c.want != "") || err != nil && err.Error() != c.want {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if c.threeWay {
				if len(applied.Created) != 0 || (p.targets != nil) != (c.name == "three-way") {
					t.Errorf("got %v", applied)
				}
				return
			}
			if got := fakeapi.Names(p.originals); !slices.Equal(got, []string{"ConfigMap/b"}) || !p.force || len(p.targets) != 2 {
				t.Errorf("it got %v, %v, %v", got, fakeapi.Names(p.targets), p.force)
			}
			if len(applied.Created) != 1 || len(applied.Updated) != 1 {
				t.Errorf("got %v", applied)
			}
			if !slices.Equal(slices.Concat(applied.Created, applied.Updated), list) {
				t.Errorf("created %p, updated %p, want the objects that were given, %p", applied.Created, applied.Updated, list)
			}
			for _, info := range slices.Concat(originals, list) {
				if uid := object.UID(info); uid != "" {
					t.Errorf("%s has changed", info.Name)
				}
			}
			for _, info := range list {
				if uid := object.UID(applied.States.Of(info)); uid != "uid" {
					t.Errorf("the state of %s has the UID %q", info.Name, uid)
				}
			}
		})
	}
	if len(api.Calls()) != 0 {
		t.Errorf("requests %q", api.Requests())
	}
}
