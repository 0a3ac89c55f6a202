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
	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/planner"
	"github.com/ordered-helm/helm/internal/preview"
)

// Install installs a chart. It has every field of Helm's Install, with the same meaning
// (docs/reference.md, "Install").
type Install struct {
	*helmaction.Install

	// WaitStrategy, if not empty, takes precedence over the field Wait.
	WaitStrategy WaitStrategy
	// ReadinessTimeout is how long each resource with dependents may take to become ready.
	// 0 means ten seconds, or Timeout if that is shorter. It must not be longer than
	// Timeout. Resources can declare their own timeout.
	ReadinessTimeout time.Duration
	// MaxParallelHooks is the maximum number of hooks that run at the same time, if the
	// chart lets hooks run in parallel. 0 means no limit. It must not be negative.
	MaxParallelHooks int
	// FollowHookLogs reads the log of each running hook about once a second and passes its
	// last line to OnEvent.
	FollowHookLogs bool
	// Arrange is the form in which a dry run with WaitStrategyOrdered prints the order.
	Arrange Arrangement
	// OnEvent, if set, is called for every step of the operation. It is called from
	// different goroutines, but never concurrently. It must return quickly.
	OnEvent func(Event)

	cfg *Configuration
}

// NewInstall returns an Install with Helm's defaults.
func NewInstall(cfg *Configuration) *Install {
	return &Install{Install: helmaction.NewInstall(cfg), cfg: cfg}
}

// Run is like RunWithContext with a context that is never cancelled.
func (i *Install) Run(chrt *chart.Chart, vals map[string]any) (*release.Release, error) {
	return i.RunWithContext(context.Background(), chrt, vals) //nolint:forbidigo // the signature is Helm's
}

// RunWithContext installs the chart. When ctx is done, it stops, records the release as
// failed and returns; none of its work continues after that. If the install fails after the
// release was recorded, RunWithContext returns the release together with the error.
func (i *Install) RunWithContext(ctx context.Context, chrt *chart.Chart, vals map[string]any) (*release.Release, error) {
	run, ctx, end, err := i.start(ctx, dryRunMode(i.DryRunOption, i.DryRun))
	if err != nil {
		return nil, err
	}
	defer end()
	if !run.mode.isDryRun() {
		run.op.Begin(Operation{Name: "install", Release: i.ReleaseName, Namespace: i.Namespace, Revision: 1, Ordered: i.ordered()})
	}
	rel, err := run.install(ctx, chrt, vals)
	return rel, run.op.Finish(ctx, err)
}

// Preview returns what RunWithContext would do. It writes no object, runs no hook and
// records no revision. If RunWithContext would fail before it changes anything, Preview
// returns the same error. Objects that the server would reject are part of the preview.
// Preview ignores the fields DryRun and DryRunOption. Unlike RunWithContext, it does not
// change the chart and the values.
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

func (i *Install) ordered() bool { return i.WaitStrategy == WaitStrategyOrdered }

// Plan renders the chart and returns how it would be deployed, without deploying anything
// (docs/reference.md, "helm dag").
func (i *Install) Plan(ctx context.Context, chrt *chart.Chart, vals map[string]any) (*Plan, error) {
	return i.plan(ctx, chrt, vals, i.plannerOptions(dryRunMode(i.DryRunOption, i.DryRun)))
}

// PlanRevision is like Plan, but renders the chart as an upgrade to the given revision. Use
// it to compare the chart with the plan of an installed release.
func (i *Install) PlanRevision(ctx context.Context, chrt *chart.Chart, vals map[string]any, revision int) (*Plan, error) {
	o := i.plannerOptions(dryRunMode(i.DryRunOption, i.DryRun))
	o.Release.Revision, o.Release.IsInstall, o.Release.IsUpgrade = revision, false, true
	return i.plan(ctx, chrt, vals, o)
}

func (i *Install) plan(ctx context.Context, chrt *chart.Chart, vals map[string]any, o planner.Options) (*Plan, error) {
	if err := i.checkReachable(); err != nil {
		return nil, err
	}
	if i.ClientOnly {
		i.useFakeCluster()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o.Ordered = true // even if the options do not say so
	p, err := planner.New(i.cfg, chartloader.Copy(chrt), chartloader.CopyValues(vals), o)
	if err != nil {
		return nil, err
	}
	rendered, err := p.Render()
	if err != nil {
		return nil, err
	}
	return &Plan{Plan: rendered.Plan, Hooks: hookrunner.Plans(rendered.Hooks, p.HookModes())}, nil
}
