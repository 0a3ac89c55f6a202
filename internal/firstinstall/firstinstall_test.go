// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package firstinstall

import (
	"context"
	"errors"
	"testing"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/history/historytest"
	"github.com/ordered-helm/helm/internal/object"
)

func TestNeverDeployed(t *testing.T) {
	revision := historytest.Revision
	for name, tt := range map[string]struct {
		history []*release.Release
		want    bool
	}{
		"no revision":                   {},
		"failed":                        {history: []*release.Release{revision(1, release.StatusFailed)}, want: true},
		"interrupted":                   {history: []*release.Release{revision(1, release.StatusPendingInstall)}, want: true},
		"failed twice":                  {history: []*release.Release{revision(2, release.StatusFailed), revision(1, release.StatusFailed)}, want: true},
		"deployed":                      {history: []*release.Release{revision(1, release.StatusDeployed)}},
		"deployed, then failed":         {history: []*release.Release{revision(1, release.StatusDeployed), revision(2, release.StatusFailed)}},
		"superseded, then failed":       {history: []*release.Release{revision(1, release.StatusSuperseded), revision(2, release.StatusFailed)}},
		"uninstalled, then failed":      {history: []*release.Release{revision(1, release.StatusSuperseded), revision(2, release.StatusUninstalled), revision(3, release.StatusFailed)}, want: true},
		"first revisions not available": {history: []*release.Release{revision(3, release.StatusFailed), revision(4, release.StatusFailed)}},
	} {
		if got := NeverDeployed(tt.history); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

// fakeCluster contains Secrets, by name.
type fakeCluster struct {
	live map[string]map[string]any
	err  error
}

func (c *fakeCluster) BuildReferences(objects []map[string]any, _ string) (kube.ResourceList, error) {
	var list kube.ResourceList
	for _, content := range objects {
		list.Append(&object.Info{Name: field.String(content, "metadata", "name")})
	}
	return list, nil
}

func (c *fakeCluster) Live(_ context.Context, list kube.ResourceList) (map[*object.Info]*unstructured.Unstructured, error) {
	live := map[*object.Info]*unstructured.Unstructured{}
	for _, info := range list {
		if content := c.live[info.Name]; content != nil {
			live[info] = &unstructured.Unstructured{Object: content}
		}
	}
	return live, c.err
}

func TestChangedSecret(t *testing.T) {
	secret := func(name string, data, stringData map[string]any) map[string]any {
		return map[string]any{"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name}, "data": data, "stringData": stringData}
	}
	type values = map[string]any
	live := map[string]map[string]any{"a": secret("a", values{"password": "b2xk"}, nil)} // "old"
	for name, tt := range map[string]struct {
		objects []map[string]any
		want    string
	}{
		"no Secret":                 {objects: []map[string]any{{"apiVersion": "v1", "kind": "ConfigMap"}}},
		"does not exist":            {objects: []map[string]any{secret("b", values{"password": "bmV3"}, nil)}},
		"same value":                {objects: []map[string]any{secret("a", values{"password": "b2xk"}, nil)}},
		"same value, as text":       {objects: []map[string]any{secret("a", nil, values{"password": "old"})}},
		"other value":               {objects: []map[string]any{secret("b", nil, nil), secret("a", values{"password": "bmV3"}, nil)}, want: "a"},
		"other value, as text":      {objects: []map[string]any{secret("a", nil, values{"password": "new"})}, want: "a"},
		"text takes precedence":     {objects: []map[string]any{secret("a", values{"password": "b2xk"}, values{"password": "new"})}, want: "a"},
		"another key":               {objects: []map[string]any{secret("a", values{"user": "bmV3"}, nil)}},
		"of another kind of Secret": {objects: []map[string]any{{"apiVersion": "example.com/v1", "kind": "Secret", "metadata": values{"name": "a"}, "data": values{"password": "bmV3"}}}},
	} {
		if got, err := ChangedSecret(t.Context(), &fakeCluster{live: live}, tt.objects, "shop"); err != nil || got != tt.want {
			t.Errorf("%s: %q (%v), want %q", name, got, err, tt.want)
		}
	}
	forbidden := errors.New("forbidden")
	if _, err := ChangedSecret(t.Context(), &fakeCluster{err: forbidden}, []map[string]any{secret("a", nil, nil)}, "shop"); !errors.Is(err, forbidden) {
		t.Errorf("the error is %v", err)
	}
}
