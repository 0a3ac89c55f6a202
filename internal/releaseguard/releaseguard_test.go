// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaseguard

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/object"
)

// fakeReader is a cluster.Reader with Releases.
type fakeReader struct {
	cluster.Reader
	releases []types.NamespacedName
	err      error
	// keeps says whether all objects have the annotation that keeps them.
	keeps bool
	// requests counts the requests.
	requests int
}

func (r *fakeReader) Releases(context.Context, int64) ([]types.NamespacedName, error) {
	r.requests++
	return r.releases, r.err
}

func (r *fakeReader) Live(_ context.Context, list kube.ResourceList) (map[*object.Info]*unstructured.Unstructured, error) {
	r.requests++
	live := map[*object.Info]*unstructured.Unstructured{}
	for _, info := range list {
		live[info] = &unstructured.Unstructured{Object: content("CustomResourceDefinition", info.Name, r.keeps)}
	}
	return live, nil
}

func content(kind, name string, keeps bool) map[string]any {
	metadata := map[string]any{"name": name}
	if keeps {
		metadata["annotations"] = map[string]any{kube.ResourcePolicyAnno: kube.KeepPolicy}
	}
	return map[string]any{"apiVersion": "apiextensions.k8s.io/v1", "kind": kind, "metadata": metadata}
}

func info(name string) *object.Info {
	gvk := schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"}
	return &object.Info{Name: name, Mapping: &meta.RESTMapping{GroupVersionKind: gvk}}
}

var (
	shop = types.NamespacedName{Namespace: "shops", Name: "shop"}
	own  = types.NamespacedName{Namespace: "helm", Name: "state"}
)

func TestCheckUninstall(t *testing.T) {
	definition, kept := content("CustomResourceDefinition", "releases.helm.sh", false), content("CustomResourceDefinition", "releases.helm.sh", true)
	for _, tt := range []struct {
		name     string
		objects  []map[string]any
		reader   fakeReader
		refused  bool
		requests int
	}{
		{"no definitions", []map[string]any{content("CustomResourceDefinition", "charts.helm.sh", false), {}}, fakeReader{releases: []types.NamespacedName{shop}}, false, 0},
		{"no releases", []map[string]any{definition}, fakeReader{}, false, 1},
		{"release", []map[string]any{definition, definition}, fakeReader{releases: []types.NamespacedName{shop}}, true, 1},
		{"kept definitions", []map[string]any{kept}, fakeReader{releases: []types.NamespacedName{own, shop}}, true, 1},
		{"own release", []map[string]any{definition, kept}, fakeReader{releases: []types.NamespacedName{own}}, true, 1},
		{"own release, kept definitions", []map[string]any{kept}, fakeReader{releases: []types.NamespacedName{own}}, false, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckUninstall(t.Context(), &tt.reader, object.OwningRelease{Name: own.Name, Namespace: own.Namespace}, tt.objects)
			expect(t, err, tt.refused)
			if tt.reader.requests != tt.requests {
				t.Errorf("%d requests, want %d", tt.reader.requests, tt.requests)
			}
		})
	}
}

func TestCheckDeletion(t *testing.T) {
	for _, tt := range []struct {
		name     string
		list     kube.ResourceList
		reader   fakeReader
		refused  bool
		requests int
	}{
		{"no definitions", kube.ResourceList{info("charts.helm.sh")}, fakeReader{releases: []types.NamespacedName{shop}}, false, 0},
		{"no releases", kube.ResourceList{info("releases.helm.sh")}, fakeReader{}, false, 2},
		{"release", kube.ResourceList{info("releaseversions.helm.sh"), info("releases.helm.sh")}, fakeReader{releases: []types.NamespacedName{shop}}, true, 2},
		{"kept definitions", kube.ResourceList{info("releases.helm.sh")}, fakeReader{releases: []types.NamespacedName{shop}, keeps: true}, false, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			expect(t, CheckDeletion(t.Context(), &tt.reader, tt.list), tt.refused)
			if tt.reader.requests != tt.requests {
				t.Errorf("%d requests, want %d", tt.reader.requests, tt.requests)
			}
		})
	}
}

func expect(t *testing.T, err error, refused bool) {
	t.Helper()
	inUse, is := errors.AsType[*InUseError](err)
	if is != refused || (err != nil) != refused {
		t.Fatalf("got %v, want refused %v", err, refused)
	}
	if is && !strings.Contains(inUse.Error(), inUse.Release) {
		t.Errorf("%v does not name the release", err)
	}
}

func TestReleasesUnknown(t *testing.T) {
	cause := errors.New("forbidden")
	err := CheckUninstall(t.Context(), &fakeReader{err: cause}, object.OwningRelease{}, []map[string]any{content("CustomResourceDefinition", "releases.helm.sh", true)})
	if !errors.Is(err, cause) || !strings.Contains(fmt.Sprint(err), "is unknown") {
		t.Errorf("got %v", err)
	}
}

func TestWithoutDefinitions(t *testing.T) {
	list := kube.ResourceList{info("releases.helm.sh"), info("charts.helm.sh")}
	if got := WithoutDefinitions(list); len(got) != 1 || got[0] != list[1] || len(list) != 2 {
		t.Errorf("got %v of %v", got, list)
	}
}
