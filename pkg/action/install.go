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

	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/preview"
	"github.com/ordered-helm/helm/internal/render"
)

// Install installs a chart. It has every field of Helm's Install and means the same by it
// (docs/reference.md, "Install").
type Install struct {
	*helmaction.Install

	// WaitStrategy, if set, takes precedence over the field Wait.
	WaitStrategy WaitStrategy
	// ReadinessTimeout is how long each resource that others depend on may take to become
	// ready; 0 is ten seconds, shortened to Timeout. It must not be longer than Timeout.
	// Resources may declare another timeout themselves.
	ReadinessTimeout time.Duration
	// MaxParallelHooks is how many hooks run at once, where the chart lets any run in
	// parallel; 0 is no limit. It must not be negative.
	MaxParallelHooks int
	// FollowHookLogs reads the log of each running hook about every second, and passes its
	// last line to OnEvent.
	FollowHookLogs bool
	// Arrange says how a dry run with WaitStrategyOrdered writes the order down.
	Arrange Arrangement
	// OnEvent, if set, is called with every step, one at a time, from goroutines of the
	// operation. It must return soon.
	OnEvent func(Event)

	cfg *Configuration
}

// NewInstall returns an Install with Helm's defaults.
func NewInstall(cfg *Configuration) *Install {
	return &Install{Install: helmaction.NewInstall(cfg), cfg: cfg}
}

// Run is RunWithContext with a context that never ends.
func (i *Install) Run(chrt *chart.Chart, vals map[string]any) (*release.Release, error) {
	return i.RunWithContext(context.Background(), chrt, vals) //nolint:forbidigo // the signature is Helm's
}

// RunWithContext installs the chart. When ctx is done it stops, records the release as
// failed and returns; nothing that it started goes on after that. A failure after the
// release was recorded is returned together with the release.
func (i *Install) RunWithContext(ctx context.Context, chrt *chart.Chart, vals map[string]any) (*release.Release, error) {
	run, ctx, end, err := i.start(ctx, false)
	if err != nil {
		return nil, err
	}
	defer end()
	if !run.isDryRun() {
		run.op.Begin(ctx, Operation{Name: "install", Release: i.ReleaseName, Namespace: i.Namespace, Revision: 1, Ordered: i.ordered()})
	}
	rel, err := run.install(ctx, chrt, vals)
	return rel, run.op.Finish(ctx, err)
}

// Preview says what RunWithContext would do, without doing anything: no object is written,
// no hook is run and no revision is recorded. What would fail before anything is changed is
// an error; what the server would reject is in the preview. It ignores the options of a dry
// run.
func (i *Install) Preview(ctx context.Context, chrt *chart.Chart, vals map[string]any) (*Preview, error) {
	if i.ClientOnly || i.OutputDir != "" {
		return nil, errors.New("a preview needs a cluster and writes no files: ClientOnly and OutputDir cannot be used with it")
	}
	run, ctx, end, err := i.start(ctx, true)
	if err != nil {
		return nil, err
	}
	defer end()
	p, err := run.preview(ctx, preview.NewBuilder(run.op, "install"), chrt, vals)
	return p, run.op.Finish(ctx, err)
}

func (i *Install) ordered() bool { return i.WaitStrategy == WaitStrategyOrdered }

// Plan renders the chart and returns how it would deploy, without deploying anything
// (docs/reference.md, "helm dag").
func (i *Install) Plan(ctx context.Context, chrt *chart.Chart, vals map[string]any) (*Plan, error) {
	return i.plan(ctx, chrt, vals, i.renderOptions(i.dryRunMode(false)))
}

// PlanRevision is Plan for a chart that is rendered as that revision of its release, as an
// upgrade: it can be compared with the plan of one that is installed.
func (i *Install) PlanRevision(ctx context.Context, chrt *chart.Chart, vals map[string]any, revision int) (*Plan, error) {
	o := i.renderOptions(i.dryRunMode(false))
	o.release.Revision, o.release.IsInstall, o.release.IsUpgrade = revision, false, true
	return i.plan(ctx, chrt, vals, o)
}

func (i *Install) plan(ctx context.Context, chrt *chart.Chart, vals map[string]any, o renderOptions) (*Plan, error) {
	if err := i.checkReachable(); err != nil {
		return nil, err
	}
	if i.ClientOnly {
		i.useFakeCluster()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o.planned = true
	r := &renderer{cfg: i.cfg, renderOptions: o}
	if err := r.load(chrt, vals); err != nil {
		return nil, err
	}
	result, err := r.render()
	if err != nil {
		return nil, err
	}
	return &Plan{Plan: r.plan, Hooks: hookrunner.Plans(result.Hooks, render.HookModes(r.root, i.Namespace))}, nil
}
