// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"io"
	"log"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/testutil/chartgen"
)

// manifests returns the seed corpus of the fuzz targets.
func manifests() []string {
	return []string{
		shapes["templates/all.yaml"], shapes["templates/crlf.yaml"],
		job("        helm.sh/depends-on/layers: [a]\n        helm.sh/layer: b"), job("        helm.sh/hook: pre-install\n        helm.sh/readiness-success: ['{.a} == 1']"),
		"kind: List\nitems:\n- kind: A\n  metadata: {name: a, annotations: &a {helm.sh/depends-on/layers: [x]}}\n- kind: A\n  metadata: {name: b, annotations: *a}\n",
		"kind: A\nmetadata: {name: a, annotations: {<<: [{helm.sh/depends-on/layers: [x]}], depends-on.helm.sh/layers: '[\"y\"]'}}\n",
		"--- # c\nkind: A\n---\n\n--- \n# helm.sh/layer\n---\nkind: B\nmetadata: {name: |\n  x}", "# Source: other/file.yaml\nkind: A\n", "kind: A\nmetadata:\n  name: a\n  annotations:\n    helm.sh/layer: |+\n      a\n\n",
	}
}

// FuzzCanonicalForm renders any text as a template. It checks that converting the canonical
// form once more changes nothing, and that adding the markers for a post-renderer and
// removing them changes nothing.
func FuzzCanonicalForm(f *testing.F) {
	for _, text := range manifests() {
		f.Add(text)
	}
	p := prepare(f, inFiles(map[string]string{"x": ""}))
	log.SetOutput(io.Discard)
	f.Cleanup(func() { log.SetOutput(os.Stderr) })
	f.Fuzz(func(t *testing.T, text string) {
		p.chart.Templates[0].Data = []byte(literalTemplate(text))
		p.options.PostRenderer, p.options.Root = nil, nil
		r, err := p.render()
		if err != nil {
			return
		}
		for _, file := range r.Files {
			if strings.Contains(file.Content, "---") {
				continue // Helm treats it as more than one document
			}
			p.chart.Templates[0].Data = []byte(literalTemplate(file.Content))
			again, err := p.render()
			if err != nil || len(again.Files) == 1 && again.Files[0].Content != file.Content {
				t.Fatalf("the legal form %q has another: %+v, %v", file.Content, again.Files, err)
			}
		}
		if _, err := render.Resources(r.Manifest, nil, p.root, false); err != nil {
			return
		}
		p.chart.Templates[0].Data = []byte(literalTemplate(text))
		p.options.PostRenderer, p.options.Root = chartgen.Cat{}, p.root
		if marked, err := p.render(); err == nil && marked.Manifest != r.Manifest {
			t.Fatalf("a post-renderer that changes nothing makes %q of %q", marked.Manifest, r.Manifest)
		}
	})
}

// FuzzDocuments splits any manifest, such as that of a stored release. It checks that no
// text is lost, and that the chart of every document exists.
func FuzzDocuments(f *testing.F) {
	for _, text := range manifests() {
		f.Add("# Source: shop/templates/x.yaml\n" + text)
	}
	f.Add("---\n# Source: shop/charts/sub/templates/a.yaml\nkind: A\n---\n# Source: shop/charts/../x\nkind: B\n---\n# Source: shop/crds/c.yaml\n[")
	root := prepare(f, shapes).root
	f.Fuzz(func(t *testing.T, manifest string) {
		docs, err := render.Documents(manifest, nil, root, true)
		if err != nil {
			return
		}
		rest := manifest
		for _, d := range docs {
			var found bool
			if _, rest, found = strings.Cut(rest, d.Text); !found {
				t.Fatalf("%q is not in %q at its place", d.Text, manifest)
			}
			if !slices.Contains([]string{"shop", "shop/sub"}, d.Resource.Chart) {
				t.Fatalf("%q is of chart %q", d.Text, d.Resource.Chart)
			}
		}
	})
}
