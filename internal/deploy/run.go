// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package deploy deploys a new revision of a release, and deletes the objects that only
// earlier revisions declare. It does so in the order of the deployment graph of the revision
// or, if the revision is not deployed in order, as Helm does (docs/how-it-works.md). Package
// apply writes the objects, package wait waits for them, and package prune deletes objects.
package deploy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/hooks"
	"github.com/ordered-helm/helm/internal/inventory"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/recreation"
	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/releaseguard"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
)

// Options say how a revision is deployed.
type Options struct {
	// PruneInReverse deletes obsolete objects in the reverse of the order of the earlier
	// revisions, even if the new revision is not deployed in order.
	PruneInReverse bool
	// IgnoreInvalidRecords makes ReadInventory treat an earlier revision whose order record
	// cannot be used like one without an order, instead of returning an error.
	IgnoreInvalidRecords bool
	// Wait makes a deployment without an order wait, as Helm does with --wait. Jobs makes a
	// deployment also wait for Jobs. An ordered deployment always waits, and Jobs says whether
	// it also waits for Jobs that nothing depends on.
	Wait, Jobs bool
	// Timeout limits each hook and, in a deployment without an order, the wait.
	Timeout time.Duration
	// Force replaces existing objects instead of patching them. TakeOwnership adopts
	// existing objects of other owners instead of rejecting them. ThreeWay uses three-way
	// merge patches for custom resources, too. Validate checks manifests against the OpenAPI
	// schemas of the cluster. RecreatePods deletes the pods of workloads that already
	// existed, so that new pods start.
	Force, TakeOwnership, ThreeWay, Validate, RecreatePods bool
	// Recreate contains patterns KIND/NAME of objects that the run may delete and create again if they cannot be
	// changed in place.
	Recreate []string
	// Undo says that the run undoes a failed operation (--atomic). It also undoes the recreation of objects.
	Undo bool
	// StopEarlierJobs deletes unfinished Jobs of other revisions before a Job of the same
	// chart is created or changed, instead of waiting for them.
	StopEarlierJobs bool
	// Spared are objects that the run must not delete, even if they are obsolete.
	Spared map[sequencer.ID]bool
	// PendingKinds are kinds that the cluster does not know yet, but that the deployment
	// would define. Only a preview sets them: it does not build objects of these kinds.
	PendingKinds map[schema.GroupKind]bool
	// SkipEndedJobs makes an ordered deployment not wait for Jobs without dependents that it
	// does not change and that have already ended.
	SkipEndedJobs bool
	// SkipChartChecks skips checks for mistakes that only the author of the chart can
	// correct.
	SkipChartChecks bool
	// Conflict is Helm's error message if an object belongs to another owner. The error that
	// names the object follows it.
	Conflict string
	Hooks    HookOptions
	// Lifecycle emits the events of the operation.
	Lifecycle *lifecycle.Operation
}

// HookOptions say which hooks run before and after a deployment, and how.
type HookOptions struct {
	// Disabled skips all hooks.
	Disabled bool
	hooks.Options
	// Before and After are the events, such as pre-upgrade and post-upgrade, of the hooks
	// that run before and after the deployment.
	Before, After release.HookEvent
	// Error adds Helm's message to the error with which the hooks of an event failed.
	Error func(release.HookEvent, error) error
}

// Phase says which part of Run.Perform is running, or was running when it failed.
type Phase int

// The phases, in their order in a deployment without an order. An ordered deployment has no
// phase Waiting, because it waits while it applies.
const (
	RunningHooks Phase = iota
	Applying
	Pruning
	Waiting
)

// RunConfig contains the parameters of New.
type RunConfig struct {
	Operation *operation.Operation
	// Writer stores the revision to deploy.
	Writer *history.Writer
	// Plan is the deployment graph of the revision; nil if it is deployed without an order.
	Plan *sequencer.Plan
	// Inventory contains the objects that earlier revisions may have left in the cluster;
	// nil if there are no earlier revisions. The caller must call ReadInventory before or
	// after New.
	Inventory *inventory.Inventory
	// Revisions are the stored revisions of the release.
	Revisions []*release.Release
	Options   Options
}

// ReadInventory fills c.Inventory. If objects are deployed or pruned in order, it uses the
// deployment graphs of the earlier revisions; otherwise it works as Helm does.
func (c RunConfig) ReadInventory(ctx context.Context) error {
	switch {
	case c.Inventory == nil:
		return nil
	case c.Plan != nil || c.Options.PruneInReverse:
		return c.Inventory.ReadPlans(ctx, c.Operation.Cluster, c.Options.IgnoreInvalidRecords)
	}
	return c.Inventory.ReadAsHelm(c.Operation.Cluster)
}

// Run deploys one revision of a release. After the checks (FindExisting, Check), the caller
// calls Perform, or DryRun and FindObsolete for a preview.
type Run struct {
	op        *operation.Operation
	options   Options
	writer    *history.Writer
	plan      *sequencer.Plan
	inventory *inventory.Inventory
	revisions []*release.Release
	// interrupted are earlier revisions whose operations terminated unexpectedly, perhaps
	// while hooks were running. Before anything else, Perform waits for those of the hooks
	// that are still running, and cleans up all of them.
	interrupted []*history.InterruptedRevision
	strategy    strategy
	// recreator recreates objects that cannot be changed in place; nil if there are no earlier revisions, or if the
	// operation delegates.
	recreator *recreation.Recreator
	phase     Phase
}

// New returns a Run, and builds the objects that the manifest of the release declares (see
// apply.GraphObjects for what that means).
func New(c RunConfig) (*Run, error) {
	r := newRun(c)
	var err error
	if r.strategy, err = newStrategy(r); err != nil {
		return nil, err
	}
	return r, nil
}

// newRun returns a Run whose strategy is not set.
func newRun(c RunConfig) *Run {
	r := &Run{op: c.Operation, options: c.Options, writer: c.Writer, plan: c.Plan, inventory: c.Inventory, revisions: c.Revisions}
	r.recreator = r.newRecreator()
	return r
}

// IsOrdered reports whether the run deploys the revision in order.
func (r *Run) IsOrdered() bool { return r.plan != nil }

// Release returns the revision that the run deploys.
func (r *Run) Release() *release.Release { return r.writer.Release() }

// Writer returns the Writer of the RunConfig.
func (r *Run) Writer() *history.Writer { return r.writer }

// Inventory returns the Inventory of the RunConfig, which can be nil.
func (r *Run) Inventory() *inventory.Inventory { return r.inventory }

// Phase returns the phase that Perform is in or failed in.
func (r *Run) Phase() Phase { return r.phase }

// SetInterrupted sets the earlier revisions whose hooks Perform must recover before it runs
// the hooks of the new revision.
func (r *Run) SetInterrupted(revisions []*history.InterruptedRevision) { r.interrupted = revisions }

// Adopted returns the objects of the new revision that existed before the operation without
// being declared by an earlier revision.
func (r *Run) Adopted() map[sequencer.ID]bool { return r.strategy.objects().applier.Adopted() }

func (r *Run) owner() object.OwningRelease {
	return object.OwningRelease{Name: r.Release().Name, Namespace: r.Release().Namespace}
}

// SetRecord sets the order record of the new revision to rec, which can be nil. bare is the
// chart of the release without an order record. Until the deployment is complete, the order
// record also lists the objects that earlier revisions may have left; if necessary,
// SetRecord creates an order record only for this list.
func (r *Run) SetRecord(bare *chart.Chart, rec *orderrecord.Record) error {
	if r.inventory != nil && (rec != nil && rec.Ordered || r.inventory.IsOrdered()) {
		earlier := r.inventory.Earlier(r.Release().Version, r.strategy.objects().declared(), r.options.Spared)
		if rec == nil && earlier != nil {
			rec = &orderrecord.Record{Revision: r.Release().Version, Charts: &sequencer.Chart{Name: history.ChartName(r.Release())}}
		}
		if rec != nil {
			rec.Earlier = earlier
		}
	}
	if err := r.writer.SetRecord(bare, rec); err != nil {
		return err
	}
	r.writer.HookObjects.Set(history.CurrentHookObjects(r.revisions))
	return r.strategy.resetProgress()
}

// HideSecrets redacts the contents of the Secrets of the new revision and of earlier ones in
// all later messages of the operation.
func (r *Run) HideSecrets() { r.op.Events.RedactWith(redact.ForObjects(r.Contents())) }

// Contents returns the contents of all objects of the new revision and of the inventory,
// including those in hooks.
func (r *Run) Contents() []map[string]any {
	contents := object.Contents(r.strategy.objects().declared())
	if r.inventory != nil {
		contents = append(contents, r.inventory.Declared()...)
		for _, rel := range r.inventory.Revisions() {
			contents = append(contents, redact.HookObjects(rel.Hooks)...)
		}
	}
	return append(contents, redact.HookObjects(r.Release().Hooks)...)
}

// Perform does the deployment: it runs the hooks before it, applies the objects, waits for
// them, prunes obsolete objects, and runs the hooks after it.
func (r *Run) Perform(ctx context.Context) error {
	defer r.strategy.close()
	r.setOwner()
	r.writer.Background.Start()
	defer r.writer.Background.Stop()
	r.strategy.announce()
	if err := r.recoverHooks(ctx); err != nil {
		return err
	}
	if err := r.recoverObjects(ctx); err != nil {
		return err
	}
	if err := r.runHooks(ctx, r.options.Hooks.Before); err != nil {
		return err
	}
	if err := r.deploy(ctx); err != nil {
		return err
	}
	if err := r.runHooks(ctx, r.options.Hooks.After); err != nil {
		return err
	}
	if err := r.deleteHookObjects(ctx); err != nil {
		return err
	}
	r.forgetRecreated(ctx)
	return nil
}

// setOwner makes the objects refer to the object in which the release is stored, if there is one.
func (r *Run) setOwner() {
	owner := r.writer.Store().OwnerOf(r.Release())
	r.strategy.objects().applier.SetOwner(owner)
	if r.recreator != nil {
		r.recreator.SetOwner(owner)
	}
}

// deploy runs the steps of the strategy, and records in the order record that no more nodes
// will be deployed.
func (r *Run) deploy(ctx context.Context) error {
	err := r.runSteps(ctx)
	if err == nil && !r.IsOrdered() {
		err = r.awaitHandlers(ctx)
	}
	if err == nil && (r.IsOrdered() || r.options.Wait) {
		r.writer.Store().SetWaited(r.Release())
	}
	if recordErr := r.writer.Progress.Finish(err == nil); err == nil {
		err = recordErr
	}
	return err
}

func (r *Run) runSteps(ctx context.Context) error {
	for _, step := range r.strategy.steps() {
		r.phase = step.phase
		if err := step.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// runHooks runs the hooks of an event, after the handlers of the lifecycle event of the same name.
func (r *Run) runHooks(ctx context.Context, hookEvent release.HookEvent) error {
	r.phase = RunningHooks
	if err := r.options.Lifecycle.Emit(ctx, lifecycle.Event(hookEvent)); err != nil {
		return err
	}
	if r.options.Hooks.Disabled {
		r.op.Log("hooks disabled for %s", r.Release().Name)
		return context.Cause(ctx)
	}
	if err := r.op.Hooks(r.hooksOf("")).Run(ctx, r.writer, hookEvent); err != nil {
		return r.options.Hooks.Error(hookEvent, err)
	}
	return context.Cause(ctx)
}

// recoverHooks waits for the hooks of operations that terminated unexpectedly, and cleans
// them up.
func (r *Run) recoverHooks(ctx context.Context) error {
	if len(r.interrupted) == 0 || r.options.Hooks.Disabled {
		return nil
	}
	r.phase = RunningHooks
	return r.op.Hooks(r.options.Hooks.Options).Recover(ctx, r.interrupted)
}

// Failure returns the error to report and to record after Perform has failed with err,
// without the contents of Secrets.
func (r *Run) Failure(ctx context.Context, err error) error {
	return r.op.Events.RedactError(r.strategy.cause(ctx, err))
}

// RecordFailure stores the status failed with a description. It returns a *lease.LostError
// if another operation has taken over the release; the caller must then change nothing more.
func (r *Run) RecordFailure(description string) error {
	r.writer.WriteOrWarn(r.op.Events, func(rel *release.Release) { rel.SetStatus(release.StatusFailed, description) })
	return r.op.Lease().Lost()
}

// CleanUpAndRecord does the cleanup of --cleanup-on-fail: it deletes the objects that the
// operation created, and then calls RecordFailure. The release stays locked until then, so
// that no other operation works on objects that are about to be deleted. err is the error
// with which the operation failed. lost is the result of RecordFailure, and cleanupErr the
// error of the cleanup.
func (r *Run) CleanUpAndRecord(ctx context.Context, err error, description string) (lost, cleanupErr error) {
	r.writer.LogFailure(r.writer.Write(func(rel *release.Release) { rel.Info.Description = description }))
	if cleanupErr = r.cleanUp(ctx, err); cleanupErr != nil {
		cleanupErr = fmt.Errorf("unable to cleanup resources: %w", cleanupErr)
	}
	return r.RecordFailure(description), cleanupErr
}

// cleanUp deletes the objects that the operation created, while the operation still holds
// the lock. err is the error with which the operation failed.
func (r *Run) cleanUp(ctx context.Context, err error) error {
	created := r.strategy.objects().applier.Created()
	if len(created) == 0 {
		return nil
	}
	r.op.Log("Cleanup on fail set, cleaning up %d resources", len(created))
	cleanup, ctx, end := r.op.StartCleanup(ctx)
	defer end()
	if inUse := releaseguard.CheckDeletion(ctx, cleanup.Cluster, created); inUse != nil {
		cleanup.Events.Warnf("--cleanup-on-fail: %v", inUse)
		created = releaseguard.WithoutDefinitions(created)
	}
	r.writer.Background.Start()
	defer r.writer.Background.Stop()
	return r.strategy.deleteCreated(ctx, cleanup, created, err)
}

// deletionError joins errors in the way that Helm does when a deletion fails.
func deletionError(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return errors.New(strings.ReplaceAll(text.JoinErrors(errs), "; ", ", "))
}

func (r *Run) emit(e event.Event) { r.op.Events.Emit(e) }
