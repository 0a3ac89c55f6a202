// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"time"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/planner"
	"github.com/ordered-helm/helm/internal/preview"
)

// Install installs a chart as a new release. It has every field of Helm's Install, with the
// same meaning (docs/reference.md, "Install").
type Install struct {
	*helmaction.Install

	// WaitStrategy, if WaitStrategyOrdered, makes the install follow the order that the
	// charts declare, and wait until all resources are ready. It then takes precedence over
	// the field Wait.
	WaitStrategy WaitStrategy
	// AllowIgnoredOrder makes an ordered install only warn about declarations in the root chart
	// that have no effect, as it does about those in subcharts. Otherwise, they are an error
	// (docs/reference.md, "Chart.yaml").
	AllowIgnoredOrder bool
	// IgnoreJobs makes an ordered install not wait for Jobs without dependents. It is like
	// --wait-for-jobs=false, and cannot be combined with WaitForJobs.
	IgnoreJobs bool
	// ReadinessTimeout is the time that each resource on which others depend may take to
	// become ready after it was applied. It is used only in an ordered install. An
	// annotation of the resource takes precedence. 0 means no limit, except that resources
	// other than Jobs must not stand still for ten seconds, or Timeout if that is shorter.
	// A negative value, or one longer than Timeout, is an error (docs/reference.md,
	// "Time").
	ReadinessTimeout time.Duration
	// OrderFile is an order file that applies in addition to those of the charts, and before them; nil if there
	// is none. It requires WaitStrategyOrdered (docs/reference.md, "Order files").
	OrderFile *OrderFile
	// MaxParallelHooks is the maximum number of hooks that run at the same time, if a chart
	// allows its hooks to run in parallel. 0 means no limit. A negative value is an error.
	MaxParallelHooks int
	// FollowHookLogs makes the operation read the log of each running hook about once a
	// second, and report its last line in an event of type EventHookLog.
	FollowHookLogs bool
	// Arrange is the form in which a dry run writes the deployment order into the manifest.
	// Any value except ArrangeStock is an error unless the install is a dry run with
	// WaitStrategyOrdered.
	Arrange Arrangement
	// CRDs says what to do with the CustomResourceDefinitions in crds/ directories
	// (docs/reference.md, "CRDs in crds/ directories"). If it is empty, those that do not exist
	// are created, unless SkipCRDs is set.
	CRDs CRDPolicy
	// OnEvent, if not nil, is called with each event of the operation (docs/reference.md,
	// "Events"). It is called from different goroutines, but never concurrently. It must
	// return quickly, because the operation waits for it.
	OnEvent func(Event)
	// Lifecycle contains handlers of the events of the operation; nil if there are none
	// (docs/reference.md, "Lifecycle events").
	Lifecycle *lifecycle.Emitter
	ScriptOptions

	cfg *Configuration
	// savedPlan is the plan that is executed; nil if there is none.
	savedPlan *SavedPlan
}

// NewInstall returns an Install with Helm's defaults.
func NewInstall(cfg *Configuration) *Install {
	return &Install{Install: helmaction.NewInstall(cfg), cfg: cfg}
}

// Run is like RunWithContext with a context that is never canceled.
func (i *Install) Run(chrt *chart.Chart, vals map[string]any) (*release.Release, error) {
	return i.RunWithContext(context.Background(), chrt, vals) //nolint:forbidigo // the signature is Helm's
}

// RunWithContext installs chrt with the values vals, and returns the stored release. A dry
// run returns the rendered release and changes nothing.
//
// When ctx is done, RunWithContext stops, records the release as failed and returns an
// error that wraps the cause of ctx. None of its work continues after it has returned. If
// the install fails after the release was stored, RunWithContext returns both the release
// and the error, such as a *DeployError or a *HookError (docs/reference.md, "SDK").
func (i *Install) RunWithContext(ctx context.Context, chrt *chart.Chart, vals map[string]any) (*release.Release, error) {
	run, ctx, end, err := i.start(ctx, dryRunMode(i.DryRunOption, i.DryRun))
	if err != nil {
		return nil, err
	}
	defer end()
	if !run.mode.isDryRun() {
		run.op.Announce(Operation{Name: "install", Release: i.ReleaseName, Namespace: i.Namespace, Revision: 1, Ordered: i.isOrdered()})
	}
	rel, err := run.install(ctx, chrt, vals)
	return rel, run.op.Finish(ctx, err)
}

// Preview returns what RunWithContext would do (docs/reference.md, "helm plan"). It changes
// no object, runs no hook and stores no revision. If RunWithContext would fail before it
// changes anything, Preview returns the same error. Objects that the server would reject
// are no error, but part of the preview. Preview needs a cluster: ClientOnly and OutputDir
// are errors. It ignores the fields DryRun and DryRunOption, and does not modify chrt and
// vals, which RunWithContext does.
func (i *Install) Preview(ctx context.Context, chrt *chart.Chart, vals map[string]any) (*Preview, error) {
	if i.ClientOnly || i.OutputDir != "" {
		return nil, errors.New("a preview needs a cluster and writes no files: ClientOnly and OutputDir cannot be used with it")
	}
	run, ctx, end, err := i.start(ctx, previewing)
	if err != nil {
		return nil, err
	}
	defer end()
	p, err := run.preview(ctx, preview.NewBuilder(run.op, "install"), chartloader.Copy(chrt), chartloader.CopyValues(vals))
	return p, run.op.Finish(ctx, err)
}

func (i *Install) isOrdered() bool { return i.WaitStrategy == WaitStrategyOrdered }

// Plan renders chrt with the values vals, and returns the graph in which an ordered install
// would deploy it, and the order of its hooks (docs/reference.md, "helm dag"). It deploys
// nothing, and does not modify chrt and vals. It ignores WaitStrategy. With ClientOnly, it
// needs no cluster.
func (i *Install) Plan(ctx context.Context, chrt *chart.Chart, vals map[string]any) (*Plan, error) {
	out := i.planOutput()
	return i.plan(ctx, chrt, vals, i.plannerOptions(dryRunMode(i.DryRunOption, i.DryRun), out), out)
}

// PlanRevision is like Plan, but renders the chart as an upgrade to the given revision. Use
// it to compare the chart with the plan of an installed release.
func (i *Install) PlanRevision(ctx context.Context, chrt *chart.Chart, vals map[string]any, revision int) (*Plan, error) {
	out := i.planOutput()
	o := i.plannerOptions(dryRunMode(i.DryRunOption, i.DryRun), out)
	o.Release.Revision, o.Release.IsInstall, o.Release.IsUpgrade = revision, false, true
	return i.plan(ctx, chrt, vals, o, out)
}

// planOutput returns where scripts print while a plan is made.
func (i *Install) planOutput() *scriptOutput {
	return &scriptOutput{events: event.NewSink(i.OnEvent, nil), isHeld: true}
}

func (i *Install) plan(ctx context.Context, chrt *chart.Chart, vals map[string]any, o planner.RenderOptions, out *scriptOutput) (*Plan, error) {
	if err := i.checkReachable(); err != nil {
		return nil, err
	}
	if i.ClientOnly {
		i.useFakeCluster()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o.Ordered, o.AllowIgnored = true, true // whatever WaitStrategy says
	p, err := planner.New(ctx, i.cfg, chartloader.Copy(chrt), chartloader.CopyValues(vals), o)
	if err != nil {
		return nil, err
	}
	defer p.Close()
	rendered, err := out.render(ctx, p)
	if err != nil {
		return nil, out.events.RedactError(err)
	}
	return &Plan{Plan: rendered.Plan, Hooks: hookorder.Plans(rendered.Hooks, p.HookModes(), rendered.Plan.HookScope)}, nil
}
