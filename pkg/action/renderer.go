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
	"github.com/ordered-helm/helm/internal/releaserecord"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// renderOptions contains the settings of all actions that render charts.
type renderOptions struct {
	// release describes the release to the templates.
	release chartutil.ReleaseOptions
	// ordered is whether the release is deployed in order; planned is whether a plan is
	// needed even if it is not.
	ordered, planned bool
	// dryRun is whether nothing is deployed; looksUp is whether templates can look up
	// objects in the cluster.
	dryRun, looksUp bool

	enableDNS, subNotes, includeCRDs, hideSecret, skipSchemaValidation bool
	postRenderer                                                       postrender.PostRenderer
}

// renderer renders a chart with values to manifests and a plan.
type renderer struct {
	renderOptions
	cfg *Configuration

	chart *chart.Chart
	vals  map[string]any
	root  *sequencer.Chart
	plan  *sequencer.Plan
	// documents contains the chart of each document whose Source does not identify it.
	documents []string
	// warning is the error in an order that was not requested.
	warning string
}

// load reads the declarations of the charts, and lets Helm process their dependencies.
func (r *renderer) load(chrt *chart.Chart, vals map[string]any) error {
	declared, err := chartloader.Declarations(chrt)
	if err != nil {
		return err
	}
	if r.chart, err = releaserecord.WithRecord(chrt, nil); err != nil {
		return err
	}
	r.vals = vals
	if err := chartutil.ProcessDependenciesWithMerge(r.chart, vals); err != nil {
		return err
	}
	r.root = render.ChartTree(declared, r.chart)
	return nil
}

// sequenced reports whether the chart or one of its subcharts is sequenced.
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

// render renders the chart. If the release is deployed in order, if a plan is needed, or if
// any chart is sequenced, it also builds the plan. An invalid order is an error if it was
// requested or if nothing is deployed, and otherwise a warning.
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

// orderError marks an error in the order that the charts declare.
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

// values returns the values with which the templates are rendered.
func (r *renderer) values() (chartutil.Values, *chartutil.Capabilities, error) {
	caps, err := capabilities(r.cfg)
	if err != nil {
		return nil, nil, err
	}
	values, err := chartutil.ToRenderValuesWithSchemaValidation(r.chart, r.vals, r.release, caps, r.skipSchemaValidation)
	return values, caps, err
}

// recordOf returns what the release must remember, or nil if it uses only features of stock
// Helm.
func (r *renderer) recordOf(rel *release.Release) *releaserecord.Record {
	switch {
	case r.ordered:
		return &releaserecord.Record{Revision: rel.Version, Ordered: true, Charts: r.root, DocumentCharts: r.documents}
	case len(rel.Hooks) > 0 && history.RunsHooksInParallel(r.root):
		return &releaserecord.Record{Revision: rel.Version, Charts: r.root}
	}
	return nil
}

// warn emits what the author of the chart should know about the order.
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

// unmetWarning returns the warning for a need that may be met in the cluster.
func unmetWarning(n sequencer.UnmetNeed) string {
	return fmt.Sprintf("the order cannot be satisfied unless the object already exists: %s", n)
}
