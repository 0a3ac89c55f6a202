// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package rendering_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/lint/rendering"
)

// parts are documents of templates that can be combined in any way: they are valid in several places.
var parts = []string{
	"# a comment\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a} # keep\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, annotations: {helm.sh/depends-on/layers: [x]}}\n",
	"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ .Release.Namespace }}\n", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {helm.sh/hook: pre-install}}\n",
	"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n",
}

// render renders random templates with a handler of post-render.
func render(t *testing.T, templates []*chart.File, handle func(m *lifecycle.Manifest)) *rendering.Rendering {
	t.Helper()
	o := rendering.Options{Namespace: "ns"}
	if handle != nil {
		o.Handlers.Emitter = &lifecycle.Emitter{}
		if err := o.Handlers.Emitter.On(lifecycle.PostRender, 0, func(_ context.Context, r *lifecycle.Request) error {
			handle(r.Manifest)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	r, err := rendering.Render(t.Context(), &chart.Chart{Metadata: &chart.Metadata{Name: "shop"}, Templates: templates}, o)
	if err != nil || r.Failure != nil {
		t.Fatal(err, r)
	}
	return r
}

// TestChangedDocuments checks, for random templates, that documents that no handler changes keep their place and
// every byte, and that the others are changed and removed in their place.
func TestChangedDocuments(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // not for security
	for range 300 {
		var templates []*chart.File
		for n := range 1 + random.IntN(3) {
			var text strings.Builder
			for range random.IntN(5) {
				text.WriteString("---\n" + parts[random.IntN(len(parts))])
			}
			templates = append(templates, &chart.File{Name: fmt.Sprintf("templates/%d.yaml", n), Data: []byte(text.String())})
		}
		want := render(t, templates, nil).Documents
		if got := render(t, templates, func(*lifecycle.Manifest) {}).Documents; !slices.Equal(got, want) {
			t.Fatalf("nothing was changed, but got\n%+v\nwant\n%+v", got, want)
		}

		// All resources that are called b are changed, and all namespaces removed.
		want = slices.DeleteFunc(want, func(d rendering.Document) bool { return strings.Contains(d.Text, "kind: Namespace") })
		isB := func(d rendering.Document) bool { return strings.Contains(d.Text, "name: b,") }
		if slices.IndexFunc(want, isB) != -1 && len(slices.DeleteFunc(slices.Clone(want), func(d rendering.Document) bool { return !isB(d) })) > 1 {
			continue // a handler must not change one of two documents that define the same object
		}
		got := render(t, templates, func(m *lifecycle.Manifest) {
			m.Documents = slices.DeleteFunc(m.Documents, func(d *lifecycle.Document) bool {
				object, _ := d.Object()
				return object["kind"] == "Namespace"
			})
			for _, d := range m.Documents {
				if object, _ := d.Object(); strings.Contains(fmt.Sprint(object["metadata"]), "name:b") {
					d.SetObject(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "b"}})
				}
			}
			m.Documents = append(m.Documents, lifecycle.NewDocument("", "apiVersion: v1\nkind: Service\nmetadata: {name: added}\n"))
		}).Documents
		for i, d := range want {
			if isB(d) {
				want[i].Text = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n"
			}
		}
		want = append(want, rendering.Document{Source: "shop/ext/added.yaml", Index: -1, Text: "apiVersion: v1\nkind: Service\nmetadata: {name: added}\n"})
		if !slices.Equal(got, want) {
			t.Fatalf("got\n%+v\nwant\n%+v", got, want)
		}
	}
}
