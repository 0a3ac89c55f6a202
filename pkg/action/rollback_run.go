// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"

	"github.com/ordered-helm/helm/internal/deploy"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/hooks"
	"github.com/ordered-helm/helm/internal/inventory"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/placeholder"
	"github.com/ordered-helm/helm/internal/revisiondiff"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// rollbackTarget describes the revision to which a release is rolled back.
type rollbackTarget struct {
	// state contains the revisions of the release, as read when the lock was checked.
	state *lease.LockCheckResult
	// current is the newest revision of the release, and revision is the one to return to.
	current, revision *release.Release
	// plan is the deployment plan of revision; nil if the rollback follows no order. record
	// is the order record from which plan was rebuilt.
	plan   *sequencer.Plan
	record *orderrecord.Record
}

// load reads the release, finds the revision to return to, and checks that no other
// operation has locked the release.
func (r *Rollback) load(ctx context.Context, name string) (t *rollbackTarget, err error) {
	if err := chartutil.ValidateReleaseName(name); err != nil {
		return nil, fmt.Errorf("prepareRollback: Release name is invalid: %s", name)
	}
	if r.Version < 0 {
		return nil, errors.New("invalid release revision")
	}
	t = new(rollbackTarget)
	if t.state, err = r.readState(ctx, name); err != nil {
		return nil, err
	}
	if t.state.Err != nil {
		return nil, t.state.Err
	}
	if t.current = history.Newest(t.state.History); t.current == nil {
		return nil, fmt.Errorf("no revision for release %q", name)
	}
	version := r.Version
	if version == 0 {
		version = t.current.Version - 1
	}
	for _, rel := range t.state.History {
		if rel.Version == version {
			t.revision = rel
		}
	}
	if t.revision == nil {
		return nil, fmt.Errorf("release has no %d version", version)
	}
	if err := placeholder.CheckReadable(t.revision); err != nil {
		return nil, err
	}
	r.cfg.Log("rolling back %s (current: v%d, target: v%d)", name, t.current.Version, version)
	t.plan, t.record, err = r.orderOf(t.revision)
	return t, err
}

// readState reads the revisions of the release. Unless this is a dry run, it returns an
// error if another operation has locked the release.
func (r *Rollback) readState(ctx context.Context, name string) (*lease.LockCheckResult, error) {
	store := history.NewStore(r.cfg.Releases, r.cfg.Log)
	if r.DryRun {
		revisions, err := store.ReadAll(name)
		return &lease.LockCheckResult{History: revisions, Err: err}, nil
	}
	check := &lease.LockCheck{Store: store, Events: event.NewSink(r.OnEvent, nil), Release: name, Takeover: r.Takeover, Undo: r.undo}
	return check.Run(ctx)
}

// orderOf returns the deployment plan of a revision, and the order record from which it was
// rebuilt. Both are nil if the revision was not deployed in order, or if IgnoreOrder is
// set. If the order record cannot be used, orderOf returns an error, unless the field Wait
// requests a rollback that follows no order.
func (r *Rollback) orderOf(rel *release.Release) (*sequencer.Plan, *orderrecord.Record, error) {
	if r.IgnoreOrder {
		return nil, nil, nil
	}
	plan, rec, err := history.PlanFor(rel, history.PlanOptions{Operation: sequencer.Rollback, DisableHooks: r.DisableHooks, IgnoreExternal: r.undo != nil})
	if history.IsInvalidRecord(err) && r.Wait && r.WaitStrategy == WaitStrategyNone {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: use --wait=true to roll back without any order", err)
	}
	return plan, rec, nil
}

// rollbackRun holds the state of one call of Rollback.RunWithContext.
type rollbackRun struct {
	action *Rollback
	op     *operation.Operation
	target *rollbackTarget
	// rel is the new revision.
	rel    *release.Release
	events *lifecycle.Operation
	deploy *deploy.Run
}

func (r *rollbackRun) isOrdered() bool { return r.target.plan != nil }

func (r *rollbackRun) rollBack(ctx context.Context) error {
	events, end, err := r.action.storedEvents(ctx, r.op, r.action.cfg, storedEventsConfig{
		emitter: r.action.Lifecycle, disabled: r.action.DisableScripts || r.action.undo != nil, source: r.target.revision, rel: r.rel,
	})
	if err != nil {
		return err
	}
	defer end()
	r.events = events
	if err := r.events.Emit(ctx, lifecycle.PreValidate); err != nil {
		return err
	}
	if err := r.check(ctx); err != nil {
		return err
	}
	if err := r.events.Emit(ctx, lifecycle.PostValidate); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	r.op.Log("creating rolled back release for %s", r.rel.Name)
	if err := begin(r.op, r.deploy, "rollback", r.target.state); err != nil {
		return err
	}
	if err := r.deploy.Perform(ctx); err != nil {
		return r.fail(ctx, r.deploy.Failure(ctx, err))
	}
	return r.conclude()
}

// newRelease returns the new revision, which is a copy of the revision to return to, with more labels.
func (t *rollbackTarget) newRelease(more map[string]string) *release.Release {
	labels := maps.Clone(t.revision.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, more)
	return &release.Release{
		Name: t.current.Name, Namespace: t.current.Namespace, Chart: t.revision.Chart, Config: t.revision.Config,
		Info: &release.Info{
			FirstDeployed: t.current.Info.FirstDeployed, LastDeployed: helmtime.Now(), Status: release.StatusPendingRollback,
			Notes: t.revision.Info.Notes, Description: revisiondiff.RollbackDescription(t.revision.Version),
		},
		Version: t.current.Version + 1, Labels: labels, Manifest: t.revision.Manifest, Hooks: history.CopyHooks(t.revision.Hooks),
	}
}

// check builds the objects of the new revision, and makes all checks that are possible
// before anything is changed.
func (r *rollbackRun) check(ctx context.Context) error {
	b := r.action
	if !r.isOrdered() && b.WaitStrategy == WaitStrategyOrdered {
		r.op.Events.Warnf("revision %d of release %s was not deployed in order: all resources are changed at the same time, without ordering, then waited for", r.target.revision.Version, r.rel.Name)
	}
	inv := inventory.New(r.target.state.History, r.target.current)
	inReverse := r.isOrdered() || !b.IgnoreOrder && inv.IsOrdered() && !r.op.Delegates()
	config := r.deployConfig(inv, inReverse)
	err := config.ReadInventory(ctx)
	if err != nil {
		return err
	}
	if r.deploy, err = deploy.New(config); err != nil {
		return fmt.Errorf("unable to build kubernetes objects from new release manifest: %w", err)
	}
	if err := r.setOrderRecord(); err != nil {
		return err
	}
	r.deploy.HideSecrets()
	if r.isOrdered() {
		if err := r.deploy.FindExisting(ctx, true); err != nil {
			return err
		}
	}
	return r.deploy.Check(ctx)
}

func (r *rollbackRun) deployConfig(inv *inventory.Inventory, inReverse bool) deploy.RunConfig {
	b := r.action
	return deploy.RunConfig{Operation: r.op, Writer: r.op.Store.NewWriter(r.rel), Plan: r.target.plan, Inventory: inv, Revisions: r.target.state.History, Options: deploy.Options{
		PruneInReverse: inReverse, IgnoreInvalidRecords: true, Wait: b.Wait || b.WaitStrategy == WaitStrategyOrdered, Jobs: r.waitsForJobs(), Timeout: b.Timeout,
		Force: b.Force, RecreatePods: b.Recreate, Recreate: b.RecreateObjects, Undo: b.undo != nil, TakeOwnership: true, SkipEndedJobs: true, SkipChartChecks: true, StopEarlierJobs: true, Spared: b.spared, Lifecycle: r.events,
		Hooks: deploy.HookOptions{
			Disabled: b.DisableHooks, Before: release.HookPreRollback, After: release.HookPostRollback,
			Options: hooks.Options{
				Timeout: b.Timeout, Limit: b.MaxParallelHooks, FollowLogs: b.FollowHookLogs, Modes: history.HookModesOrWarn(r.target.revision, r.op.Events),
			},
			Error: func(_ release.HookEvent, err error) error { return err },
		},
	}}
}

// setOrderRecord sets the order record that is stored with the new revision.
func (r *rollbackRun) setOrderRecord() error {
	if r.target.revision.Chart == nil {
		return nil
	}
	bare, err := orderrecord.WithRecord(r.target.revision.Chart, nil)
	if err != nil {
		return err
	}
	rec := history.RollbackRecord(r.target.revision, r.rel.Version, r.target.record)
	if r.isOrdered() {
		rec.IgnoreJobs, rec.Operation = !r.waitsForJobs(), r.target.plan.SkippingOperation()
	}
	return r.deploy.SetRecord(bare, rec)
}

// waitsForJobs reports whether the rollback waits for Jobs without dependents. If the fields
// WaitForJobs and IgnoreJobs do not say so, the order record of the target decides.
func (r *rollbackRun) waitsForJobs() bool {
	b := r.action
	return waitsForJobs(r.isOrdered(), b.WaitForJobs, b.IgnoreJobs || r.isOrdered() && r.target.record.IgnoreJobs)
}

// conclude records the new revision as deployed, and all revisions that were recorded as
// deployed as superseded.
func (r *rollbackRun) conclude() error {
	if err := r.op.Lease().MayConclude(); err != nil {
		return err
	}
	deployed, err := r.op.Store.Deployed(r.rel.Name)
	if err != nil {
		return err
	}
	for _, rel := range deployed {
		r.op.Log("superseding previous deployment %d", rel.Version)
		r.supersede(rel)
	}
	r.op.Log("updating status for rolled back release for %s", r.rel.Name)
	return r.deploy.Writer().Write(func(rel *release.Release) { rel.Info.Status = release.StatusDeployed })
}

func (r *rollbackRun) supersede(rel *release.Release) {
	r.op.Store.NewWriter(history.Copy(rel)).WriteOrWarn(r.op.Events, func(rel *release.Release) { rel.Info.Status = release.StatusSuperseded })
}

// fail records that the rollback failed because of cause. If CleanupOnFail is set, it
// deletes the objects that the rollback created. It returns the error of the rollback.
func (r *rollbackRun) fail(ctx context.Context, cause error) error {
	if lost := r.op.Lease().Lost(); lost != nil {
		return lost
	}
	description := fmt.Sprintf("Rollback %q failed: %s", r.rel.Name, failure.Description(cause))
	r.op.Log("warning: %s", description)
	result := cause
	switch r.deploy.Phase() {
	case deploy.Applying: // as in Helm, except that a failed revision stays failed
		if !r.isOrdered() && r.target.current.Info.Status == release.StatusDeployed {
			r.supersede(r.target.current)
		}
	case deploy.Waiting: // a phase of deployments without an order
		description = fmt.Sprintf("Release %q failed: %s", r.rel.Name, failure.Description(cause))
		result = fmt.Errorf("release %s failed: %w", r.rel.Name, cause)
	}
	var lost, unclean error
	if r.action.CleanupOnFail && r.deploy.Phase() != deploy.Waiting {
		lost, unclean = r.deploy.CleanUpAndRecord(context.WithoutCancel(ctx), cause, description)
	} else {
		lost = r.deploy.RecordFailure(description)
	}
	switch {
	case lost != nil:
		return lost
	case unclean != nil:
		return &UndoError{Failure: cause, Undo: unclean, Prefix: "an error occurred while cleaning up resources. original rollback error"}
	}
	return result
}
