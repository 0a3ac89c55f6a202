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

// renderOptions are what the actions that render have in common.
type renderOptions struct {
	// release is what templates are told of the release.
	release chartutil.ReleaseOptions
	// ordered is whether the release is deployed in order; planned is whether the
	// plan is wanted even if it is not.
	ordered, planned bool
	// dryRun is whether nothing is to be deployed, looksUp whether templates may
	// look objects up in the cluster.
	dryRun, looksUp bool

	enableDNS, subNotes, includeCRDs, hideSecret, skipSchemaValidation bool
	postRenderer                                                       postrender.PostRenderer
}

// renderer turns a chart and values into manifests and a plan.
type renderer struct {
	renderOptions
	cfg *Configuration

	chart *chart.Chart
	vals  map[string]any
	root  *sequencer.Chart
	plan  *sequencer.Plan
	// documents is the chart of each document, where Sources do not tell it.
	documents []string
	// warning is what is wrong with an order that is not asked for.
	warning string
}

// load reads what the charts declare, and has Helm process their dependencies.
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
	r.root = render.Charts(declared, r.chart)
	return nil
}

// sequenced reports whether any chart's declarations count.
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

// render renders the chart. Where an order counts, or would, it also plans:
// an order that is wrong is an error if it is asked for or if nothing is
// deployed, and otherwise a warning.
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

// orderError marks an error as one of the order that the charts declare.
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

// values gives what the templates are rendered with.
func (r *renderer) values() (chartutil.Values, *chartutil.Capabilities, error) {
	caps, err := capabilities(r.cfg)
	if err != nil {
		return nil, nil, err
	}
	values, err := chartutil.ToRenderValuesWithSchemaValidation(r.chart, r.vals, r.release, caps, r.skipSchemaValidation)
	return values, caps, err
}

// recordOf gives what the release must remember: nil where it uses nothing
// that stock Helm does not have.
func (r *renderer) recordOf(rel *release.Release) *releaserecord.Record {
	switch {
	case r.ordered:
		return &releaserecord.Record{Revision: rel.Version, Ordered: true, Charts: r.root, DocumentCharts: r.documents}
	case len(rel.Hooks) > 0 && history.RunsHooksInParallel(r.root):
		return &releaserecord.Record{Revision: rel.Version, Charts: r.root}
	}
	return nil
}

// warn emits what the author should know about the order.
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

// unmetWarning is the warning for a need that may be met in the cluster.
func unmetWarning(n sequencer.UnmetNeed) string {
	return fmt.Sprintf("the order cannot be satisfied unless the object already exists: %s", n)
}
