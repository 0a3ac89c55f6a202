// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releaseapplication

import (
	"encoding/json"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/releaseapi"
)

const applicationManifest = "apiVersion: app.k8s.io/v1beta1\nkind: Application\nmetadata: {name: shop}\n"

func TestDeclared(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		manifest, hook string
		want           bool
	}{
		"no Application":        {manifest: "kind: ConfigMap\nmetadata: {name: shop}\n"},
		"a resource":            {manifest: "kind: ConfigMap\n---\n" + applicationManifest, want: true},
		"a hook":                {hook: applicationManifest, want: true},
		"JSON":                  {manifest: `{"apiVersion":"app.k8s.io/v1beta1","kind":"Application","metadata":{"name":"shop"}}`, want: true},
		"its namespace":         {manifest: "apiVersion: app.k8s.io/v1beta1\nkind: Application\nmetadata: {name: shop, namespace: here}\n", want: true},
		"another namespace":     {manifest: "apiVersion: app.k8s.io/v1beta1\nkind: Application\nmetadata: {name: shop, namespace: there}\n"},
		"another name":          {manifest: "apiVersion: app.k8s.io/v1beta1\nkind: Application\nmetadata: {name: other}\n"},
		"of another API group":  {manifest: "apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata: {name: shop, annotations: {a: app.k8s.io}}\n"},
		"text in other objects": {manifest: "kind: ConfigMap\nmetadata: {name: shop}\ndata:\n  a: |\n    apiVersion: app.k8s.io/v1beta1\n    kind: Application\n"},
		"not YAML":              {manifest: "app.k8s.io: {"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rel := &release.Release{Name: "shop", Namespace: "here", Manifest: tt.manifest, Hooks: []*release.Hook{{Manifest: tt.hook}}}
			if got := declared(rel) != nil; got != tt.want {
				t.Errorf("declared: %t, want %t", got, tt.want)
			}
		})
	}
}

func TestSpec(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rel  release.Release
		want string
	}{
		"nothing known": {want: `{"componentKinds":[],"descriptor":{"description":null,"type":null,"version":null}}`},
		"version of the chart": {
			rel:  release.Release{Chart: &chart.Chart{Metadata: &chart.Metadata{Name: "shop", Version: "0.1.0"}}},
			want: `{"componentKinds":[],"descriptor":{"description":null,"type":"shop","version":"0.1.0"}}`,
		},
		"long description": {
			rel:  release.Release{Chart: &chart.Chart{Metadata: &chart.Metadata{Name: "shop", AppVersion: "1", Description: strings.Repeat("é", 2000)}}},
			want: `{"componentKinds":[],"descriptor":{"description":"` + strings.Repeat("é", 1024) + `","type":"shop","version":"1"}}`,
		},
		"kinds": {
			rel: release.Release{Manifest: "apiVersion: v1\nkind: Service\n---\n# only a comment\n---\napiVersion: 'apps/v1'\nkind: \"Deployment\"\n---\n" +
				"apiVersion: v1\nkind: Service\nspec: {a: |\n kind: no}\n---\n{\"apiVersion\": \"batch/v1\", \"kind\": \"Job\"}\n---\nkind: {\n"},
			want: `{"componentKinds":[{"group":"apps","kind":"Deployment"},{"group":"batch","kind":"Job"},{"group":"","kind":"Service"}],"descriptor":{"description":null,"type":null,"version":null}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(spec(&tt.rel))
			if err != nil || string(got) != tt.want {
				t.Errorf("%s, %v, want %s", got, err, tt.want)
			}
		})
	}
}

func TestSetOwner(t *testing.T) {
	t.Parallel()
	other := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "shop", UID: "c"}
	before := metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: "shop", UID: "a"}
	after := metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: "shop", UID: "b"}
	for name, tt := range map[string]struct {
		owners      []metav1.OwnerReference
		application *metav1.OwnerReference
		manifest    string
		want        string
	}{
		"first":                             {owners: []metav1.OwnerReference{other}, application: &after, want: "cb"},
		"another one":                       {owners: []metav1.OwnerReference{before, other}, application: &after, want: "cb"},
		"no change":                         {owners: []metav1.OwnerReference{before, other}, want: "ac"},
		"none":                              {want: ""},
		"the release contains one from now": {owners: []metav1.OwnerReference{before, other}, manifest: applicationManifest, want: "c"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := releaseapi.NewRelease("here", "shop")
			parent.OwnerReferences = tt.owners
			SetOwner(parent, tt.application, &release.Release{Name: "shop", Namespace: "here", Manifest: tt.manifest})
			got := ""
			for _, r := range parent.OwnerReferences {
				got += string(r.UID)
			}
			if got != tt.want {
				t.Errorf("the owners are %q, want %q", got, tt.want)
			}
		})
	}
}
