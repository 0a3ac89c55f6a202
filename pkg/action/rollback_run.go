// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"

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
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// rollbackRun is the state of one call of Rollback.RunWithContext.
type rollbackRun struct {
	action *Rollback
	op     *operation.Operation
	name   string
	// wait is true if the rollback waits until all resources are ready, without an order.
	wait bool

	// state contains the revisions of the release, as read when the lock was checked.
	// current is the newest revision, and target is the revision to return to.
	state           *lease.State
	current, target *release.Release
	// plan is the plan of target; nil if target was not deployed in order. record is the
	// stored record from which plan was rebuilt.
	plan   *sequencer.Plan
	record *orderrecord.Record

	rel    *release.Release
	deploy *deploy.Run
}

// load reads the release, checks that no other operation works on it, and sets current,
// target and plan.
func (r *rollbackRun) load(ctx context.Context) error {
	b := r.action
	if err := chartutil.ValidateReleaseName(r.name); err != nil {
		return fmt.Errorf("prepareRollback: Release name is invalid: %s", r.name)
	}
	if b.Version < 0 {
		return errors.New("invalid release revision")
	}
	var err error
	if r.state, err = r.readState(ctx); err != nil {
		return err
	}
	if r.state.Err != nil {
		return r.state.Err
	}
	if r.current = history.Newest(r.state.History); r.current == nil {
		return fmt.Errorf("no revision for release %q", r.name)
	}
	version := b.Version
	if version == 0 {
		version = r.current.Version - 1
	}
	for _, rel := range r.state.History {
		if rel.Version == version {
			r.target = rel
		}
	}
	if r.target == nil {
		return fmt.Errorf("release has no %d version", version)
	}
	b.cfg.Log("rolling back %s (current: v%d, target: v%d)", r.name, r.current.Version, version)
	r.plan, r.record, err = r.targetOrder()
	return err
}

// readState reads the revisions of the release. Unless this is a dry run, it returns an
// error if another operation works on the release.
func (r *rollbackRun) readState(ctx context.Context) (*lease.State, error) {
	b := r.action
	store := history.NewStore(b.cfg.Releases, b.cfg.Log)
	if b.DryRun {
		revisions, err := store.ReadAll(r.name)
		return &lease.State{History: revisions, Err: err}, nil
	}
	check := &lease.Check{Store: store, Events: event.NewSink(b.OnEvent), Release: r.name, Takeover: b.Takeover, Undo: b.undo}
	return check.Run(ctx)
}

// targetOrder returns the plan of target and the record from which it was rebuilt. Both are
// nil if target was not deployed in order, or if IgnoreOrder is set. If the record is
// unusable, it returns an error, unless the field Wait asks for a rollback without an
// order.
func (r *rollbackRun) targetOrder() (*sequencer.Plan, *orderrecord.Record, error) {
	b := r.action
	if b.IgnoreOrder {
		return nil, nil, nil
	}
	plan, rec, err := history.Plan(r.target)
	if history.IsUnusable(err) && b.Wait && b.WaitStrategy == WaitStrategyNone {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: use --wait=true to roll back without any order", err)
	}
	return plan, rec, nil
}

func (r *rollbackRun) ordered() bool { return r.plan != nil }

func (r *rollbackRun) rollBack(ctx context.Context) error {
	r.rel = r.newRelease()
	if err := r.check(ctx); err != nil {
		return err
	}
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if err := r.begin(); err != nil {
		return err
	}
	if err := r.deploy.Perform(ctx); err != nil {
		return r.fail(ctx, r.deploy.Failure(ctx, err))
	}
	return r.conclude()
}

// begin locks the release and stores the new revision as pending, so that other operations
// cannot change the release.
func (r *rollbackRun) begin() error {
	r.op.Log("creating rolled back release for %s", r.name)
	if _, err := r.op.Hold(r.deploy.Writer(), "rollback", r.rel.Info.Status); err != nil {
		return err
	}
	interrupted, err := lease.CreateNext(r.op.Store, r.op.Events, r.rel, r.state)
	r.deploy.SetInterrupted(interrupted)
	return err
}

func (r *rollbackRun) newRelease() *release.Release {
	return &release.Release{
		Name: r.name, Namespace: r.current.Namespace, Chart: r.target.Chart, Config: r.target.Config,
		Info: &release.Info{
			FirstDeployed: r.current.Info.FirstDeployed, LastDeployed: helmtime.Now(), Status: release.StatusPendingRollback,
			Notes: r.target.Info.Notes, Description: fmt.Sprintf("Rollback to %d", r.target.Version),
		},
		Version: r.current.Version + 1, Labels: r.target.Labels, Manifest: r.target.Manifest, Hooks: history.CopyHooks(r.target.Hooks),
	}
}

// check prepares the deployment and does all checks that are possible before anything is
// changed.
func (r *rollbackRun) check(ctx context.Context) error {
	b := r.action
	if !r.ordered() && b.WaitStrategy == WaitStrategyOrdered {
		r.op.Events.Warnf("revision %d of release %s was not deployed in order: all resources are changed at once, then waited for", r.target.Version, r.name)
		r.wait = true
	}
	inv := inventory.New(r.state.History, r.current)
	inReverse := r.ordered() || !b.IgnoreOrder && inv.IsOrdered() && r.op.Cluster.IsNative()
	r.deploy = r.newDeploy(inv, inReverse)
	if err := r.deploy.ReadInventory(ctx); err != nil {
		return err
	}
	if err := r.deploy.Build(); err != nil {
		return fmt.Errorf("unable to build kubernetes objects from new release manifest: %w", err)
	}
	if err := r.setOrderRecord(); err != nil {
		return err
	}
	r.deploy.HideSecrets()
	if r.ordered() {
		if err := r.deploy.FindExisting(ctx, true); err != nil {
			return err
		}
	}
	return r.deploy.Check(ctx)
}

func (r *rollbackRun) newDeploy(inv *inventory.Inventory, inReverse bool) *deploy.Run {
	b := r.action
	return deploy.New(r.op, r.op.Store.NewWriter(r.rel), r.plan, inv, deploy.Options{
		PruneInReverse: inReverse, IgnoreUnusableRecords: true, Wait: r.wait, Jobs: b.WaitForJobs, Timeout: b.Timeout,
		Force: b.Force, RecreatePods: b.Recreate, TakeOwnership: true, SkipChartChecks: true, Spared: b.spared,
		Hooks: deploy.Hooks{
			Disabled: b.DisableHooks, Before: release.HookPreRollback, After: release.HookPostRollback,
			Options: hooks.Options{
				Timeout: b.Timeout, Limit: b.MaxParallelHooks, FollowLogs: b.FollowHookLogs, Modes: history.HookModesOrWarn(r.target, r.op.Events),
			},
			Error: func(_ release.HookEvent, err error) error { return err },
		},
	})
}

// setOrderRecord sets the order record that is stored with the new revision.
func (r *rollbackRun) setOrderRecord() error {
	if r.target.Chart == nil {
		return nil
	}
	bare, err := orderrecord.WithRecord(r.target.Chart, nil)
	if err != nil {
		return err
	}
	return r.deploy.SetRecord(bare, history.RollbackRecord(r.target, r.rel.Version, r.record))
}

// conclude records the new revision as deployed, and every other deployed one as
// superseded.
func (r *rollbackRun) conclude() error {
	if err := r.op.Lease().MayConclude(); err != nil {
		return err
	}
	deployed, err := r.op.Store.Deployed(r.name)
	if err != nil {
		return err
	}
	for _, rel := range deployed {
		r.op.Log("superseding previous deployment %d", rel.Version)
		r.supersede(rel)
	}
	r.op.Log("updating status for rolled back release for %s", r.name)
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
	description := fmt.Sprintf("Rollback %q failed: %s", r.name, failure.Description(cause))
	r.op.Log("warning: %s", description)
	result := cause
	switch r.deploy.Phase() {
	case deploy.Applying: // as in Helm, but a failed revision was never deployed
		if !r.ordered() && r.current.Info.Status == release.StatusDeployed {
			r.supersede(r.current)
		}
	case deploy.Waiting: // only without an order
		description = fmt.Sprintf("Release %q failed: %s", r.name, failure.Description(cause))
		result = fmt.Errorf("release %s failed: %w", r.name, cause)
	}
	var lost, unclean error
	if r.action.CleanupOnFail && r.deploy.Phase() != deploy.Waiting {
		lost, unclean = r.deploy.RecordCleanedUp(context.WithoutCancel(ctx), cause, description)
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
