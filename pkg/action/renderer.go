// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"fmt"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/postrender"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/client-go/rest"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// renderOptions contains the options that a renderer needs. Only install and upgrade have
// all of them.
type renderOptions struct {
	// release contains the name, namespace and revision that templates read as .Release.
	release chartutil.ReleaseOptions
	// ordered is true if the release is deployed in order. planned is true if the caller
	// needs the plan even though nothing is deployed.
	ordered, planned bool
	// dryRun is true for a dry run. looksUp is true if the template function lookup reads
	// objects from the cluster.
	dryRun, looksUp bool

	enableDNS, subNotes, includeCRDs, hideSecret, skipSchemaValidation bool
	postRenderer                                                       postrender.PostRenderer
}

// renderer renders a chart with values, and builds the plan from the resulting documents.
type renderer struct {
	renderOptions
	cfg *Configuration

	chart *chart.Chart
	vals  map[string]any
	root  *sequencer.Chart
	plan  *sequencer.Plan
	// documents contains the path of the chart of each document in the manifest. It is nil
	// if the Source comments of the documents already identify the chart.
	documents []string
	// warning says why the declared order is invalid, if the release is deployed without an
	// order; otherwise it is empty.
	warning string
}

// load sets the chart and the values to render. It reads what the charts declare about
// order and hooks, and lets Helm process their dependencies.
func (r *renderer) load(chrt *chart.Chart, vals map[string]any) error {
	declared, err := chartloader.Declarations(chrt)
	if err != nil {
		return err
	}
	if r.chart, err = orderrecord.WithRecord(chrt, nil); err != nil {
		return err
	}
	r.vals = vals
	if err := chartutil.ProcessDependenciesWithMerge(r.chart, vals); err != nil {
		return err
	}
	r.root = render.ChartTree(declared, r.chart)
	return nil
}

// sequenced reports whether the chart c or one of its subcharts opts in to ordered
// deployment.
func sequenced(c *sequencer.Chart) bool {
	if c.Sequenced {
		return true
	}
	for _, sub := range c.Subcharts {
		if sequenced(sub) {
			return true
		}
	}
	return false
}

// render renders the chart. It also builds the plan if the plan is needed, or if a chart
// opts in to ordered deployment. It returns an error for an invalid order if the plan is
// needed or in a dry run. Otherwise the order is not used, and render only sets warning.
func (r *renderer) render() (*render.Result, error) {
	values, caps, err := r.values()
	if err != nil {
		return nil, err
	}
	o := render.Options{
		Values: values, Capabilities: caps, EnableDNS: r.enableDNS, SubNotes: r.subNotes,
		IncludeCRDs: r.includeCRDs, HideSecret: r.hideSecret, PostRenderer: r.postRenderer,
	}
	if r.ordered || r.planned {
		o.Root = r.root
	}
	if o.RESTConfig, err = r.lookupConfig(); err != nil {
		return nil, err
	}
	result, err := render.Chart(r.chart, o)
	if err != nil || !r.ordered && !r.planned && !sequenced(r.root) {
		return result, err
	}
	r.documents = result.Charts
	if r.plan, err = r.build(result); err == nil {
		return result, nil
	}
	if r.ordered || r.planned || r.dryRun {
		return result, &orderError{err}
	}
	r.warning = fmt.Sprintf("the order that the charts declare cannot be used: %v", err)
	return result, nil
}

// orderError is an error in the order that the charts declare. Its type distinguishes it
// from other errors of rendering.
type orderError struct{ error }

func (e *orderError) Unwrap() error { return e.error }

func (r *renderer) build(result *render.Result) (*sequencer.Plan, error) {
	resources, err := result.Resources(r.root, r.includeCRDs)
	if err != nil {
		return nil, err
	}
	return sequencer.Build(sequencer.Input{Root: r.root, Resources: resources, Namespace: r.release.Namespace})
}

func (r *renderer) lookupConfig() (*rest.Config, error) {
	if !r.looksUp || r.cfg.RESTClientGetter == nil {
		return nil, nil
	}
	return r.cfg.RESTClientGetter.ToRESTConfig()
}

func (r *renderer) values() (chartutil.Values, *chartutil.Capabilities, error) {
	caps, err := capabilities(r.cfg)
	if err != nil {
		return nil, nil, err
	}
	values, err := chartutil.ToRenderValuesWithSchemaValidation(r.chart, r.vals, r.release, caps, r.skipSchemaValidation)
	return values, caps, err
}

// recordOf returns the record to store in the release: the declarations from which its
// plan, and the order of its hooks, can be rebuilt later. It returns nil if the release is
// neither deployed in order nor has hooks that run in parallel.
func (r *renderer) recordOf(rel *release.Release) *orderrecord.Record {
	switch {
	case r.ordered:
		return &orderrecord.Record{Revision: rel.Version, Ordered: true, Charts: r.root, DocumentCharts: r.documents}
	case len(rel.Hooks) > 0 && history.RunsHooksInParallel(r.root):
		return &orderrecord.Record{Revision: rel.Version, Charts: r.root}
	}
	return nil
}

// warn emits warnings about the declared order to events. In a dry run, these include the
// resources that can never become ready unless an object that they need already exists.
func (r *renderer) warn(events *event.Sink) {
	if r.warning != "" {
		events.Warn(r.warning)
	}
	if r.plan == nil || !r.ordered && !r.dryRun {
		return
	}
	for _, w := range r.plan.Warnings {
		events.Warn(w.String())
	}
	if r.dryRun {
		for _, n := range r.plan.Unmet {
			events.Warn(unmetWarning(n))
		}
	}
}

func unmetWarning(n sequencer.UnmetNeed) string {
	return fmt.Sprintf("the order cannot be satisfied unless the object already exists: %s", n)
}
