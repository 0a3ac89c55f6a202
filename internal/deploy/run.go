// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package deploy brings the cluster from what the earlier revisions of a release have left
// there to what a new revision declares: in the order of its plan, or as Helm does
// (docs/how-it-works.md).
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
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/hooks"
	"github.com/ordered-helm/helm/internal/inventory"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/releaserecord"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
)

// Options say how a release is deployed.
type Options struct {
	// Ordered deploys by the plan, and waits for everything.
	Ordered bool
	// PruneInReverse deletes obsolete objects in reverse order, even if the release is not
	// deployed in order.
	PruneInReverse bool
	// Wait waits as Helm does, if the release is not deployed in order. Jobs counts Jobs,
	// too.
	Wait, Jobs bool
	// Timeout limits Helm's wait and each hook.
	Timeout time.Duration
	// Force replaces objects, TakeOwnership adopts those of other owners, ThreeWay merges
	// custom resources three-way, Validate checks manifests against the schema of the
	// cluster, and RecreatePods restarts pods.
	Force, TakeOwnership, ThreeWay, Validate, RecreatePods bool
	// Spared are objects that are never deleted.
	Spared map[sequencer.ID]bool
	// PendingKinds are kinds that the cluster will know when the release is deployed: a
	// preview does not build objects of these kinds.
	PendingKinds map[schema.GroupKind]bool
	// SkipChartChecks leaves out the checks of problems that only the author of the chart
	// can solve.
	SkipChartChecks bool
	// Conflict is what Helm says before an object of another owner.
	Conflict string
	Hooks    Hooks
}

// Hooks say how the hooks of a release run.
type Hooks struct {
	// Disabled leaves hooks out.
	Disabled bool
	hooks.Options
	// Before and After are the events before and after the deployment.
	Before, After release.HookEvent
	// Error puts an error of the hooks of an event into Helm's words.
	Error func(release.HookEvent, error) error
}

// Phase is a part of a deployment.
type Phase int

// The phases, in the order in which they come without an order.
const (
	RunningHooks Phase = iota
	Applying
	Pruning
	Waiting
)

// Run is one deployment of a revision.
type Run struct {
	op      *operation.Operation
	options Options
	writer  *history.Writer
	plan    *sequencer.Plan
	// inventory is what earlier revisions may have left; nil for a first revision.
	inventory *inventory.Inventory
	// interrupted are the revisions whose hooks have to be recovered.
	interrupted []*history.Interrupted
	strategy    strategy
	phase       Phase
}

// New returns a run that deploys the release of a writer. The plan is the graph of the
// release; nil if it has no order. The inventory may be nil.
func New(op *operation.Operation, w *history.Writer, plan *sequencer.Plan, inv *inventory.Inventory, o Options) *Run {
	return &Run{op: op, options: o, writer: w, plan: plan, inventory: inv}
}

// Release is the release that is deployed.
func (r *Run) Release() *release.Release { return r.writer.Release() }

// Writer writes the release.
func (r *Run) Writer() *history.Writer { return r.writer }

// Inventory is what earlier revisions may have left; nil for a first revision.
func (r *Run) Inventory() *inventory.Inventory { return r.inventory }

// Phase is what Perform does, or was doing when it failed.
func (r *Run) Phase() Phase { return r.phase }

// SetInterrupted sets the revisions whose hooks have to be recovered before others run.
func (r *Run) SetInterrupted(revisions []*history.Interrupted) { r.interrupted = revisions }

// Adopted are the objects that were there before and did not belong to the release.
func (r *Run) Adopted() map[sequencer.ID]bool { return r.strategy.objects().applier.Adopted() }

func (r *Run) owner() object.Owner {
	return object.Owner{Name: r.Release().Name, Namespace: r.Release().Namespace}
}

// Build reads the manifest of the release into objects.
func (r *Run) Build() error {
	s := newStrategy(r)
	if err := s.build(); err != nil {
		return err
	}
	r.strategy = s
	return nil
}

// SetRecord has the release carry a record, if it is not nil, with what earlier revisions
// may leave until everything is deployed.
func (r *Run) SetRecord(bare *chart.Chart, rec *releaserecord.Record) error {
	if r.inventory != nil && (rec != nil && rec.Ordered || r.inventory.IsOrdered()) {
		earlier := r.inventory.Earlier(r.Release().Version, r.strategy.objects().all, r.options.Spared)
		if rec == nil && earlier != nil {
			rec = &releaserecord.Record{Revision: r.Release().Version, Charts: &sequencer.Chart{Name: history.ChartName(r.Release())}}
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

// HideSecrets removes the contents of the Secrets of the release, and of those that were
// there before, from everything that the operation says from now on.
func (r *Run) HideSecrets() { r.op.Events.RedactWith(redact.ForObjects(r.Contents())) }

// Contents are the objects of the release, of the inventory, and of all their hooks.
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

// FindExisting finds out which objects are in the cluster, and rejects those of other
// owners. OnlyUnknown leaves out the objects that a deployed revision has.
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

// Check asks the cluster what the manifest alone cannot tell, and rejects a release that
// cannot be stored, before anything is changed.
func (r *Run) Check(ctx context.Context) error {
	if err := r.strategy.check(ctx); err != nil {
		return err
	}
	return r.checkSize(r.Release(), r.strategy.progressSize())
}

// CheckBeforeCRDs does all checks that do not need the definitions which are about to be
// installed. The release will carry the record.
func (r *Run) CheckBeforeCRDs(ctx context.Context, rec *releaserecord.Record) error {
	trial := *r.Release()
	var err error
	if trial.Chart, err = releaserecord.WithRecord(trial.Chart, rec); err != nil {
		return err
	}
	s := newStrategy(r)
	if err := r.checkSize(&trial, s.progressSize()); err != nil {
		return err
	}
	return s.checkBeforeCRDs(ctx)
}

const (
	// SizeReserve is by how many bytes a stored release may grow until the operation is
	// over: its status and its description.
	SizeReserve = 4096
	// hookReserve is what the time at which it ran adds for each hook.
	hookReserve = 64
)

func (r *Run) checkSize(rel *release.Release, progress int) error {
	return releaserecord.CheckSize(rel, r.op.Store.DriverName(), SizeReserve+hookReserve*len(rel.Hooks)+progress)
}

// Perform deploys the release: hooks, nodes, pruning, hooks.
func (r *Run) Perform(ctx context.Context) error {
	defer r.strategy.close()
	r.writer.Start()
	defer r.writer.Stop()
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
	r.phase = Applying
	err := r.strategy.deploy(ctx)
	if recorded := r.writer.FinishProgress(err == nil); err == nil {
		err = recorded
	}
	return err
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

// recoverHooks completes the hooks of operations that died.
func (r *Run) recoverHooks(ctx context.Context) error {
	if len(r.interrupted) == 0 || r.options.Hooks.Disabled {
		return nil
	}
	r.phase = RunningHooks
	return r.op.Hooks(r.options.Hooks.Options).Recover(ctx, r.interrupted)
}

// Failure is the error as which a failure of Perform is reported and recorded.
func (r *Run) Failure(ctx context.Context, err error) error {
	return r.op.Events.RedactError(r.strategy.cause(ctx, err))
}

// Cause is what the failure of an operation without an order is reported as: as in Helm the
// end of the context, whatever that interrupted, except for hooks that ran in parallel.
func Cause(ctx context.Context, err error) error {
	if ctx.Err() != nil && !failure.IsOfParallelHooks(err) {
		return context.Cause(ctx)
	}
	return err
}

// RecordFailure records that the release failed. The error is a *lease.LostError if others
// have taken the release over: then there is nothing to undo any more.
func (r *Run) RecordFailure(description string) error {
	r.writer.WriteOrWarn(r.op.Events, func(rel *release.Release) { rel.SetStatus(release.StatusFailed, description) })
	return r.op.Lease().Lost()
}

// RecordCleanedUp is RecordFailure after a cleanup, during which the release is still held:
// nobody begins to work on objects that are about to be deleted. Unclean is why the cleanup
// failed.
func (r *Run) RecordCleanedUp(ctx context.Context, err error, description string) (lost, unclean error) {
	r.writer.LogFailure(r.writer.Write(func(rel *release.Release) { rel.Info.Description = description }))
	if unclean = r.cleanUp(ctx, err); unclean != nil {
		unclean = fmt.Errorf("unable to cleanup resources: %w", unclean)
	}
	return r.RecordFailure(description), unclean
}

// cleanUp deletes the objects that the operation created, while it still holds the release.
func (r *Run) cleanUp(ctx context.Context, err error) error {
	created := r.strategy.objects().applier.Created()
	if len(created) == 0 {
		return nil
	}
	r.op.Log("Cleanup on fail set, cleaning up %d resources", len(created))
	undo, ctx, end := r.op.StartUndo(ctx)
	defer end()
	r.writer.Start()
	defer r.writer.Stop()
	return r.strategy.deleteCreated(ctx, undo, created, err)
}

func deletionError(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return errors.New(strings.ReplaceAll(text.JoinErrors(errs), "; ", ", "))
}

func (r *Run) emit(e event.Event) { r.op.Events.Emit(e) }
