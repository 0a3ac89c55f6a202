// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/preview"
	"github.com/ordered-helm/helm/internal/savedplan"
)

type (
	// SavedPlan is an install or upgrade that was planned, and can be executed exactly as planned
	// (docs/reference.md, "Saved plans"). It contains the contents of Secrets.
	SavedPlan = savedplan.Plan
	// PlanChangedError reports that a SavedPlan cannot be executed, because something that it depends on has
	// changed. Nothing was changed.
	PlanChangedError = savedplan.ChangedError
	// PlanClusterError reports that a SavedPlan was made for another cluster.
	PlanClusterError = savedplan.ClusterError
	// PlanDigestError reports that a file does not contain the plan with the expected digest.
	PlanDigestError = savedplan.DigestError
)

// The values of SavedPlan.Operation.
const (
	PlannedInstall = savedplan.Install
	PlannedUpgrade = savedplan.Upgrade
)

// WritePlan writes a plan to a file with the mode 0600, and returns its digest. version is the version of the program
// that is recorded in the file.
func WritePlan(path, version string, p *SavedPlan) (digest string, err error) {
	return savedplan.Write(path, version, p)
}

// ReadPlan reads a plan from a file, and returns its digest. If expectedDigest is not empty, and the plan has another
// digest, or if the file was altered, the error is a *PlanDigestError.
func ReadPlan(path, expectedDigest string) (p *SavedPlan, digest string, err error) {
	return savedplan.Read(path, expectedDigest)
}

// PlanUpgrade is like Preview, but also returns the plan with which RunPlan does exactly what the preview shows. The
// plan is nil if the server would reject something.
func (u *Upgrade) PlanUpgrade(ctx context.Context, name string, chrt *chart.Chart, vals map[string]any) (*Preview, *SavedPlan, error) {
	run, ctx, end, err := u.start(ctx, name, chrt, previewing)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	p := &SavedPlan{Operation: PlannedUpgrade, Options: u.planOptions()}
	run.planToSave = p
	shown, err := run.preview(ctx, preview.NewBuilder(run.op, PlannedUpgrade), chartloader.Copy(chrt), chartloader.CopyValues(vals))
	if err == nil {
		p, err = p.Complete(ctx, u.cfg, savedplan.Result{Preview: shown, Rendered: run.rendered, Revisions: run.state.History})
	}
	return shown, p, run.op.Finish(ctx, err)
}

// PlanInstall is what PlanUpgrade is for an installation.
func (i *Install) PlanInstall(ctx context.Context, chrt *chart.Chart, vals map[string]any) (*Preview, *SavedPlan, error) {
	run, ctx, end, err := i.start(ctx, previewing)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	p := &SavedPlan{Operation: PlannedInstall, Options: i.planOptions()}
	run.planToSave = p
	shown, err := run.preview(ctx, preview.NewBuilder(run.op, PlannedInstall), chartloader.Copy(chrt), chartloader.CopyValues(vals))
	if err == nil {
		p, err = p.Complete(ctx, i.cfg, savedplan.Result{Preview: shown, Rendered: run.rendered, Revisions: run.replaced})
	}
	return shown, p, run.op.Finish(ctx, err)
}

// RunPlan does what PlanUpgrade has planned. Before, it checks that the release, the objects that the plan compares,
// and the answers of the server about them are as they were; otherwise the error is a *PlanChangedError. RunPlan
// replaces the fields of u about what is deployed, and how, with those of the plan. It keeps Timeout, ReadinessTimeout,
// MaxParallelHooks, OnEvent, FollowHookLogs, Lifecycle, Takeover, ScriptOptions and those about output.
func (u *Upgrade) RunPlan(ctx context.Context, p *SavedPlan) (*release.Release, error) {
	u.usePlan(p)
	defer func() { u.savedPlan = nil }()
	ch, vals, err := checkPlan(ctx, p, u.cfg, &u.OnEvent, func(ctx context.Context, ch *chart.Chart, vals map[string]any) (*Preview, error) {
		return u.Preview(ctx, p.Release, ch, vals)
	})
	if err != nil {
		return nil, err
	}
	return u.RunWithContext(ctx, p.Release, ch, vals)
}

// RunPlan is what that of Upgrade is for an installation.
func (i *Install) RunPlan(ctx context.Context, p *SavedPlan) (*release.Release, error) {
	i.usePlan(p)
	defer func() { i.savedPlan = nil }()
	ch, vals, err := checkPlan(ctx, p, i.cfg, &i.OnEvent, i.Preview)
	if err != nil {
		return nil, err
	}
	return i.RunWithContext(ctx, ch, vals)
}

// checkPlan returns the chart and the values of a plan, if the plan can be executed. makePreview makes a preview, without
// onEvent: otherwise, warnings would be emitted twice.
func checkPlan(ctx context.Context, p *SavedPlan, cfg *Configuration, onEvent *func(Event), makePreview savedplan.MakePreview) (*chart.Chart, map[string]any, error) {
	emit := *onEvent
	*onEvent = nil
	err := p.Check(ctx, cfg, makePreview)
	if *onEvent = emit; err != nil {
		return nil, nil, err
	}
	return p.Chart.Load()
}

func (u *Upgrade) planOptions() savedplan.Options {
	return savedplan.Options{
		HelmOptions: savedplan.OptionsOfUpgrade(u.Upgrade), WaitStrategy: string(u.WaitStrategy), IgnoreJobs: u.IgnoreJobs,
		AllowIgnoredOrder: u.AllowIgnoredOrder, CRDs: u.CRDs, RecreateObjects: u.RecreateObjects, ReadinessTimeout: u.ReadinessTimeout,
	}
}

func (u *Upgrade) usePlan(p *SavedPlan) {
	p.ConfigureUpgrade(u.Upgrade)
	o := p.Options
	u.savedPlan, u.OrderFile, u.ReuseOrder, u.OnlyIfChanged = p, p.OrderFile, false, false
	u.WaitStrategy, u.IgnoreJobs, u.AllowIgnoredOrder, u.CRDs, u.RecreateObjects = WaitStrategy(o.WaitStrategy), o.IgnoreJobs, o.AllowIgnoredOrder, o.CRDs, o.RecreateObjects
}

func (i *Install) planOptions() savedplan.Options {
	return savedplan.Options{
		HelmOptions: savedplan.OptionsOfInstall(i.Install), WaitStrategy: string(i.WaitStrategy), IgnoreJobs: i.IgnoreJobs,
		AllowIgnoredOrder: i.AllowIgnoredOrder, CRDs: i.CRDs, ReadinessTimeout: i.ReadinessTimeout,
	}
}

func (i *Install) usePlan(p *SavedPlan) {
	p.ConfigureInstall(i.Install)
	o := p.Options
	i.savedPlan, i.OrderFile = p, p.OrderFile
	i.WaitStrategy, i.IgnoreJobs, i.AllowIgnoredOrder, i.CRDs = WaitStrategy(o.WaitStrategy), o.IgnoreJobs, o.AllowIgnoredOrder, o.CRDs
}
