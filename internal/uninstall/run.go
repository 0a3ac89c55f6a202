// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package uninstall uninstalls a release: it runs the delete hooks, deletes the objects, and
// updates or deletes the stored release (docs/reference.md, "Uninstall"). It deletes objects
// in the reverse order of deployment or, as Helm does, without ordering.
package uninstall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/hookobjects"
	"github.com/ordered-helm/helm/internal/hooks"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/placeholder"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/recreation"
	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/releaseguard"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/internal/wait"
	"github.com/ordered-helm/helm/internal/watcher"
)

// Options say how a release is uninstalled.
type Options struct {
	// Ordered says whether to delete objects in the reverse order of deployment.
	Ordered bool
	// Wait says whether to wait until all deleted objects no longer exist.
	Wait bool
	// Timeout limits the wait of the option Wait if Ordered is false. ReadinessTimeout
	// limits the deletion of the objects of each node if Ordered is true; 0 means that only
	// the timeout of the operation applies.
	Timeout, ReadinessTimeout time.Duration
	// Propagation is the deletion propagation: "background", "foreground" or "orphan".
	Propagation string
	// Spared contains the IDs of objects that must not be deleted.
	Spared map[sequencer.ID]bool
	// KeepHistory says whether to keep the stored revisions. If so, Description replaces the
	// description of the last revision, unless Description is empty.
	KeepHistory bool
	Description string
	// DisableHooks says whether to skip the hooks. Hooks says how they run; Perform sets its
	// fields Modes and Filter.
	DisableHooks bool
	Hooks        hooks.Options
	// Lifecycle emits the events of the operation.
	Lifecycle *lifecycle.Operation
}

// Run uninstalls one release. The caller calls Prepare, Begin and Perform, and then
// Conclude or, if Perform returned an error, Fail.
type Run struct {
	op      *operation.Operation
	options Options
	target  *Target
	writer  *history.Writer
	// strategy deletes the objects: in reverse order, or as Helm does.
	strategy strategy
	// start locks the release when the uninstall begins.
	start *lease.UninstallStart
	// interrupted contains the revisions of operations that terminated unexpectedly. Their
	// hooks may still be running, so Perform recovers them first.
	interrupted []*history.InterruptedRevision
	// kept lists, for the user, the objects that are kept because of the annotation
	// helm.sh/resource-policy.
	kept string
	// isDeleting is true after the deletion of objects has begun.
	isDeleting bool
	// mu guards errs, the errors that did not stop the uninstall.
	mu   sync.Mutex
	errs []error
	// hookSteps is locked while the hooks of a chart run, if the number of hooks that run in parallel is
	// limited.
	hookSteps sync.Mutex
	// recreator knows the copies of recreated objects; nil if the operation delegates.
	recreator *recreation.Recreator
	response  *release.UninstallReleaseResponse
}

// New returns a Run that uninstalls the release t. It sends no requests.
func New(op *operation.Operation, t *Target, o Options) *Run {
	w := op.Store.NewWriter(t.Release)
	r := &Run{
		op: op, options: o, target: t, writer: w,
		start: &lease.UninstallStart{
			Store: op.Store, Writer: w, State: t.state,
			Lock:   func() (*lease.Lease, error) { return op.Lock(w, "uninstall", release.StatusUninstalling) },
			Unlock: func() { op.Unlock(w) },
		},
		response: &release.UninstallReleaseResponse{Release: t.Release},
	}
	r.strategy = newStrategy(r)
	return r
}

// Prepare determines which objects to delete. It changes nothing in the cluster.
func (r *Run) Prepare(ctx context.Context) (err error) {
	if err := placeholder.CheckReadable(r.target.Release); err != nil {
		return err
	}
	declared := r.declared()
	r.hideSecrets(declared)
	if err := r.checkDefinitions(ctx, declared); err != nil {
		return err
	}
	r.kept, err = r.strategy.prepare(ctx)
	r.writer.HookObjects.Set(history.CurrentHookObjects(r.target.state.History))
	return err
}

// declared returns the contents of the objects, except hooks, of every revision that may have left
// objects in the cluster.
func (r *Run) declared() []map[string]any {
	var contents []map[string]any
	for _, rel := range r.target.inventory.Revisions() {
		contents = append(contents, redact.ManifestObjects(rel.Manifest)...)
	}
	return contents
}

// checkDefinitions returns an error if the uninstall would take away the definitions of Releases
// that exist. declared is the result of the method of this name.
func (r *Run) checkDefinitions(ctx context.Context, declared []map[string]any) error {
	rel := r.target.Release
	if err := releaseguard.CheckUninstall(ctx, r.op.Cluster, object.OwningRelease{Name: rel.Name, Namespace: rel.Namespace}, declared); err != nil {
		return fmt.Errorf("uninstall %s: %w", rel.Name, err)
	}
	return nil
}

// hideSecrets makes the operation redact the contents of Secrets in all output: those in declared,
// and those in the hooks of the same revisions.
func (r *Run) hideSecrets(declared []map[string]any) {
	contents := slices.Clone(declared)
	for _, rel := range r.target.inventory.Revisions() {
		contents = append(contents, redact.HookObjects(rel.Hooks)...)
	}
	r.op.Events.RedactWith(redact.ForObjects(contents))
}

// Begin locks the release, and stores that it is being uninstalled.
func (r *Run) Begin(ctx context.Context) (err error) {
	r.op.Log("uninstall: Deleting %s", r.target.Release.Name)
	r.interrupted, err = r.start.Begin(ctx, r.op.Events)
	return err
}

// Perform runs the pre-delete hooks, deletes the objects, waits until they no longer exist if
// Options.Wait is set, runs the post-delete hooks, and deletes what managed hooks have left. If
// the wait or a post-delete hook fails, the uninstall continues, and Conclude returns the error.
func (r *Run) Perform(ctx context.Context) (*release.UninstallReleaseResponse, error) {
	r.writer.Background.Start()
	defer r.writer.Background.Stop()
	runner := r.hooks("")
	if err := r.runPreDeleteHooks(ctx, runner); err != nil {
		return r.response, err
	}
	if err := r.readCopies(ctx); err != nil {
		return r.response, err
	}
	deleted, err := r.deleteObjects(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.disown(ctx, deleted); err != nil {
		return nil, err
	}
	if r.options.Wait {
		r.addError(r.awaitDeleted(ctx, deleted))
	}
	r.addError(r.options.Lifecycle.Emit(ctx, lifecycle.PostDelete))
	if !r.options.DisableHooks {
		r.addError(runner.Run(ctx, r.writer, release.HookPostDelete))
	}
	if err := r.deleteHookObjects(ctx); err != nil {
		return r.response, errors.Join(append([]error{err}, r.errs...)...)
	}
	if r.recreator != nil {
		r.recreator.RemoveCopies(ctx)
	}
	return r.response, nil
}

// disown takes the references to the Release that stores the release away from the objects that the uninstall keeps, so
// that the garbage collector does not delete them.
func (r *Run) disown(ctx context.Context, deleted kube.ResourceList) error {
	name, inv := r.target.Release.Name, r.target.inventory
	release := r.op.Store.UIDOf(name)
	if release == "" {
		return nil
	}
	if !r.options.Ordered {
		if err := inv.ReadPlans(ctx, r.op.Cluster, true); err != nil {
			return fmt.Errorf("uninstall: %w", err)
		}
	}
	if err := r.op.Writer.Disown(ctx, release, inv.Without(deleted)); err != nil {
		return fmt.Errorf("uninstall release %s: %w", name, err)
	}
	return nil
}

// deleteHookObjects deletes what managed hooks have left in the cluster.
func (r *Run) deleteHookObjects(ctx context.Context) error {
	removal, err := hookobjects.All(r.op, r.writer)
	if err != nil {
		return fmt.Errorf("delete what hooks of release %s left: %w", r.target.Release.Name, err)
	}
	deleted, err := removal.Run(ctx, r.options.Hooks.Timeout)
	switch ended := context.Cause(ctx); {
	case ended != nil:
		return ended
	case err != nil:
		return fmt.Errorf("delete what hooks of release %s left: %w", r.target.Release.Name, err)
	case r.options.Wait:
		r.addError(r.awaitDeleted(ctx, deleted))
	}
	return context.Cause(ctx)
}

// readCopies reads the copies of objects that operations on the release have left. It creates StatefulSets again that were
// deleted, but not created, so that their pods are deleted with them.
func (r *Run) readCopies(ctx context.Context) error {
	if r.op.Delegates() {
		return nil
	}
	rel := r.target.Release
	r.recreator = recreation.New(recreation.Config{
		Cluster: r.op.Cluster, Writer: r.op.Writer, Waiter: r.op.Waiter, Events: r.op.Events, Storage: r.op.RecreatedObjects(),
		Owner: object.OwningRelease{Name: rel.Name, Namespace: rel.Namespace}, Revision: rel.Version, Installed: rel.Info.FirstDeployed.Time,
		Timeout: r.options.ReadinessTimeout,
	})
	read := r.recreator.RecoverStatefulSets
	if r.options.Propagation == "orphan" {
		read = r.recreator.ReadCopies
	}
	if err := read(ctx, r.target.state.History); err != nil {
		return fmt.Errorf("recover recreated objects: %w", err)
	}
	return nil
}

func (r *Run) addError(err error) {
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.errs = append(r.errs, err)
	}
}

// hooks returns the runner of those hooks whose scope is the chart with the path scope, or that run before and
// after everything in the release if scope is empty. If this uninstall continues an interrupted one, the
// runner skips hooks that have already succeeded, because objects that they need may no
// longer exist.
func (r *Run) hooks(scope string) *hooks.Runner {
	o, rel := r.options.Hooks, r.target.Release
	o.Modes = history.HookModesOrWarn(rel, r.op.Events)
	if r.start.IsContinued() {
		o.Filter = func(h *release.Hook) bool {
			succeeded := h.LastRun.Phase == release.HookPhaseSucceeded && !h.LastRun.StartedAt.Before(rel.Info.Deleted)
			return !succeeded || slices.Contains(h.Events, release.HookPreDelete) && slices.Contains(h.Events, release.HookPostDelete)
		}
	}
	return r.op.Hooks(o.OfScope(r.strategy.plan(), scope))
}

// runStep runs the hooks of a step of the deployment graph. If a post-delete hook fails, the uninstall continues,
// as it does if one fails that runs after everything else.
func (r *Run) runStep(ctx context.Context, s *sequencer.Step) error {
	if r.options.Hooks.Limit > 0 {
		r.hookSteps.Lock()
		defer r.hookSteps.Unlock()
	}
	err := r.hooks(s.Chart).Run(ctx, r.writer, s.HookEvent)
	if err == nil {
		return context.Cause(ctx)
	}
	switch cause := hooks.StoppedBy(ctx, err); {
	case cause != nil:
		return cause
	case s.HookEvent == release.HookPostDelete:
		r.addError(err)
		return nil
	}
	return hooks.StepError(s, err)
}

// runPreDeleteHooks recovers the hooks of operations that terminated unexpectedly, and then
// calls the handlers of pre-delete and runs the pre-delete hooks.
func (r *Run) runPreDeleteHooks(ctx context.Context, runner *hooks.Runner) error {
	if r.options.DisableHooks {
		r.op.Log("delete hooks disabled for %s", r.target.Release.Name)
		return r.options.Lifecycle.Emit(ctx, lifecycle.PreDelete)
	}
	if err := runner.Recover(ctx, r.interrupted); err != nil {
		return err
	}
	if err := r.options.Lifecycle.Emit(ctx, lifecycle.PreDelete); err != nil {
		return err
	}
	if err := runner.Run(ctx, r.writer, release.HookPreDelete); err != nil {
		return r.strategy.hookError(ctx, err)
	}
	return nil
}

func (r *Run) deleteObjects(ctx context.Context) (kube.ResourceList, error) {
	r.isDeleting = true
	deleted, err := r.strategy.deleteObjects(ctx)
	if err != nil {
		r.op.Log("uninstall: Failed to delete release: %s", r.op.Events.RedactError(err))
		return nil, r.strategy.deletionError(ctx, err)
	}
	if r.kept != "" {
		r.response.Info = "These resources were kept due to the resource policy:\n" + r.kept
	}
	return deleted, nil
}

// awaitDeleted waits until the deleted objects no longer exist.
func (r *Run) awaitDeleted(ctx context.Context, list kube.ResourceList) error {
	if len(list) == 0 {
		return nil
	}
	options := wait.WaitDeletedOptions{Timeout: r.strategy.waitTimeout(), OnChange: func(ctx context.Context, report watcher.Report) {
		e := wait.ChangeEvent(report, "", r.target.Release.Namespace)
		if report.Status.State == readiness.Ready {
			e.State, e.Message = "Gone", "deleted"
		} else {
			e.Deadline, _ = ctx.Deadline()
		}
		r.op.Events.Emit(e)
	}}
	r.op.Events.Emit(event.Event{Type: event.Waiting, Message: "waiting for " + text.Count(len(list), "resource") + " to be deleted", Resources: len(list)})
	return r.op.Waiter.WaitDeleted(ctx, list, options)
}
