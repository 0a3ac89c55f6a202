// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/postrender"

	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/testutil/chartgen"
)

// shapes are different ways to write metadata in a template. A marker must be added and
// removed without leaving any change.
var shapes = tree{
	"Chart.yaml": chartYAML("shop", ""),
	"templates/all.yaml": strings.Join([]string{
		"kind: A\nmetadata:\n  name: none",
		"kind: A\nmetadata:\n  # comment\n\n  name: comment # two\n  labels: {a: b}",
		"kind: A\nmetadata:\n  annotations:\n    a: b # c\n  name: block",
		"kind: A\nmetadata:\n  name: null-value\n  annotations:\n  labels: {}",
		"kind: A\nmetadata:\n  name: null-comment\n  annotations:   # nothing",
		"kind: A\nmetadata:\n  name: null-word\n  annotations: null # x",
		"kind: A\nmetadata:\n  name: null-tilde\n  annotations: ~",
		"kind: A\nmetadata:\n  name: empty\n  annotations: {}",
		"kind: A\nmetadata:\n  name: empty-space\n  annotations: {  } # x",
		"kind: A\nmetadata: {name: flow,   labels: {a: b}}",
		"kind: A\nmetadata: { annotations: { a: b }, name: flow-annotations }",
		`{"kind": "A", "metadata": {"name": "json"}}`,
		`{"kind": "A", "metadata": {"name": "json-null", "annotations": null}}`,
		"{\n  \"kind\": \"A\",\n  \"metadata\": {\n    \"annotations\": {\n      \"a\": \"b\"\n    },\n    \"name\": \"json-lines\"\n  }\n}",
		"kind: List\nitems:\n- kind: A\n  metadata: {name: l1}\n-   kind: A\n    metadata:\n        name: l2",
		"kind: List\nitems:\n- kind: A\n  metadata: {name: s1, annotations: &s {a: b}}\n- kind: A\n  metadata: {name: s2, annotations: *s}",
		"kind: List\nitems:\n- kind: A\n  metadata: &m {name: same}\n- kind: B\n  metadata: *m",
		"kind: A\nmetadata:\n  name: 'merged'\n  annotations:\n    <<: {a: b}",
	}, "\n---\n") + "\n",
	"templates/crlf.yaml":           "kind: A\r\nmetadata:\r\n  name: crlf\r\n  labels:\r\n    a: b\r\n",
	"templates/deep.yaml":           "kind: A\nmetadata:\n            name: far-in\n",
	"charts/sub/Chart.yaml":         chartYAML("sub", ""),
	"charts/sub/templates/all.yaml": "kind: A\nmetadata:\n  name: of-sub\n---\n---\nkind: A\nmetadata:\n  name: of-sub-too\n  annotations:\n",
}

func postRendered(t *testing.T, files tree, post postrender.PostRenderer) (*prepared, *render.Result) {
	t.Helper()
	p := prepare(t, files)
	p.options.PostRenderer, p.options.Root = post, p.root
	r, err := p.render()
	if err != nil {
		t.Fatal(err)
	}
	return p, r
}

// TestCatIsAsIfNone checks that the result with a post-renderer that changes nothing is,
// byte for byte, the result without a post-renderer, with the same charts.
func TestCatIsAsIfNone(t *testing.T) {
	charts := []tree{shapes}
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		files := tree{}
		for _, f := range chartgen.Random(r).Files(r) {
			files[f.Name] = string(f.Data)
		}
		charts = append(charts, files)
	}
	for i, files := range charts {
		want := rendered(t, files)
		p, got := postRendered(t, files, chartgen.Cat{})
		if got.Manifest != want.Manifest {
			t.Errorf("chart %d: got:\n%s\nwant:\n%s", i, got.Manifest, want.Manifest)
		}
		fromSource, err := render.Resources(want.Manifest, nil, p.root, false)
		if err != nil {
			t.Fatal(err)
		}
		fromMarker, err := render.Resources(got.Manifest, got.Charts, p.root, false)
		if err != nil {
			t.Fatal(err)
		}
		for j := range fromSource {
			if fromSource[j].Chart != fromMarker[j].Chart {
				t.Errorf("chart %d: %s: %q by its Source, %q by its marker", i, objectName(fromSource[j].Object), fromSource[j].Chart, fromMarker[j].Chart)
			}
		}
	}
}

func objectName(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	return name
}

// TestChartsSurviveAnyPostRenderer checks that the chart of each document is still known
// after post-renderers that drop comments, reorder documents or add a document.
func TestChartsSurviveAnyPostRenderer(t *testing.T) {
	for name, post := range map[string]chartgen.PostRenderer{
		"drops comments": chartgen.DropComments, "writes JSON": chartgen.ToJSON, "reorders": chartgen.Reverse, "adds": chartgen.AddDocument,
	} {
		t.Run(name, func(t *testing.T) {
			p, r := postRendered(t, shapes, post)
			if strings.Contains(r.Manifest, "ordered.helm.sh") {
				t.Errorf("a marker is left:\n%s", r.Manifest)
			}
			resources, err := render.Resources(r.Manifest, r.Charts, p.root, false)
			if err != nil {
				t.Fatal(err)
			}
			if want := 22 + strings.Count(name, "adds"); len(resources) != want {
				t.Errorf("%d resources, want %d", len(resources), want)
			}
			for _, res := range resources {
				want := "shop"
				if strings.HasPrefix(objectName(res.Object), "of-sub") {
					want = "shop/sub"
				}
				if res.Chart != want || res.File != "(no Source comment)" {
					t.Errorf("%s: chart %q, file %q", objectName(res.Object), res.Chart, res.File)
				}
			}
		})
	}
}

// TestMarkersLeaveObjectsAsTheyWere compares the results of post-renderers with and without
// markers.
func TestMarkersLeaveObjectsAsTheyWere(t *testing.T) {
	for _, post := range []chartgen.PostRenderer{chartgen.DropComments, chartgen.ToJSON} {
		unmarked := prepare(t, shapes)
		unmarked.options.PostRenderer = post
		want, err := unmarked.render()
		if err != nil {
			t.Fatal(err)
		}
		p, got := postRendered(t, shapes, post)
		a, err := render.Resources(want.Manifest, nil, p.root, false)
		if err != nil {
			t.Fatal(err)
		}
		b, err := render.Resources(got.Manifest, nil, p.root, false)
		if err != nil {
			t.Fatal(err)
		}
		for i := range a {
			wantText, err := chartgen.ToJSON([]string{text(t, a[i].Object)})
			if err != nil {
				t.Fatal(err)
			}
			gotText, err := chartgen.ToJSON([]string{text(t, b[i].Object)})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(gotText, wantText) {
				t.Errorf("got %s, want %s", gotText, wantText)
			}
		}
	}
}

// TestDocumentsWithoutAMarkerBelongToTheRoot checks documents that a post-renderer adds, or
// whose annotations it removes.
func TestDocumentsWithoutAMarkerBelongToTheRoot(t *testing.T) {
	files := tree{
		"charts/sub/Chart.yaml":       chartYAML("sub", ""),
		"charts/sub/templates/a.yaml": "kind: A\nmetadata: {name: kept}\n---\nkind: A\nmetadata: {name: bare}\n",
	}
	p, r := postRendered(t, files, chartgen.PostRenderer(func(docs []string) ([]string, error) {
		return []string{chartgen.AddedDocument, docs[0], "# only a comment", "kind: A\nmetadata: {name: bare}", "kind: A\nmetadata: {name: foreign, annotations: {ordered.helm.sh/chart: ''}}"}, nil
	}))
	resources, err := render.Resources(r.Manifest, r.Charts, p.root, false)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, res := range resources {
		got[objectName(res.Object)] = res.Chart
	}
	for name, want := range map[string]string{"added": "shop", "kept": "shop/sub", "bare": "shop", "foreign": "shop"} {
		if got[name] != want {
			t.Errorf("%s: chart %q, want %q", name, got[name], want)
		}
	}
}

// TestPostRendererSeesCanonicalFormAndNoHooks checks what the reference promises about the
// input of a post-renderer.
func TestPostRendererSeesCanonicalFormAndNoHooks(t *testing.T) {
	var seen string
	_, r := postRendered(t, template(job("        helm.sh/depends-on/layers: [a]")+"\n---\n"+job("        helm.sh/hook: pre-install")),
		chartgen.PostRenderer(func(docs []string) ([]string, error) {
			seen = strings.Join(docs, "\n---\n")
			return docs, nil
		}))
	if !strings.Contains(seen, `depends-on.helm.sh/layers: '["a"]'`) || strings.Contains(seen, "helm.sh/hook") {
		t.Errorf("it was given:\n%s", seen)
	}
	if len(r.Hooks) != 1 {
		t.Errorf("hooks %v", r.Hooks)
	}
}

// TestPostRendererWithoutAnOrder checks that the input of a post-renderer has no markers in
// an operation without an order.
func TestPostRendererWithoutAnOrder(t *testing.T) {
	p := prepare(t, shapes)
	p.options.PostRenderer = chartgen.PostRenderer(func(docs []string) ([]string, error) {
		if strings.Contains(strings.Join(docs, ""), "ordered.helm.sh") {
			return nil, errors.New("there is a marker")
		}
		return docs, nil
	})
	r, err := p.render()
	if err != nil || r.Charts != nil {
		t.Errorf("got %v, %v", r.Charts, err)
	}
}

// TestPostRendererThatMergesCharts uses a post-renderer that puts objects of two charts
// into one document.
func TestPostRendererThatMergesCharts(t *testing.T) {
	p := prepare(t, tree{
		"templates/a.yaml":            "kind: A\nmetadata: {name: a}\n",
		"charts/sub/Chart.yaml":       chartYAML("sub", ""),
		"charts/sub/templates/b.yaml": "kind: B\nmetadata: {name: b}\n",
	})
	p.options.Root = p.root
	p.options.PostRenderer = chartgen.PostRenderer(func(docs []string) ([]string, error) {
		docs, err := chartgen.ToJSON(docs)
		return []string{`{"kind": "List", "items": [` + strings.Join(docs, ", ") + "]}"}, err
	})
	if _, err := p.render(); err == nil || !strings.Contains(err.Error(), "the post-renderer combined objects of charts shop and shop/sub into one document") {
		t.Errorf("got %v", err)
	}
}

type failing struct{ out string }

func (f failing) Run(*bytes.Buffer) (*bytes.Buffer, error) {
	if f.out != "" {
		return bytes.NewBufferString(f.out), nil
	}
	return nil, errors.New("no such program")
}

func TestPostRendererThatFails(t *testing.T) {
	for want, post := range map[string]failing{
		"error while running post render on files: no such program": {},
		"read what the post-renderer returned: yaml: ":              {"a: [ordered.helm.sh/chart"},
	} {
		p := prepare(t, shapes)
		p.options.PostRenderer, p.options.Root = post, p.root
		if _, err := p.render(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestHiddenSecretsStayHiddenFromThePostRenderer checks that a post-renderer gets no
// contents of Secrets if HideSecret is set, with and without markers.
func TestHiddenSecretsStayHiddenFromThePostRenderer(t *testing.T) {
	files := template("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter2}\n---\nkind: A\nmetadata: {name: a}\n")
	for _, ordered := range []bool{true, false} {
		p := prepare(t, files)
		p.options.HideSecret = true
		if ordered {
			p.options.Root = p.root
		}
		p.options.PostRenderer = chartgen.PostRenderer(func(docs []string) ([]string, error) {
			if strings.Contains(strings.Join(docs, ""), "hunter2") {
				t.Error("the post-renderer is given the secret")
			}
			return docs, nil
		})
		r, err := p.render()
		if err != nil || strings.Contains(r.Manifest, "hunter2") {
			t.Errorf("got %v:\n%s", err, r.Manifest)
		}
	}
}
