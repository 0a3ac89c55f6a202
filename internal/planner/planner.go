// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package planner renders the chart of a new revision and plans the order in which its
// resources are deployed.
package planner

import (
	"fmt"
	"slices"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/postrender"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/client-go/rest"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Options say how a chart is rendered. Only install and upgrade have all of them.
type Options struct {
	// Release contains the name, namespace and revision that templates read as .Release.
	Release chartutil.ReleaseOptions
	// Ordered is true if the release is deployed in order: then the plan is required.
	Ordered bool
	// DryRun is true for a dry run: then an invalid order is an error, even if the release
	// is not deployed in order.
	DryRun bool
	// LooksUp is true if the template function lookup reads objects from the cluster.
	LooksUp bool

	EnableDNS, SubNotes, IncludeCRDs, HideSecret, SkipSchemaValidation bool
	PostRenderer                                                       postrender.PostRenderer
}

// Planner renders a chart with values, and builds the plan from the resulting documents.
type Planner struct {
	// Chart is the chart of the release without an order record, after Helm has processed
	// its dependencies. Values are the values of the user. Root describes the chart and its
	// subcharts with what they declare about order and hooks.
	Chart  *chart.Chart
	Values map[string]any
	Root   *sequencer.Chart

	cfg     *helmaction.Configuration
	options Options
}

// New returns a Planner for a chart with values. It reads what the charts declare about
// order and hooks, and lets Helm process their dependencies, for example remove disabled
// ones.
func New(cfg *helmaction.Configuration, chrt *chart.Chart, vals map[string]any, o Options) (*Planner, error) {
	declared, err := chartloader.Declarations(chrt)
	if err != nil {
		return nil, err
	}
	p := &Planner{cfg: cfg, Values: vals, options: o}
	if p.Chart, err = orderrecord.WithRecord(chrt, nil); err != nil {
		return nil, err
	}
	if err := chartutil.ProcessDependenciesWithMerge(p.Chart, vals); err != nil {
		return nil, err
	}
	p.Root = render.ChartTree(declared, p.Chart)
	return p, nil
}

// HookModes returns how the hooks of each chart run.
func (p *Planner) HookModes() hookrunner.Modes {
	return render.HookModes(p.Root, p.options.Release.Namespace)
}

// Rendered is a rendered chart with its plan.
type Rendered struct {
	*render.Result
	// Plan is the order in which the release is deployed; nil if it has no order.
	Plan *sequencer.Plan
	// Warnings are about the declared order. In a dry run, they name the resources that can
	// never become ready unless an object that they need already exists.
	Warnings []string
}

// OrderError is an error in the order that the charts declare. Its type distinguishes it
// from other errors of rendering.
type OrderError struct{ error }

func (e *OrderError) Unwrap() error { return e.error }

// Render renders the chart. It also builds the plan if the release is deployed in order, or
// if a chart opts in to ordered deployment. If the order is invalid, it returns an
// *OrderError, or only adds a warning if the order is not used. With an error, it may return
// what it has rendered, for debugging.
func (p *Planner) Render() (*Rendered, error) {
	o := p.options
	chartOptions, err := p.chartOptions()
	if err != nil {
		return nil, err
	}
	result, err := render.Chart(p.Chart, chartOptions)
	rendered := &Rendered{Result: result}
	if err != nil || !o.Ordered && !isSequenced(p.Root) {
		return rendered, err
	}
	plan, err := p.build(result)
	switch {
	case err != nil && (o.Ordered || o.DryRun):
		return rendered, &OrderError{err}
	case err != nil:
		rendered.Warnings = []string{fmt.Sprintf("the order that the charts declare cannot be used: %v", err)}
	case o.Ordered || o.DryRun:
		rendered.Warnings = p.warnings(plan)
	}
	if o.Ordered {
		rendered.Plan = plan
	}
	return rendered, nil
}

func (p *Planner) chartOptions() (render.Options, error) {
	o := p.options
	caps, err := capabilities(p.cfg)
	if err != nil {
		return render.Options{}, err
	}
	values, err := chartutil.ToRenderValuesWithSchemaValidation(p.Chart, p.Values, o.Release, caps, o.SkipSchemaValidation)
	if err != nil {
		return render.Options{}, err
	}
	lookups, err := p.lookupConfig()
	chartOptions := render.Options{
		Values: values, Capabilities: caps, RESTConfig: lookups, EnableDNS: o.EnableDNS, SubNotes: o.SubNotes,
		IncludeCRDs: o.IncludeCRDs, HideSecret: o.HideSecret, PostRenderer: o.PostRenderer,
	}
	if o.Ordered {
		chartOptions.Root = p.Root
	}
	return chartOptions, err
}

func (p *Planner) lookupConfig() (*rest.Config, error) {
	if !p.options.LooksUp || p.cfg.RESTClientGetter == nil {
		return nil, nil
	}
	return p.cfg.RESTClientGetter.ToRESTConfig()
}

// isSequenced reports whether the chart c or one of its subcharts opts in to ordered
// deployment.
func isSequenced(c *sequencer.Chart) bool {
	return c.Sequenced || slices.ContainsFunc(c.Subcharts, isSequenced)
}

func (p *Planner) build(result *render.Result) (*sequencer.Plan, error) {
	resources, err := result.Resources(p.Root, p.options.IncludeCRDs)
	if err != nil {
		return nil, err
	}
	return sequencer.Build(sequencer.Input{Root: p.Root, Resources: resources, Namespace: p.options.Release.Namespace})
}

func (p *Planner) warnings(plan *sequencer.Plan) []string {
	var warnings []string
	for _, w := range plan.Warnings {
		warnings = append(warnings, w.String())
	}
	if p.options.DryRun {
		for _, n := range plan.Unmet {
			warnings = append(warnings, fmt.Sprintf("the order cannot be satisfied unless the object already exists: %s", n))
		}
	}
	return warnings
}

// Record returns the order record to store in the release that was rendered as r: the
// declarations from which its plan, and the order of its hooks, can be rebuilt later. It
// returns nil if the release is neither deployed in order nor has hooks that run in
// parallel.
func (p *Planner) Record(rel *release.Release, r *Rendered) *orderrecord.Record {
	switch {
	case p.options.Ordered:
		return &orderrecord.Record{Revision: rel.Version, Ordered: true, Charts: p.Root, DocumentCharts: r.Charts}
	case len(rel.Hooks) > 0 && history.RunsHooksInParallel(p.Root):
		return &orderrecord.Record{Revision: rel.Version, Charts: p.Root}
	}
	return nil
}
