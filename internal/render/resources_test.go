// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"bufio"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	kubeyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// asKubernetesReads parses a stream with the parser of Kubernetes clients.
func asKubernetesReads(t *testing.T, stream string) []map[string]any {
	t.Helper()
	var objects []map[string]any
	reader := kubeyaml.NewYAMLReader(bufio.NewReader(strings.NewReader(stream)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		var object map[string]any
		if err := yaml.Unmarshal(doc, &object); err != nil {
			t.Fatal(err)
		}
		if len(object) > 0 {
			objects = append(objects, object)
		}
	}
}

// blocks returns documents that end with YAML block scalars, written in different ways.
func blocks() map[string]string {
	return map[string]string{
		"kept": "|\n    hello\n", "stripped": "|-\n    hello\n", "all kept": "|+\n    hello\n\n\n",
		"folded": ">\n    hello\n    again\n", "folded, all kept": ">+\n    hello\n\n", "unfinished": "|\n    hello",
		"unfinished, all kept": "|+\n    hello", "in quotes": "\"hello\\n\"\n",
	}
}

// TestBlocksAtTheEnd checks that a block scalar at the end of a document has the same value
// as in Kubernetes clients, wherever the document is in the stream.
func TestBlocksAtTheEnd(t *testing.T) {
	const head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  f: "
	for name, block := range blocks() {
		for where, stream := range map[string]string{
			"alone":      head + block,
			"first":      "---\n" + head + block + "\n---\n" + head + "x\n",
			"last":       "# Source: shop/templates/a.yaml\n" + head + "x\n---\n# Source: shop/templates/b.yaml\n" + head + block,
			"in a list":  "kind: List\napiVersion: v1\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  data:\n   f: " + block,
			"with space": head + block + "\n\n\n---\n\n\n" + head + "x",
		} {
			t.Run(name+", "+where, func(t *testing.T) {
				resources, err := render.Resources(stream, nil, &sequencer.Chart{Name: "shop"}, false)
				if err != nil {
					t.Fatal(err)
				}
				var got []map[string]any
				for _, r := range resources {
					got = append(got, r.Object)
				}
				if want := asKubernetesReads(t, stream); !reflect.DeepEqual(got, want) {
					t.Errorf("of %q, got %v, want %v", stream, got, want)
				}
			})
		}
	}
}

// TestCanonicalFormKeepsBlocksAtTheEnd checks that converting the annotations of a document
// does not change a block scalar at its end.
func TestCanonicalFormKeepsBlocksAtTheEnd(t *testing.T) {
	const annotation = "annotations: {helm.sh/depends-on/layers: [b, c]}"
	for name, block := range blocks() {
		for where, text := range map[string]string{
			"alone":     "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, " + annotation + "}\ndata:\n  f: " + block,
			"in a list": "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a, " + annotation + "}\n  data:\n   f: " + block,
		} {
			t.Run(name+", "+where, func(t *testing.T) {
				rendered := func(text string) []map[string]any {
					p := prepareChart(t, &chart.Chart{
						Metadata:  &chart.Metadata{APIVersion: "v2", Name: "shop", Version: "1.0.0"},
						Templates: []*chart.File{{Name: "templates/a.yaml", Data: []byte(text)}},
					})
					r, err := p.render()
					if err != nil {
						t.Fatal(err)
					}
					return asKubernetesReads(t, r.Manifest)
				}
				got, want := rendered(text), rendered(strings.Replace(text, annotation, `annotations: {depends-on.helm.sh/layers: '["b","c"]'}`, 1))
				if !reflect.DeepEqual(got, want) {
					t.Errorf("got %v, want %v", got, want)
				}
			})
		}
	}
}

// TestContents checks that the contents of Secrets are complete, although Secrets are hidden in the
// manifest, and although large numbers lose digits when documents are parsed for other purposes.
func TestContents(t *testing.T) {
	const (
		config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\n"
		secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hidden-one, number: 9876543210987654321}\n"
		list   = "apiVersion: v1\nkind: List\nitems: [{apiVersion: v1, kind: Secret, metadata: {name: l}, stringData: {a: hidden-two}}]\n"
		hook   = "apiVersion: v1\nkind: Secret\nmetadata: {name: h, annotations: {helm.sh/hook: pre-install}}\nstringData: {a: hidden-three}\n"
	)
	p := prepare(t, tree{
		"templates/x.yaml": strings.Join([]string{config, secret, list, hook}, "---\n"),
		"crds/x.yaml":      "kind: CustomResourceDefinition\nmetadata: {name: crd}\n",
	})
	p.options.HideSecret, p.options.IncludeCRDs = true, true
	p.options.ChangeManifest = func(*lifecycle.Manifest) error { return nil }
	r, err := p.render()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, object := range r.Contents() {
		names = append(names, field.String(object, "metadata", "name"))
	}
	if want := []string{"s", "config", "", "l", "h"}; !slices.Equal(names, want) {
		t.Errorf("the objects are %q, want %q", names, want)
	}
	values := redact.SecretValues(r.Contents())
	for _, want := range []string{"hidden-one", "9876543210987654321", "hidden-two", "hidden-three"} {
		if !slices.Contains(values, want) {
			t.Errorf("%q is not among the values of Secrets", want)
		}
	}
}
