// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartgen

import (
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/postrender"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/declaration"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Rendered contains the results of Render.
type Rendered struct {
	Chart  *chart.Chart
	Root   *sequencer.Chart // the chart and its enabled subcharts, with their declared order
	Result *render.Result
	Plan   *sequencer.Plan
}

// Render loads a chart from files, renders it and builds its deployment plan, as an ordered
// install does. post can be nil. Any error fails the test.
func Render(t testing.TB, files []*chartloader.BufferedFile, post postrender.PostRenderer) *Rendered {
	t.Helper()
	r, err := TryRender(t, files, post)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TryRender is like Render, but returns errors of rendering and of building the plan instead
// of failing the test.
func TryRender(t testing.TB, files []*chartloader.BufferedFile, post postrender.PostRenderer) (*Rendered, error) {
	t.Helper()
	ch, err := chartloader.LoadFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	declared, err := declaration.Read(ch)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]any{}
	if err := chartutil.ProcessDependenciesWithMerge(ch, values); err != nil {
		t.Fatal(err)
	}
	r := &Rendered{Chart: ch, Root: render.ChartTree(declared, ch)}
	release := chartutil.ReleaseOptions{Name: "test", Namespace: Namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(ch, values, release, chartutil.DefaultCapabilities)
	if err != nil {
		t.Fatal(err)
	}
	r.Result, err = render.Chart(ch, render.Options{
		Values: all, Capabilities: chartutil.DefaultCapabilities, PostRenderer: post, Root: r.Root,
	})
	if err != nil {
		return r, err
	}
	resources, err := render.Resources(r.Result.Manifest, r.Result.Charts, r.Root, false)
	if err != nil {
		return r, err
	}
	r.Plan, err = sequencer.Build(sequencer.Input{Root: r.Root, Resources: resources, Namespace: Namespace})
	return r, err
}
