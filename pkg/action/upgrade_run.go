// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/chartscripts"
	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/deploy"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/hooks"
	"github.com/ordered-helm/helm/internal/inventory"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/planner"
	"github.com/ordered-helm/helm/internal/preview"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
)

// upgradeRun holds the state of one call of Upgrade.RunWithContext or Upgrade.Preview.
type upgradeRun struct {
	action *Upgrade
	mode   runMode
	op     *operation.Operation
	// crds says what to do with CRDs, according to the fields CRDs and SkipCRDs.
	crds CRDPolicy
	name string

	state *lease.LockCheckResult
	// last is the newest revision. current is the revision whose manifest Helm compares
	// with the new one: the revision that is recorded as deployed or, if there is none,
	// last.
	last, current *release.Release
	// planToSave is the plan to which the chart is added; nil if no plan is saved.
	planToSave *SavedPlan
	planner    *planner.Planner
	output     *scriptOutput
	rendered   *planner.Rendered
	rel        *release.Release
	events     *lifecycle.Operation
	deploy     *deploy.Run
	// asInstall says that the chart is rendered as for an installation, and that its install
	// hooks run, because no revision was ever deployed.
	asInstall bool
}

func (r *upgradeRun) upgrade(ctx context.Context, chrt *chart.Chart, vals map[string]any) (*release.Release, error) {
	r.op.Log("preparing upgrade for %s", r.name)
	if err := r.load(ctx); err != nil {
		return nil, err
	}
	if !r.mode.isDryRun() {
		r.op.Announce(Operation{Name: "upgrade", Release: r.name, Namespace: r.current.Namespace, Revision: r.last.Version + 1, Ordered: r.action.isOrdered()})
	}
	if err := r.loadChart(ctx, chrt, vals); err != nil {
		return nil, err
	}
	var err error
	if r.action.Unchanged, err = r.isUnchanged(ctx); err != nil {
		return nil, err
	}
	if r.action.Unchanged {
		return r.last, r.awaitUnchanged(ctx)
	}
	if err := r.installCRDs(ctx); err != nil {
		return nil, err
	}
	if err := r.render(ctx); err != nil {
		return nil, err
	}
	if err := r.installCRDHooks(ctx); err != nil {
		return nil, err
	}
	if rel, err := r.validate(ctx); err != nil {
		return rel, err
	}
	if r.mode.isDryRun() {
		r.rel.Info.Description = r.description("Dry run complete")
		return r.rel, nil
	}
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	if err := r.deploy.Perform(ctx); err != nil {
		return r.fail(ctx, r.deploy.Failure(ctx, err))
	}
	return r.rel, r.conclude()
}

func (r *upgradeRun) preview(ctx context.Context, b *preview.Builder, chrt *chart.Chart, vals map[string]any) (*Preview, error) {
	ctx = cluster.WithManagedFields(ctx) // drift and rules for ignoring it depend on them
	if err := r.load(ctx); err != nil {
		return nil, err
	}
	if err := r.loadChart(ctx, chrt, vals); err != nil {
		return nil, err
	}
	if err := b.AddCRDs(ctx, r.newRelease(), r.crds); err != nil {
		return nil, err
	}
	if err := r.render(ctx); err != nil {
		return nil, err
	}
	if r.crds != CRDPolicySkip && !r.action.DisableHooks {
		if err := b.AddCRDHooks(ctx, r.rel.Hooks); err != nil {
			return nil, err
		}
	}
	pending, err := b.PendingKinds(r.rel, r.action.isOrdered())
	if err != nil {
		return nil, err
	}
	if _, err := r.check(ctx, pending); err != nil {
		return nil, err
	}
	return b.Build(ctx, r.deploy)
}

// load reads the release, checks that no other operation has locked it, and sets last and
// current.
func (r *upgradeRun) load(ctx context.Context) error {
	check := &lease.LockCheck{
		Store: r.op.Store, Events: r.op.Events, Release: r.name, Takeover: r.action.Takeover,
		DryRun: r.mode != deploying, StatusError: r.inProgressError,
	}
	var err error
	if r.state, err = check.Run(ctx); err != nil {
		return err
	}
	revisions, err := r.state.History, r.state.Err
	if p := r.action.savedPlan; p != nil && (err == nil || errors.Is(err, driver.ErrReleaseNotFound)) {
		if err := p.CheckRelease(revisions); err != nil {
			return err
		}
	}
	if errors.Is(err, driver.ErrReleaseNotFound) || err == nil && len(revisions) == 0 {
		return driver.NewErrNoDeployedReleases(r.name)
	}
	if err != nil {
		return err
	}
	r.last = history.Newest(revisions)
	r.current = history.NewestWith(revisions, release.StatusDeployed)
	if r.current == nil {
		switch r.last.Info.Status {
		case release.StatusFailed, release.StatusSuperseded:
			r.current = r.last
		default:
			return driver.NewErrNoDeployedReleases(r.name)
		}
	}
	return nil
}

// inProgressError returns stock Helm's error for a release that is locked, because its last
// revision has the given status, such as pending-upgrade.
func (r *upgradeRun) inProgressError(status release.Status) error {
	if status.IsPending() {
		return lease.ErrPending
	}
	return driver.NewErrNoDeployedReleases(r.name)
}

// loadChart reads what chrt and its subcharts declare about order and hooks, and makes Helm
// process their dependencies.
func (r *upgradeRun) loadChart(ctx context.Context, chrt *chart.Chart, vals map[string]any) error {
	u := r.action
	chrt, err := orderrecord.WithRecord(chartscripts.WithoutRecord(chrt), nil)
	if err != nil {
		return err
	}
	if vals, err = u.values(chrt, r.current, vals); err != nil {
		return err
	}
	orderFile, err := r.orderFile()
	if err != nil {
		return err
	}
	if err := r.planToSave.AddChart(chrt, vals, orderFile); err != nil {
		return err
	}
	r.planner, err = planner.New(ctx, u.cfg, chrt, vals, planner.RenderOptions{
		Release: chartutil.ReleaseOptions{Name: r.name, Namespace: r.current.Namespace, Revision: r.last.Version + 1, IsUpgrade: true},
		Ordered: u.isOrdered(), OrderFile: orderFile, AllowIgnored: u.AllowIgnoredOrder, IgnoreJobs: u.IgnoreJobs, DisableHooks: u.DisableHooks, DryRun: r.mode.isDryRun(), LooksUp: r.mode.looksUp(),
		EnableDNS: u.EnableDNS, SubNotes: u.SubNotes, HideSecret: u.HideSecret,
		SkipSchemaValidation: u.SkipSchemaValidation, PostRenderer: u.PostRenderer,
		Handlers: u.handlers(u.Lifecycle, u.cfg, r.output, r.mode.looksUp()), Recorded: u.savedPlan.Recorded(),
	})
	return err
}

// render renders the chart and creates the new revision from the result.
func (r *upgradeRun) render(ctx context.Context) error {
	if err := r.renderChart(ctx, r.last.Version+1); err != nil {
		return err
	}
	if driver.ContainsSystemLabels(r.action.Labels) {
		return reservedLabelsError()
	}
	r.rel = r.newRelease()
	setRendered(r.rel, r.rendered)
	r.events = eventsOf(r.planner.Emitter(), r.rel, r.rendered.TemplateValues)
	return nil
}

func (r *upgradeRun) newRelease() *release.Release {
	return &release.Release{
		Name: r.name, Namespace: r.current.Namespace, Chart: r.planner.Chart, Config: r.planner.Values,
		Info: &release.Info{
			FirstDeployed: r.current.Info.FirstDeployed, LastDeployed: r.action.cfg.Now(),
			Status: release.StatusPendingUpgrade, Description: "Preparing upgrade",
		},
		Version: r.last.Version + 1, Labels: r.action.labels(r.last),
	}
}

func (r *upgradeRun) deployConfig(rel *release.Release, plan *sequencer.Plan, pending map[schema.GroupKind]bool) deploy.RunConfig {
	u := r.action
	inv := inventory.New(r.state.History, r.current)
	before, after := release.HookPreUpgrade, release.HookPostUpgrade
	if r.asInstall {
		before, after = release.HookPreInstall, release.HookPostInstall
	}
	return deploy.RunConfig{Operation: r.op, Writer: r.op.Store.NewWriter(rel), Plan: plan, Inventory: inv, Revisions: r.state.History, Options: deploy.Options{
		Wait: u.Wait || u.Atomic, Jobs: waitsForJobs(u.isOrdered(), u.WaitForJobs, u.IgnoreJobs), Timeout: u.Timeout,
		Force: u.Force, TakeOwnership: u.TakeOwnership, Validate: !u.DisableOpenAPIValidation, RecreatePods: u.Recreate, Recreate: u.RecreateObjects,
		PendingKinds: pending, Conflict: "Unable to continue with update", Lifecycle: r.events,
		Hooks: deploy.HookOptions{
			Disabled: u.DisableHooks, Before: before, After: after,
			Options: hooks.Options{
				Timeout: u.Timeout, Limit: u.MaxParallelHooks, FollowLogs: u.FollowHookLogs, Modes: r.planner.HookModes(),
			},
			Error: func(event release.HookEvent, err error) error { return fmt.Errorf("%s hooks failed: %w", event, err) },
		},
	}}
}

// installCRDHooks installs the CustomResourceDefinitions that are crd-install hooks, after
// all checks that do not need the new kinds.
func (r *upgradeRun) installCRDHooks(ctx context.Context) error {
	if r.mode.isDryRun() || r.crds == CRDPolicySkip {
		return nil
	}
	return explainUnusableRecord(deploy.InstallCRDHooks(ctx, r.deployConfig(r.rel, r.rendered.Plan, nil), r.planner.Record(r.rel, r.rendered)))
}

// explainUnusableRecord adds advice to err if it reports that the order record of an
// earlier revision cannot be used.
func explainUnusableRecord(err error) error {
	if history.IsInvalidRecord(err) {
		return fmt.Errorf("%w: upgrade with --wait=true, which ignores the order; later upgrades can be ordered again", err)
	}
	return err
}

// validate calls check, between the events pre-validate and post-validate. A dry run does not have these
// events.
func (r *upgradeRun) validate(ctx context.Context) (*release.Release, error) {
	if r.mode.isDryRun() {
		return r.check(ctx, nil)
	}
	if err := r.events.Emit(ctx, lifecycle.PreValidate); err != nil {
		return nil, err
	}
	if rel, err := r.check(ctx, nil); err != nil {
		return rel, err
	}
	return nil, r.events.Emit(ctx, lifecycle.PostValidate)
}

// check builds the objects of the new revision, and makes all checks that are possible
// before anything is changed. Only a preview sets pending: the kinds that do not exist in
// the cluster yet, but would be defined by CRDs of the release. In some cases, check
// returns the release together with the error, as Helm does.
func (r *upgradeRun) check(ctx context.Context, pending map[schema.GroupKind]bool) (*release.Release, error) {
	warn(r.op.Events, r.rendered.Warnings)
	config := r.deployConfig(r.rel, r.rendered.Plan, pending)
	var err error
	if r.deploy, err = deploy.New(config); err != nil {
		return nil, err
	}
	if err := config.ReadInventory(ctx); err != nil {
		return r.rel, explainUnusableRecord(err)
	}
	stored, err := r.planner.StoredChart()
	if err != nil {
		return nil, err
	}
	if err := r.deploy.SetRecord(stored, r.planner.Record(r.rel, r.rendered)); err != nil {
		return nil, err
	}
	r.deploy.HideSecrets()
	if err := r.deploy.FindExisting(ctx, true); err != nil {
		return nil, err
	}
	if r.mode.isDryRun() {
		return r.rel, nil
	}
	return nil, r.deploy.Check(ctx)
}

// begin locks the release and stores the new revision as pending. Nothing else is changed
// yet.
func (r *upgradeRun) begin(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	r.action.cfg.Releases.MaxHistory = r.action.MaxHistory
	r.op.Log("creating upgraded release for %s", r.name)
	return begin(r.op, r.deploy, "upgrade", r.state)
}

// conclude records the new revision as deployed, and the revision that was deployed before
// as superseded.
func (r *upgradeRun) conclude() error {
	if err := r.op.Lease().MayConclude(); err != nil {
		return err
	}
	r.op.Store.NewWriter(history.Copy(r.current)).WriteOrWarn(r.op.Events, func(rel *release.Release) { rel.Info.Status = release.StatusSuperseded })
	r.op.Log("updating status for upgraded release for %s", r.name)
	return r.deploy.Writer().Write(func(rel *release.Release) {
		rel.Info.Status, rel.Info.Description = release.StatusDeployed, r.description("Upgrade complete")
	})
}

func (r *upgradeRun) description(fallback string) string {
	return cmp.Or(r.action.Description, fallback)
}

// fail records that the upgrade failed because of cause. If CleanupOnFail is set, it then
// deletes the objects that the upgrade created; if Atomic is set, it rolls the release
// back. It returns the new revision and the error of the upgrade.
func (r *upgradeRun) fail(ctx context.Context, cause error) (*release.Release, error) {
	r.op.Log("warning: Upgrade %q failed: %s", r.name, cause)
	if lost := r.op.Lease().Lost(); lost != nil {
		return r.rel, lost
	}
	undo, description := context.WithoutCancel(ctx), fmt.Sprintf("Upgrade %q failed: %s", r.name, failure.Description(cause))
	var lost, unclean error
	if r.action.CleanupOnFail {
		lost, unclean = r.deploy.CleanUpAndRecord(undo, cause, description)
	} else {
		lost = r.deploy.RecordFailure(description)
	}
	switch {
	case lost != nil:
		return r.rel, lost
	case unclean != nil:
		return r.rel, &UndoError{Failure: cause, Undo: unclean, Prefix: "an error occurred while cleaning up resources. original upgrade error"}
	}
	if !r.action.Atomic {
		return r.rel, cause
	}
	return r.rel, r.rollBack(undo, cause)
}

// rollBack rolls the release back to the newest revision that is recorded as deployed or,
// if there is none, as superseded. cause is the failure of the upgrade. rollBack returns
// the error of the upgrade, which wraps cause.
func (r *upgradeRun) rollBack(ctx context.Context, cause error) error {
	u := r.action
	r.op.Log("Upgrade failed and atomic is set, rolling back to last successful release")
	revisions, err := r.op.Store.ReadAll(r.name)
	if err != nil {
		return &UndoError{Failure: cause, Undo: err, Prefix: "an error occurred while finding last successful release. original upgrade error"}
	}
	target := history.NewestWith(revisions, release.StatusDeployed)
	if target == nil {
		target = history.NewestWith(revisions, release.StatusSuperseded)
	}
	if target == nil {
		return fmt.Errorf("unable to find a previously successful release when attempting to rollback. original upgrade error: %w", cause)
	}
	r.op.Events.Warnf("--atomic: rolling back the failed upgrade of release %s to revision %d; cause of the failure: %s", r.name, target.Version, text.OneLine(failure.Description(cause)))
	b := NewRollback(u.cfg)
	b.Version, b.Wait, b.WaitForJobs, b.DisableHooks, b.Recreate, b.Force, b.Timeout = target.Version, true, u.WaitForJobs, u.DisableHooks, u.Recreate, u.Force, u.Timeout
	b.MaxParallelHooks, b.FollowHookLogs = u.MaxParallelHooks, u.FollowHookLogs
	b.IgnoreJobs, b.ReadinessTimeout, b.OnEvent, b.spared = u.IgnoreJobs, u.ReadinessTimeout, u.OnEvent, r.deploy.Adopted()
	b.undo = failedOperation(r.op, r.rel)
	if err := b.RunWithContext(ctx, r.name); err != nil {
		return &UndoError{Failure: cause, Undo: err, Prefix: "an error occurred while rolling back the release. original upgrade error"}
	}
	return fmt.Errorf("release %s failed, and has been rolled back due to atomic being set: %w", r.name, cause)
}
