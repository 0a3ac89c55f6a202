// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/chartgen"
)

// TestRealCharts renders published charts with various post-renderers, and builds their
// plans.
func TestRealCharts(t *testing.T) {
	archives, err := filepath.Glob(filepath.Join("..", "..", "..", "shared", "charts", "*.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	if len(archives) == 0 {
		t.Skip("the folder ../shared/charts beside the repository has no charts: put some there to try them")
	}
	for _, archive := range archives {
		t.Run(filepath.Base(archive), func(t *testing.T) { checkRealChart(t, archive) })
	}
}

func checkRealChart(t *testing.T, archive string) {
	ch, err := chartloader.Load(archive)
	if err != nil {
		t.Fatal(err)
	}
	p := prepareChart(t, ch)
	p.options.Root, p.options.PostRenderer = p.root, chartgen.Cat{}
	same, err := p.render()
	if err != nil {
		t.Fatal(err)
	}
	if same.Manifest != unchanged(same) {
		t.Error("a post-renderer that changes nothing changes it")
	}
	p.options.PostRenderer = chartgen.PostRenderer(chartgen.Reverse)
	r, err := p.render() // generates new passwords
	if err != nil {
		t.Fatal(err)
	}
	want, err := render.Resources(unchanged(r), nil, p.root, false)
	if err != nil {
		t.Fatal(err)
	}
	charts := map[string]string{}
	for _, res := range want {
		charts[text(t, res.Object)] = res.Chart
	}
	got, err := render.Resources(r.Manifest, r.Charts, p.root, false)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d resources of %d, %v", len(got), len(want), err)
	}
	for _, res := range got {
		if chart, known := charts[text(t, res.Object)]; !known || chart != res.Chart {
			t.Errorf("%s is of chart %q, not %q", objectName(res.Object), res.Chart, chart)
		}
	}
	plan, err := sequencer.Build(sequencer.Input{Root: p.root, Resources: got, Namespace: "ns"})
	if err != nil || len(plan.Unmet) > 0 || len(plan.Warnings) > 0 {
		t.Errorf("%v, unmet %v, warnings %v", err, plan.Unmet, plan.Warnings)
	}
}

// unchanged returns the manifest as it is without a post-renderer.
func unchanged(r *render.Result) string {
	var b strings.Builder
	for _, f := range r.Files {
		b.WriteString("---\n# Source: " + f.Name + "\n" + f.Content + "\n")
	}
	return b.String()
}
