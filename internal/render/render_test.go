// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/releaseutil"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/graphview"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/chartgen"
)

func text(t *testing.T, object map[string]any) string {
	t.Helper()
	b, err := yaml.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestRender checks the form of a result: hooks are separate, and other resources are in
// Helm's install order, each with its source.
func TestRender(t *testing.T) {
	r := rendered(t, tree{
		"templates/b.yaml":       "kind: Deployment\nmetadata: {name: '{{ .Release.Name }}'}\n---\nkind: Widget\nmetadata: {name: w}\n",
		"templates/a.yaml":       "kind: Secret\napiVersion: v1\nmetadata: {name: s}\n",
		"templates/empty.yaml":   "{{ if false }}x{{ end }}\n",
		"templates/_helpers.tpl": "{{ define \"x\" }}{{ end }}text",
		"templates/hook.yaml":    "kind: Job\nmetadata: {name: h, annotations: {helm.sh/hook: 'pre-install,post-install', helm.sh/hook-weight: '5'}}\n",
		"templates/NOTES.txt":    "hello {{ .Release.Name }}",
		"crds/c.yaml":            "kind: CustomResourceDefinition\n",
	})
	want := "---\n# Source: shop/templates/a.yaml\nkind: Secret\napiVersion: v1\nmetadata: {name: s}\n" +
		"---\n# Source: shop/templates/b.yaml\nkind: Deployment\nmetadata: {name: 'r'}\n" +
		"---\n# Source: shop/templates/b.yaml\nkind: Widget\nmetadata: {name: w}\n"
	if r.Manifest != want || r.Notes != "hello r" || r.Charts != nil {
		t.Errorf("manifest:\n%s\nnotes: %q, charts %v", r.Manifest, r.Notes, r.Charts)
	}
	if len(r.Hooks) != 1 || r.Hooks[0].Name != "h" || r.Hooks[0].Weight != 5 || len(r.Hooks[0].Events) != 2 {
		t.Errorf("hooks: %+v", r.Hooks)
	}
	if len(r.Files) != 3 || r.Files[0].Name != "shop/templates/a.yaml" || !r.Files[0].Secret || r.Files[1].Secret {
		t.Errorf("files: %+v", r.Files)
	}
	if empty := rendered(t, tree{}); empty.Manifest != "" || empty.Hooks == nil {
		t.Errorf("a chart of nothing: %+v", empty)
	}
}

// TestNotes checks that the notes are those of the root chart. With SubNotes, the notes of
// the other charts follow, by path.
func TestNotes(t *testing.T) {
	files := tree{
		"templates/NOTES.txt":                   "root",
		"templates/more/NOTES.txt":              "more",
		"charts/a/Chart.yaml":                   chartYAML("a", ""),
		"charts/a/templates/NOTES.txt":          "a",
		"charts/a/charts/z/Chart.yaml":          chartYAML("z", ""),
		"charts/a/charts/z/templates/NOTES.txt": "z",
		"charts/b/Chart.yaml":                   chartYAML("b", ""),
		"charts/b/templates/NOTES.txt":          "b",
	}
	for range 5 {
		p := prepare(t, files)
		r, err := p.render()
		if err != nil || r.Notes != "root" || r.Manifest != "" {
			t.Errorf("got %q, %v", r.Notes, err)
		}
		p.options.SubNotes = true
		if r, err = p.render(); err != nil || r.Notes != "root\nz\na\nb\nmore" {
			t.Errorf("got %q, %v", r.Notes, err)
		}
	}
}

func TestHideSecret(t *testing.T) {
	p := prepare(t, template("apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: hunter2}\n---\napiVersion: other/v1\nkind: Secret\nmetadata: {name: o}\n"))
	p.options.HideSecret = true
	r, err := p.render()
	want := stored("# HIDDEN: The Secret output has been suppressed", "apiVersion: other/v1\nkind: Secret\nmetadata: {name: o}")
	if err != nil || r.Manifest != want {
		t.Errorf("got %v:\n%s", err, r.Manifest)
	}
	if !strings.Contains(r.Files[0].Content, "hunter2") {
		t.Error("the documents themselves are changed")
	}
}

// TestDump checks that Chart returns all rendered text with the error if a document cannot
// be parsed.
func TestDump(t *testing.T) {
	for name, bad := range map[string]string{"no YAML": "a: b: c", "an annotation": "metadata: {annotations: {a: [b]}}"} {
		t.Run(name, func(t *testing.T) {
			r, err := prepare(t, tree{"templates/b.yaml": bad, "templates/a.yaml": "kind: A", "templates/empty.yaml": " \n"}).render()
			if err == nil || !strings.Contains(err.Error(), "YAML parse error on shop/templates/b.yaml") {
				t.Errorf("got %v", err)
			}
			if want := "---\n# Source: shop/templates/a.yaml\nkind: A\n---\n# Source: shop/templates/b.yaml\n" + bad + "\n"; r.Manifest != want {
				t.Errorf("got:\n%s\nwant:\n%s", r.Manifest, want)
			}
		})
	}
	t.Run("a template that fails leaves nothing", func(t *testing.T) {
		r, err := prepare(t, template("{{ fail \"why\" }}")).render()
		if err == nil || !strings.Contains(err.Error(), "why") || r.Manifest != "" {
			t.Errorf("got %v, %q", err, r.Manifest)
		}
	})
}

func TestKubeVersion(t *testing.T) {
	_, err := prepare(t, tree{"Chart.yaml": chartYAML("shop", "kubeVersion: '<1.0.0'\n")}).render()
	if err == nil || !strings.HasPrefix(err.Error(), "chart requires kubeVersion: <1.0.0 which is incompatible with Kubernetes v") {
		t.Errorf("got %v", err)
	}
}

// TestIncludeCRDs checks that CRDs come first, as in Helm. They are not part of the order.
func TestIncludeCRDs(t *testing.T) {
	p := prepare(t, tree{
		"crds/c.yaml":                            "kind: CustomResourceDefinition\nmetadata: {name: one}\n---\nkind: CustomResourceDefinition\nmetadata: {name: two}\n",
		"templates/x.yaml":                       "kind: A\nmetadata: {name: a}\n",
		"charts/sub/Chart.yaml":                  chartYAML("sub", ""),
		"charts/sub/crds/d.yaml":                 "kind: CustomResourceDefinition\nmetadata: {name: three}\n",
		"charts/templates/Chart.yaml":            chartYAML("templates", ""),
		"charts/templates/templates/crds/y.yaml": "kind: A\nmetadata: {name: b}\n",
	})
	p.options.IncludeCRDs = true
	r, err := p.render()
	if err != nil || !strings.HasPrefix(r.Manifest, "---\n# Source: shop/crds/c.yaml\n") || !strings.Contains(r.Manifest, "# Source: shop/charts/sub/crds/d.yaml\n") {
		t.Fatalf("got %v:\n%s", err, r.Manifest)
	}
	resources, err := render.Resources(r.Manifest, nil, p.root, true)
	if err != nil || len(resources) != 2 || objectName(resources[0].Object) != "b" || resources[0].Chart != "shop/templates" || objectName(resources[1].Object) != "a" {
		t.Errorf("got %v, %v", resources, err)
	}
	if all, err := render.Resources(r.Manifest, nil, p.root, false); err != nil || len(all) != 5 {
		t.Errorf("with them: %d resources, %v", len(all), err)
	}
	p.options.PostRenderer, p.options.Root = chartgen.Cat{}, p.root
	post, err := p.render()
	if err != nil || post.Manifest != r.Manifest {
		t.Errorf("cat changes it, %v:\n%s", err, post.Manifest)
	}
}

// TestChartOf finds charts by path, even if their names are also names of directories.
func TestChartOf(t *testing.T) {
	chart := func(name string, subcharts ...*sequencer.Chart) *sequencer.Chart {
		return &sequencer.Chart{Name: name, Subcharts: subcharts}
	}
	aliased := chart("shop", chart("cache", chart("deep")))
	aliased.Dependencies = []sequencer.Dependency{{Name: "redis", Alias: "off", Disabled: true}, {Name: "redis", Alias: "cache"}}
	shop := chart("shop", chart("a", chart("b", chart("a"))), chart("charts", chart("charts")), chart("templates"), chart("shop"))
	tests := []struct {
		root       *sequencer.Chart
		file, want string
	}{
		{shop, "shop/templates/x.yaml", "shop"},
		{shop, "shop/charts/a/templates/x.yaml", "shop/a"},
		{shop, "shop/charts/a/charts/b/templates/x.yaml", "shop/a/b"},
		{shop, "shop/charts/a/charts/b/charts/a/templates/x.yaml", "shop/a/b/a"},
		{shop, "shop/charts/charts/templates/x.yaml", "shop/charts"},
		{shop, "shop/charts/charts/charts/charts/templates/x.yaml", "shop/charts/charts"},
		{shop, "shop/charts/templates/templates/x.yaml", "shop/templates"},
		{shop, "shop/charts/shop/templates/x.yaml", "shop/shop"},
		{shop, "shop/templates/charts/a/x.yaml", "shop"},
		{shop, "shop/charts/a/templates/charts/b/x.yaml", "shop/a"},
		{shop, "shop/charts/unknown/templates/x.yaml", "shop"},
		{shop, "shop/charts/a/charts/unknown/templates/x.yaml", "shop/a"},
		{shop, "shopping/charts/a/templates/x.yaml", "shop"},
		{shop, "(no Source comment)", "shop"},
		{shop, "", "shop"},
		{chart("charts", chart("a")), "charts/charts/a/templates/x.yaml", "charts/a"},
		{chart("charts", chart("a")), "charts/templates/x.yaml", "charts"},
		{aliased, "shop/charts/cache/templates/x.yaml", "shop/cache"},
		{aliased, "shop/charts/redis/charts/deep/templates/x.yaml", "shop/cache/deep"},
	}
	for _, tt := range tests {
		if got := render.ChartOf(tt.root, tt.file); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.file, got, tt.want)
		}
	}
}

// TestResources parses the manifest of a stored release.
func TestResources(t *testing.T) {
	root := &sequencer.Chart{Name: "shop", Subcharts: []*sequencer.Chart{{Name: "sub"}}}
	resources, err := render.Resources("# nothing\n---\nkind: Before\n---\n# Source: shop/charts/sub/templates/x.yaml\nkind: One\n---\nkind: Two\n---\n"+
		"{\"kind\": \"JSON\", \"num\": 12345678901234567}\n---\n{kind: Flow, num: 010}\n---\nnull\n---\n# Source: shop/templates/y.yaml\n# more\nkind: Three\n", nil, root, false)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, r := range resources {
		fmt.Fprintf(&got, "%s %s %v %v\n", r.Chart, r.File, r.Object["kind"], r.Object["num"])
	}
	want := "shop (no Source comment) Before <nil>\nshop/sub shop/charts/sub/templates/x.yaml One <nil>\nshop/sub shop/charts/sub/templates/x.yaml Two <nil>\n" +
		"shop/sub shop/charts/sub/templates/x.yaml JSON 12345678901234567\nshop/sub shop/charts/sub/templates/x.yaml Flow 8\nshop shop/templates/y.yaml Three <nil>\n"
	if got.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
	}
	if n, whole := resources[3].Object["num"].(int64); !whole || n != 12345678901234567 {
		t.Errorf("a whole number became %T", resources[3].Object["num"])
	}
	for manifest, want := range map[string]string{
		"# Source: shop/templates/y.yaml\na: b: c": "YAML parse error on shop/templates/y.yaml: ",
		"- a":  "YAML parse error on (no Source comment): ",
		"text": "YAML parse error on (no Source comment): ",
	} {
		if _, err := render.Resources(manifest, nil, root, false); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v", manifest, err)
		}
	}
	if _, err := render.Resources("kind: A", []string{"shop", "shop"}, root, false); err == nil || err.Error() != "the manifest has 1 documents, but the order record has charts for 2" {
		t.Errorf("got %v", err)
	}
}

// TestSplit checks the order of more than nine documents.
func TestSplit(t *testing.T) {
	var stream strings.Builder
	for i := range 1234 {
		fmt.Fprintf(&stream, "---\nn: %d\n", i)
	}
	for i, doc := range render.Split(stream.String()) {
		if doc != fmt.Sprintf("n: %d", i) {
			t.Fatalf("document %d is %q", i, doc)
		}
	}
}

// FuzzSplit checks that Split returns the same documents as Helm's function.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{
		"", "---", "---\n---\na", "a\n---\nb", "a\n \t\n---b\n----\n--- \n---\n", "\u00a0\n---\na\u00a0\n---\n\u00a0\n---\n", "a ---\nb\r\n---\r\nc", "a\v\n---\v\nb", "\n\n---\na\n\n\n---\n\nb\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, stream string) {
		want := releaseutil.SplitManifests(stream)
		got := render.Split(stream)
		if len(got) != len(want) {
			t.Fatalf("got %q, want %q", got, want)
		}
		for i, doc := range got {
			if doc != want[fmt.Sprintf("manifest-%d", i)] {
				t.Fatalf("got %q, want %q", got, want)
			}
		}
	})
}

// TestAllFormsGiveTheSamePlan writes random charts to files, with random forms of keys and
// lists, and compares the plan of the files with the plan that is built directly.
func TestAllFormsGiveTheSamePlan(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 1))
		ch := chartgen.Random(r)
		plan, err := sequencer.Build(ch.Input())
		if err != nil {
			t.Fatal(err)
		}
		var got, want strings.Builder
		if err := (&graphview.View{Plan: plan}).Write(&want, graphview.FormatText); err != nil {
			t.Fatal(err)
		}
		if err := (&graphview.View{Plan: chartgen.Render(t, ch.Files(r), nil).Plan}).Write(&got, graphview.FormatText); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() {
			t.Fatalf("seed %d: got:\n%s\nwant:\n%s", seed, got.String(), want.String())
		}
	}
}

// TestFiveThousandDocuments renders a chart with five thousand documents in one template,
// and builds its plan.
func TestFiveThousandDocuments(t *testing.T) {
	const text = `{{- range $i := until 5000 }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: c{{ $i }}
  annotations:
    helm.sh/layer: l{{ mod $i 10 }}
    {{- if mod $i 10 }}
    helm.sh/depends-on/layers: [l{{ sub (mod $i 10) 1 }}]
    {{- end }}
{{- end }}
`
	r := chartgen.Render(t, template(text).buffered(), nil)
	if len(r.Plan.Nodes) != 10 || len(r.Plan.Levels()) != 10 || len(r.Plan.Nodes[9].Resources) != 500 {
		t.Errorf("%d nodes in %d levels", len(r.Plan.Nodes), len(r.Plan.Levels()))
	}
	if strings.Count(r.Result.Manifest, "depends-on.helm.sh/layers: '[\"l") != 4500 {
		t.Error("not all documents are in legal form")
	}
	post := chartgen.Render(t, template(strings.Replace(text, "5000", "100", 1)).buffered(), chartgen.PostRenderer(chartgen.DropComments))
	if len(post.Plan.Nodes) != 10 || len(post.Plan.Nodes[9].Resources) != 10 {
		t.Errorf("with a post-renderer: %d nodes", len(post.Plan.Nodes))
	}
}
