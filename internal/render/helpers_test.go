// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/declaration"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// tree contains the files of a chart by path. If it has no Chart.yaml, it is the chart
// "shop" of apiVersion v3.
type tree map[string]string

func chartYAML(name, more string) string {
	return "apiVersion: v3\nname: " + name + "\nversion: 1.0.0\n" + more
}

func (files tree) buffered() []*chartloader.BufferedFile {
	if _, has := files["Chart.yaml"]; !has {
		files["Chart.yaml"] = chartYAML("shop", "")
	}
	var list []*chartloader.BufferedFile
	for name, data := range files {
		list = append(list, &chartloader.BufferedFile{Name: name, Data: []byte(data)})
	}
	slices.SortFunc(list, func(a, b *chartloader.BufferedFile) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// prepared holds a chart whose dependencies Helm has processed, and the options to render
// it.
type prepared struct {
	chart   *chart.Chart
	root    *sequencer.Chart
	options render.Options
}

func prepare(t testing.TB, files tree) *prepared {
	t.Helper()
	ch, err := chartloader.LoadFiles(files.buffered())
	if err != nil {
		t.Fatal(err)
	}
	return prepareChart(t, ch)
}

func prepareChart(t testing.TB, ch *chart.Chart) *prepared {
	t.Helper()
	declared, err := declaration.Read(ch)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	if err := chartutil.ProcessDependenciesWithMerge(ch, values); err != nil {
		t.Fatal(err)
	}
	capabilities := chartutil.DefaultCapabilities.Copy()
	capabilities.KubeVersion = chartutil.KubeVersion{Version: "v1.36.0", Major: "1", Minor: "36"}
	all, err := chartutil.ToRenderValues(ch, values, chartutil.ReleaseOptions{Name: "r", Namespace: "ns"}, capabilities)
	if err != nil {
		t.Fatal(err)
	}
	return &prepared{
		chart: ch, root: render.ChartTree(declared, ch),
		options: render.Options{Values: all, Capabilities: capabilities},
	}
}

func (p *prepared) render() (*render.Result, error) { return render.Chart(p.chart, p.options) }

func rendered(t *testing.T, files tree) *render.Result {
	t.Helper()
	r, err := prepare(t, files).render()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// template returns a chart with one template, which has the given text.
func template(text string) tree { return tree{"templates/x.yaml": text} }

// stored returns documents, all from the template of the function template, in the form of
// a stored manifest.
func stored(docs ...string) string {
	var b strings.Builder
	for _, doc := range docs {
		b.WriteString("---\n# Source: shop/templates/x.yaml\n" + doc + "\n")
	}
	return b.String()
}
