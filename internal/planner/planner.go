// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package planner renders the chart of a new revision, and builds its plan: the deployment
// graph, which says in which order its resources are deployed.
package planner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/postrender"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/client-go/rest"

	"github.com/ordered-helm/helm/internal/chartscripts"
	"github.com/ordered-helm/helm/internal/declaration"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/hookneeds"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/latehooks"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/ordererror"
	"github.com/ordered-helm/helm/internal/orderfile"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/renderevents"
	"github.com/ordered-helm/helm/internal/scripthandlers"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/valuesschema"
)

// RenderOptions say how a chart is rendered and whether its plan is needed. Fields without a
// comment have the meaning of the fields with these names in Helm's actions.
type RenderOptions struct {
	// Release contains the name, namespace and revision that templates read from .Release.
	Release chartutil.ReleaseOptions
	// Ordered says whether the release is deployed in order. Render then fails if there is
	// no valid plan.
	Ordered bool
	// OrderFile is an order file that applies in addition to those of the charts, and before them; nil if there
	// is none.
	OrderFile *orderfile.Given
	// DryRun says whether this is a dry run. Render then also fails if the charts declare an
	// invalid order that the operation would not use.
	DryRun bool
	// AllowIgnored says whether declarations of the root chart that have no effect cause only
	// a warning, like those of subcharts.
	AllowIgnored bool
	// DisableHooks says that the operation runs no hooks, so that it needs their objects.
	DisableHooks bool
	// IgnoreJobs says whether an ordered deployment does not wait for Jobs without dependents.
	// Record stores it.
	IgnoreJobs bool
	// LooksUp says whether the template function lookup reads objects from the cluster.
	LooksUp bool

	// Recorded, if not nil, is what Render returns instead of rendering the chart.
	Recorded *Recorded

	EnableDNS, SubNotes, IncludeCRDs, HideSecret, SkipSchemaValidation bool
	PostRenderer                                                       postrender.PostRenderer

	// Handlers contains the handlers of the events of rendering, and says how the scripts of the
	// charts run.
	Handlers scripthandlers.Options
}

// operation returns the operation for which the chart is rendered. An upgrade of a release of which no revision
// was ever deployed counts as an installation.
func (o RenderOptions) operation() sequencer.Operation {
	if o.Release.IsUpgrade {
		return sequencer.Upgrade
	}
	return sequencer.Install
}

// Planner renders a chart with values, and builds the plan from the rendered documents.
type Planner struct {
	// Chart is the chart of the release without an order record, after Helm has processed
	// its dependencies. Values are the user's values. Root is the tree of the chart and its
	// subcharts, with what they declare about their order and hooks.
	Chart  *chart.Chart
	Values map[string]any
	Root   *sequencer.Chart

	// orderFiles returns the order files that apply to the release, the strongest first. It reads them only once.
	orderFiles func() ([]*orderfile.File, error)

	cfg     *helmaction.Configuration
	options RenderOptions
	scripts *scripthandlers.Runtime
}

// New returns a Planner for a chart and values. It reads what the charts declare about their
// order and hooks, and then lets Helm process the dependencies, for example remove disabled
// subcharts. It loads the scripts of the charts, and emits the event chart-loaded. The caller must
// close the Planner.
func New(ctx context.Context, cfg *helmaction.Configuration, chrt *chart.Chart, vals map[string]any, o RenderOptions) (*Planner, error) {
	declared, err := declaration.Read(chrt)
	if err != nil {
		return nil, err
	}
	p := &Planner{cfg: cfg, Values: vals, options: o}
	if p.Chart, err = orderrecord.WithRecord(chartscripts.WithoutRecord(chrt), nil); err != nil {
		return nil, err
	}
	if err := chartutil.ProcessDependenciesWithMerge(p.Chart, vals); err != nil {
		return nil, err
	}
	p.Root = render.ChartTree(declared, p.Chart)
	p.orderFiles = sync.OnceValues(func() ([]*orderfile.File, error) { return orderfile.OfRelease(p.Chart, o.OrderFile) })
	scripts, err := chartscripts.Read(p.Chart)
	if err != nil {
		return nil, err
	}
	if p.scripts, err = scripthandlers.Start(ctx, scripts, o.Handlers); err != nil {
		return nil, err
	}
	if err := p.events().EmitLoaded(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// Close ends the scripts of the charts. The Planner can be nil.
func (p *Planner) Close() {
	if p != nil {
		p.scripts.Close()
	}
}

// HasScripts reports whether the charts have scripts.
func (p *Planner) HasScripts() bool { return p.scripts.HasScripts() }

// Emitter returns the handlers of events, including the scripts of the charts; nil if there are none.
func (p *Planner) Emitter() *lifecycle.Emitter { return p.scripts.Emitter() }

// StoredChart returns the chart in the form in which a release stores it, without an order record: with
// what is needed to run the scripts of the charts again.
func (p *Planner) StoredChart() (*chart.Chart, error) { return p.scripts.WithRecord(p.Chart) }

// WithRelease returns a Planner that renders the same chart with other values of .Release.
func (p *Planner) WithRelease(o chartutil.ReleaseOptions) *Planner {
	other := *p
	other.options.Release = o
	return &other
}

// HookModes returns which hooks can run in parallel, as the charts declare.
func (p *Planner) HookModes() hookorder.ChartModes {
	return render.HookModes(p.Root, p.options.Release.Namespace)
}

// Rendered contains the rendered documents of a chart and the plan.
type Rendered struct {
	*render.Result
	// Plan is the deployment graph; nil if the release is not deployed in order.
	Plan *sequencer.Plan
	// Warnings are warnings about the declared order. In a dry run, they include the
	// references between resources that the order cannot satisfy.
	Warnings []string
	// Values are the values that the templates have seen as .Values.
	Values map[string]any
}

// TemplateValues returns r.Values.
func (r *Rendered) TemplateValues() (map[string]any, error) { return r.Values, nil }

// OrderError reports that the charts declare an invalid order, in contrast to the other
// errors of Render.
type OrderError struct{ error }

func (e *OrderError) Unwrap() error { return e.error }

// RenderError reports that a chart cannot be rendered with its values, in contrast to the other errors of
// Render.
type RenderError struct{ error }

func (e *RenderError) Unwrap() error { return e.error }

// Format implements fmt.Formatter, because with --debug, Helm prints more of an error than its message.
func (e *RenderError) Format(s fmt.State, verb rune) {
	fmt.Fprintf(s, fmt.FormatString(s, verb), e.error)
}

// Render renders the chart. It also builds the plan if the release is deployed in order, or
// if the declared order of a chart applies (sequencer.Chart.Sequenced). An invalid order
// causes an *OrderError if the plan is needed or in a dry run, otherwise only a warning. In
// addition to an error, Render may return what it has rendered, for debugging. It emits the events
// pre-render and post-render.
func (p *Planner) Render(ctx context.Context) (*Rendered, error) {
	o := p.options
	rendered, err := p.render(ctx)
	if err != nil || !p.needsPlan() {
		return rendered, err
	}
	plan, err := p.build(rendered.Result)
	var ignored []string
	if err == nil {
		ignored, err = p.checkIgnored(plan.Warnings)
	}
	switch {
	case err != nil && (o.Ordered || o.DryRun):
		return rendered, &OrderError{err}
	case err != nil:
		rendered.Warnings = []string{fmt.Sprintf("the order that the charts declare cannot be used: %v", err)}
	case o.Ordered || o.DryRun:
		rendered.Warnings = append(p.warnings(plan), ignored...)
	}
	if o.Ordered {
		rendered.Plan = plan
	}
	return rendered, nil
}

// Resources renders the chart for another revision, without the post-renderer, and returns the
// resources.
func (p *Planner) Resources(ctx context.Context, revision int) ([]sequencer.Resource, error) {
	other := *p
	other.options.Release.Revision, other.options.PostRenderer = revision, nil
	chartOptions, err := other.chartOptions(ctx)
	if err != nil {
		return nil, err
	}
	result, err := render.Chart(other.Chart, chartOptions)
	if err != nil {
		return nil, err
	}
	return result.Resources(other.Root, other.options.IncludeCRDs)
}

// ValidateValues validates the values before the chart is rendered. Render validates them, too. Schemas
// that were written as JSON count only if withJSON is true: stock Helm installs CRDs before that.
func (p *Planner) ValidateValues(withJSON bool) error {
	isYAML := valuesschema.Used(p.Chart)
	// Handlers of pre-render can change the values, so they are validated only after that.
	if p.options.SkipSchemaValidation || !isYAML && !withJSON || lifecycle.Has(p.Emitter(), lifecycle.PreRender) {
		return nil
	}
	if !isYAML {
		_, err := chartutil.ToRenderValues(p.Chart, p.Values, chartutil.ReleaseOptions{}, nil)
		return err
	}
	values, err := chartutil.CoalesceValues(p.Chart, p.Values)
	if err != nil {
		return err
	}
	return valuesschema.Validate(p.Chart, values)
}

func (p *Planner) chartOptions(ctx context.Context) (render.Options, error) {
	o := p.options
	caps, err := capabilities(p.cfg)
	if err != nil {
		return render.Options{}, err
	}
	values, err := p.events().RenderValues(ctx, caps)
	if err != nil {
		return render.Options{}, &RenderError{err}
	}
	lookups, err := p.lookupConfig()
	chartOptions := render.Options{
		Values: values, Capabilities: caps, RESTConfig: lookups, EnableDNS: o.EnableDNS, SubNotes: o.SubNotes,
		IncludeCRDs: o.IncludeCRDs, HideSecret: o.HideSecret, PostRenderer: withContext(ctx, o.PostRenderer), KeepObjects: p.needsPlan(),
		ChangeManifest: p.events().ChangeManifest(ctx, values),
	}
	if o.Ordered {
		chartOptions.Root = p.Root
	}
	return chartOptions, err
}

// events returns what emits the events of rendering.
func (p *Planner) events() renderevents.Chart {
	o := p.options
	return renderevents.Chart{Chart: p.Chart, Values: p.Values, Release: o.Release, Emitter: p.Emitter(), SkipSchemaValidation: o.SkipSchemaValidation}
}

func (p *Planner) lookupConfig() (*rest.Config, error) {
	if !p.options.LooksUp || p.cfg.RESTClientGetter == nil {
		return nil, nil
	}
	return p.cfg.RESTClientGetter.ToRESTConfig()
}

// needsPlan reports whether Render builds the plan: the release is deployed in order, or the
// declared order of a chart applies.
func (p *Planner) needsPlan() bool { return p.options.Ordered || isSequenced(p.Root) }

// isSequenced reports whether the declared order of chart c, or of one of its subcharts,
// applies.
func isSequenced(c *sequencer.Chart) bool {
	return c.Sequenced || slices.ContainsFunc(c.Subcharts, isSequenced)
}

// DocumentsPlan builds the plan of documents, without the hooks of charts.
func (p *Planner) DocumentsPlan(docs []render.Document) (*sequencer.Plan, error) {
	in, err := p.input(render.DocumentResources(docs))
	if err != nil {
		return nil, err
	}
	return sequencer.Build(in)
}

// input returns the input of a plan for resources.
func (p *Planner) input(resources []sequencer.Resource) (sequencer.Input, error) {
	files, err := p.orderSet()
	o := p.options
	return sequencer.Input{Root: p.Root, Resources: resources, Namespace: o.Release.Namespace, OrderFiles: files, Operation: o.operation(), IgnoreDeployOn: o.DryRun}, err
}

func (p *Planner) build(result *render.Result) (*sequencer.Plan, error) {
	resources, err := result.Resources(p.Root, p.options.IncludeCRDs)
	if err != nil {
		return nil, err
	}
	in, err := p.input(resources)
	if err != nil {
		return nil, err
	}
	o := p.options
	in.WrittenKeys = result.WrittenKeys
	if !o.DisableHooks {
		in.Hooks = render.PlannedHooks(p.Root, result.Hooks)
	}
	plan, err := sequencer.Build(in)
	if err != nil {
		return nil, err
	}
	if err := p.checkExternalReleases(plan); err != nil {
		return nil, err
	}
	op := hookneeds.Operation{IsUpgrade: o.Release.IsUpgrade, NoHooks: o.DisableHooks, Namespace: o.Release.Namespace, ChartOf: p.chartOf}
	plan.Unmet = append(plan.Unmet, op.Find(plan, hookneeds.Hooks(result.Hooks))...)
	plan.Notes = latehooks.Notes(plan, latehooks.Hooks(result.Hooks, p.chartOf))
	return plan, nil
}

// checkExternalReleases returns an error if an external dependency of the release is the release itself.
func (p *Planner) checkExternalReleases(plan *sequencer.Plan) error {
	rel := p.options.Release
	for _, s := range plan.Steps {
		for _, e := range s.External {
			if e.Need.Release && e.Need.Name == rel.Name && (e.Need.Namespace == "" || e.Need.Namespace == rel.Namespace) {
				r := e.Reasons[0]
				return &ordererror.ExternalError{File: r.File, Resource: r.Resource, Key: r.Key, Value: r.Value, Err: errors.New("is this release itself: remove it")}
			}
		}
	}
	return nil
}

// chartOf returns the path of the chart that contains a template.
func (p *Planner) chartOf(file string) string { return render.ChartOf(p.Root, file) }

func (p *Planner) warnings(plan *sequencer.Plan) []string {
	var warnings []string
	for _, w := range plan.Warnings {
		if !isAboutIgnored(w) {
			warnings = append(warnings, w.String())
		}
	}
	if p.options.DryRun {
		for _, n := range plan.Unmet {
			warnings = append(warnings, fmt.Sprintf("the order cannot be satisfied unless the object already exists: %s", n))
		}
	}
	return warnings
}

// Record returns the order record to store in rel, the release that was rendered as r. The
// plan and the order of the hooks can later be rebuilt from it. Record returns nil if the
// release is not deployed in order, and its charts declare nothing about their hooks.
func (p *Planner) Record(rel *release.Release, r *Rendered) *orderrecord.Record {
	switch {
	case p.options.Ordered:
		return &orderrecord.Record{
			Revision: rel.Version, Ordered: true, IgnoreJobs: p.options.IgnoreJobs, Charts: p.Root, DocumentCharts: r.Charts,
			OrderFiles: p.recordedOrderFiles(), Operation: r.Plan.SkippingOperation(),
		}
	case len(rel.Hooks) > 0 && history.DeclaresHooks(p.Root):
		return &orderrecord.Record{Revision: rel.Version, Charts: p.Root}
	}
	return nil
}
