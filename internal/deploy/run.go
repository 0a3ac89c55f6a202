// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package deploy deploys a new revision of a release and deletes the objects that only
// earlier revisions have. It follows the plan of the release (its dependency graph), or
// deploys without an order as Helm does (docs/how-it-works.md). It calls package apply to
// write objects, package wait to wait for them, and package prune to delete the obsolete
// ones.
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
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
)

// Options say how a release is deployed.
type Options struct {
	// PruneInReverse deletes obsolete objects in the reverse order of the earlier
	// revisions, even if the new revision is not deployed in order.
	PruneInReverse bool
	// IgnoreUnusableRecords makes ReadInventory treat an earlier revision whose order record
	// cannot be used as one without an order, instead of returning an error.
	IgnoreUnusableRecords bool
	// Wait waits as Helm does, if the release is not deployed in order. Jobs includes Jobs
	// in the wait. In an ordered deployment, Jobs that other resources depend on are always
	// included.
	Wait, Jobs bool
	// Timeout limits the wait of a release that is not deployed in order, and each hook.
	Timeout time.Duration
	// Force replaces existing objects instead of patching them. TakeOwnership makes
	// existing objects of other owners part of the release. ThreeWay uses three-way merge
	// patches for custom resources, too. Validate checks manifests against the schema of
	// the cluster. RecreatePods deletes the pods of workloads that already existed, so that
	// new pods start.
	Force, TakeOwnership, ThreeWay, Validate, RecreatePods bool
	// Spared are objects that the run never deletes, although they are obsolete.
	Spared map[sequencer.ID]bool
	// PendingKinds are the kinds that the cluster does not know yet, but will know when the
	// release is deployed. Only a preview sets them: it does not build objects of these
	// kinds.
	PendingKinds map[schema.GroupKind]bool
	// SkipChartChecks skips the checks for problems that only the author of the chart can
	// solve.
	SkipChartChecks bool
	// Conflict is Helm's error message if an object belongs to another owner. The error of
	// the object follows it.
	Conflict string
	Hooks    Hooks
}

// Hooks say how the hooks of a release run.
type Hooks struct {
	// Disabled skips the hooks.
	Disabled bool
	hooks.Options
	// Before and After are the hook events, such as pre-upgrade and post-upgrade, whose
	// hooks run before and after the deployment.
	Before, After release.HookEvent
	// Error adds Helm's message to an error of the hooks of an event.
	Error func(release.HookEvent, error) error
}

// Phase says which part of a deployment is running, or was running when it failed.
type Phase int

// The phases of a release that is not deployed in order, in their sequence. A release that
// is deployed in order does not have the phase Waiting, because it waits while applying.
const (
	RunningHooks Phase = iota
	Applying
	Pruning
	Waiting
)

// Config describes what a Run deploys.
type Config struct {
	Operation *operation.Operation
	// Writer stores the release that the run deploys.
	Writer *history.Writer
	// Plan is the dependency graph of the release. If it is not nil, the run follows its
	// order and waits until everything is ready.
	Plan *sequencer.Plan
	// Inventory lists the objects that earlier revisions may have left in the cluster; nil
	// for a first revision. ReadInventory reads it, before
	// or after New.
	Inventory *inventory.Inventory
	Options   Options
}

// ReadInventory finds out which objects earlier revisions may have left in the cluster. If
// objects are deployed, or pruned, in order, it reads them revision by revision; otherwise
// as Helm does.
func (c Config) ReadInventory(ctx context.Context) error {
	switch {
	case c.Inventory == nil:
		return nil
	case c.Plan != nil || c.Options.PruneInReverse:
		return c.Inventory.ReadPlans(ctx, c.Operation.Cluster, c.Options.IgnoreUnusableRecords)
	}
	return c.Inventory.ReadAsHelm(c.Operation.Cluster)
}

// Run deploys one revision of a release. The caller does the checks first. After that it
// calls Perform, or, for a preview, DryRun and FindObsolete.
type Run struct {
	op        *operation.Operation
	options   Options
	writer    *history.Writer
	plan      *sequencer.Plan
	inventory *inventory.Inventory
	// interrupted are earlier revisions whose operations terminated unexpectedly while
	// hooks may have been running. Perform first recovers these hooks: it waits for those
	// that still run, and cleans them up.
	interrupted []*history.Interrupted
	strategy    strategy
	phase       Phase
}

// New returns a Run. It builds the objects that the manifest of the release declares.
func New(c Config) (*Run, error) {
	r := newRun(c)
	var err error
	if r.strategy, err = newStrategy(r); err != nil {
		return nil, err
	}
	return r, nil
}

// newRun returns a Run without a strategy.
func newRun(c Config) *Run {
	return &Run{op: c.Operation, options: c.Options, writer: c.Writer, plan: c.Plan, inventory: c.Inventory}
}

// IsOrdered reports whether the run follows the plan of the release.
func (r *Run) IsOrdered() bool { return r.plan != nil }

// Release returns the release that the run deploys.
func (r *Run) Release() *release.Release { return r.writer.Release() }

// Writer returns the writer that stores the release.
func (r *Run) Writer() *history.Writer { return r.writer }

// Inventory returns the objects that earlier revisions may have left; nil for a first
// revision.
func (r *Run) Inventory() *inventory.Inventory { return r.inventory }

// Phase returns the phase of Perform, or the phase in which Perform failed.
func (r *Run) Phase() Phase { return r.phase }

// SetInterrupted sets the earlier revisions whose hooks Perform must recover before the
// hooks of the new revision run.
func (r *Run) SetInterrupted(revisions []*history.Interrupted) { r.interrupted = revisions }

// Adopted returns the objects of the new revision that existed before and did not belong to
// the release.
func (r *Run) Adopted() map[sequencer.ID]bool { return r.strategy.objects().applier.Adopted() }

func (r *Run) owner() object.Owner {
	return object.Owner{Name: r.Release().Name, Namespace: r.Release().Namespace}
}

// SetRecord puts rec, the data about the order of the release, into the release that the
// writer stores. bare is the chart of the release without a record. Until everything is
// deployed, the record also lists the objects that earlier revisions may have left. If only
// this list is needed, rec is nil and SetRecord creates a record for it.
func (r *Run) SetRecord(bare *chart.Chart, rec *orderrecord.Record) error {
	if r.inventory != nil && (rec != nil && rec.Ordered || r.inventory.IsOrdered()) {
		earlier := r.inventory.Earlier(r.Release().Version, r.strategy.objects().all, r.options.Spared)
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
	return r.strategy.expectNodes()
}

// HideSecrets redacts the contents of the Secrets of the release and of its earlier
// revisions in all later messages of the operation.
func (r *Run) HideSecrets() { r.op.Events.RedactWith(redact.ForObjects(r.Contents())) }

// Contents returns the contents of the objects of the release, of the objects of the
// inventory, and of the hooks of all these revisions.
func (r *Run) Contents() []map[string]any {
	contents := object.Contents(r.strategy.objects().all)
	if r.inventory != nil {
		contents = append(contents, r.inventory.Declared()...)
		for _, rel := range r.inventory.Revisions() {
			contents = append(contents, redact.HookObjects(rel.Hooks)...)
		}
	}
	return append(contents, redact.HookObjects(r.Release().Hooks)...)
}

// FindExisting finds out which objects exist in the cluster, and returns an error if some
// have another owner. If onlyUnknown is true, it skips the objects that a deployed revision
// has.
func (r *Run) FindExisting(ctx context.Context, onlyUnknown bool) error {
	o := r.strategy.objects()
	list := o.all
	if onlyUnknown {
		list = o.applier.Unknown(list)
	}
	return r.conflict(o.applier.FindExisting(ctx, list))
}

func (r *Run) conflict(err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", r.options.Conflict, err)
	}
	return nil
}

// Check does the checks that need the cluster, and rejects a release that is too large to
// be stored, before anything changes.
func (r *Run) Check(ctx context.Context) error {
	if err := r.strategy.check(ctx); err != nil {
		return err
	}
	return r.checkSize(r.Release())
}

// CheckBeforeCRDs does all checks of a run of c that do not need the CRDs that are about to
// be installed. rec is the record that will be stored in the release.
func CheckBeforeCRDs(ctx context.Context, c Config, rec *orderrecord.Record) error {
	r := newRun(c)
	trial := *r.Release()
	var err error
	if trial.Chart, err = orderrecord.WithRecord(trial.Chart, rec); err != nil {
		return err
	}
	if err := r.checkSize(&trial); err != nil || !r.IsOrdered() {
		return err
	}
	if err := c.ReadInventory(ctx); err != nil {
		return err
	}
	return checkBeforeCRDs(ctx, r)
}

const (
	// SizeReserve is the number of bytes by which a stored release can grow until the
	// operation is finished, because its status and its description change.
	SizeReserve = 4096
	// hookReserve is the number of bytes that the times at which one hook ran can add.
	hookReserve = 64
)

// checkSize rejects a release that can become too large to be stored. The progress of an
// ordered deployment adds the names of the nodes.
func (r *Run) checkSize(rel *release.Release) error {
	growth := SizeReserve + hookReserve*len(rel.Hooks)
	if r.IsOrdered() {
		for _, n := range r.plan.Nodes {
			growth += len(n.ID())
		}
	}
	return orderrecord.CheckSize(rel, r.op.Store.DriverName(), growth)
}

// Perform runs the hooks before the deployment, deploys the nodes, prunes obsolete objects,
// and runs the hooks after the deployment.
func (r *Run) Perform(ctx context.Context) error {
	defer r.strategy.close()
	r.writer.Background.Start()
	defer r.writer.Background.Stop()
	r.strategy.announce()
	if err := r.recoverHooks(ctx); err != nil {
		return err
	}
	if err := r.runHooks(ctx, r.options.Hooks.Before); err != nil {
		return err
	}
	if err := r.deploy(ctx); err != nil {
		return err
	}
	return r.runHooks(ctx, r.options.Hooks.After)
}

func (r *Run) deploy(ctx context.Context) error {
	err := r.takeSteps(ctx)
	if recorded := r.writer.Progress.Finish(err == nil); err == nil {
		err = recorded
	}
	return err
}

func (r *Run) takeSteps(ctx context.Context) error {
	for _, step := range r.strategy.steps() {
		r.phase = step.phase
		if err := step.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *Run) runHooks(ctx context.Context, hookEvent release.HookEvent) error {
	r.phase = RunningHooks
	if r.options.Hooks.Disabled {
		r.op.Log("hooks disabled for %s", r.Release().Name)
		return context.Cause(ctx)
	}
	if err := r.op.Hooks(r.options.Hooks.Options).Run(ctx, r.writer, hookEvent); err != nil {
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

// Failure returns the error to report and to record after Perform has failed with err. It
// redacts the contents of Secrets.
func (r *Run) Failure(ctx context.Context, err error) error {
	return r.op.Events.RedactError(r.strategy.cause(ctx, err))
}

// RecordFailure stores the status failed with a description. It returns a *lease.LostError
// if another operation has taken over the release; the caller must not undo anything then.
func (r *Run) RecordFailure(description string) error {
	r.writer.WriteOrWarn(r.op.Events, func(rel *release.Release) { rel.SetStatus(release.StatusFailed, description) })
	return r.op.Lease().Lost()
}

// RecordCleanedUp deletes the objects that the operation created, and then records the
// failure as RecordFailure does. The release stays locked during the cleanup, so that no
// other operation works on objects that are about to be deleted. err is the failure of the
// operation. lost is the result of RecordFailure, and unclean is the error of the cleanup.
func (r *Run) RecordCleanedUp(ctx context.Context, err error, description string) (lost, unclean error) {
	r.writer.LogFailure(r.writer.Write(func(rel *release.Release) { rel.Info.Description = description }))
	if unclean = r.cleanUp(ctx, err); unclean != nil {
		unclean = fmt.Errorf("unable to cleanup resources: %w", unclean)
	}
	return r.RecordFailure(description), unclean
}

// cleanUp deletes the objects that the operation created, while the operation still has the
// lock. err is the failure of the operation.
func (r *Run) cleanUp(ctx context.Context, err error) error {
	created := r.strategy.objects().applier.Created()
	if len(created) == 0 {
		return nil
	}
	r.op.Log("Cleanup on fail set, cleaning up %d resources", len(created))
	undo, ctx, end := r.op.StartUndo(ctx)
	defer end()
	r.writer.Background.Start()
	defer r.writer.Background.Stop()
	return r.strategy.deleteCreated(ctx, undo, created, err)
}

func deletionError(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return errors.New(strings.ReplaceAll(text.JoinErrors(errs), "; ", ", "))
}

func (r *Run) emit(e event.Event) { r.op.Events.Emit(e) }
