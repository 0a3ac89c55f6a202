// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/hooks"
	"github.com/ordered-helm/helm/internal/inventory"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/internal/wait"
	"github.com/ordered-helm/helm/internal/watcher"
)

// uninstallRun is the state of one call of Uninstall.RunWithContext.
type uninstallRun struct {
	action *Uninstall
	op     *operation.Operation

	state  *lease.State
	rel    *release.Release
	writer *history.Writer
	// interrupted contains the revisions of operations that terminated unexpectedly. Their
	// hooks may still be running, and must be cleaned up.
	interrupted []*history.Interrupted
	// start locks the release when the uninstall begins.
	start *lease.UninstallStart
	// isDeleting is true after the deletion of objects has begun.
	isDeleting bool
	// inventory contains the objects that the release may have in the cluster, including
	// those of failed revisions.
	inventory *inventory.Inventory
	// removal deletes the objects in reverse order, or as Helm does.
	removal  removal
	response *release.UninstallReleaseResponse
}

// load reads the release and checks that no other operation works on it. If the release is
// already uninstalled, load deletes its stored revisions and returns true. It also returns
// true if the release does not exist and IgnoreNotFound is set.
func (r *uninstallRun) load(ctx context.Context, name string) (done bool, err error) {
	u := r.action
	if err := chartutil.ValidateReleaseName(name); err != nil {
		return false, fmt.Errorf("uninstall: Release name is invalid: %s", name)
	}
	store := history.NewStore(u.cfg.Releases, u.cfg.Log)
	check := &lease.Check{Store: store, Events: event.NewSink(u.OnEvent, nil), Release: name, Takeover: u.Takeover, Undo: u.undo}
	if r.state, err = check.Run(ctx); err != nil {
		return false, err
	}
	if err := r.state.Err; err != nil {
		if u.IgnoreNotFound {
			return true, nil
		}
		return false, fmt.Errorf("uninstall: Release not loaded: %s: %w", name, err)
	}
	if len(r.state.History) == 0 {
		return false, errors.New("no release provided")
	}
	releaseutil.SortByRevision(r.state.History)
	r.rel = history.Copy(history.Newest(r.state.History))
	r.writer, r.inventory = store.NewWriter(r.rel), inventory.New(r.state.History, r.rel)
	if r.rel.Info.Status != release.StatusUninstalled {
		return false, nil
	}
	if u.KeepHistory {
		return false, fmt.Errorf("the release named %q is already deleted", name)
	}
	if err := r.purge(store); err != nil {
		return false, fmt.Errorf("uninstall: Failed to purge the release: %w", err)
	}
	r.response = &release.UninstallReleaseResponse{Release: r.rel}
	return true, nil
}

// isOrdered reports whether the release is uninstalled in reverse order. It is if the last
// revision was deployed in order, or a revision that failed after the last deployed one. An
// unusable record is an error, unless the options ask to delete all objects at the same
// time.
func (r *uninstallRun) isOrdered() (bool, error) {
	u := r.action
	if u.IgnoreOrder || !r.inventory.IsOrdered() {
		return false, nil
	}
	for _, rel := range r.inventory.Revisions() {
		_, err := orderrecord.Read(rel)
		switch {
		case err == nil:
		case u.Wait && u.WaitStrategy == WaitStrategyNone:
			return false, nil
		default:
			return false, fmt.Errorf("uninstall: %w: use --wait=true or --wait=false to delete everything at once", err)
		}
	}
	return true, nil
}

func (r *uninstallRun) uninstall(ctx context.Context) (*release.UninstallReleaseResponse, error) {
	r.hideSecrets()
	if err := r.removal.prepare(ctx); err != nil {
		return nil, err
	}
	r.op.Log("uninstall: Deleting %s", r.rel.Name)
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	r.writer.Background.Start()
	defer r.writer.Background.Stop()
	r.response = &release.UninstallReleaseResponse{Release: r.rel}
	runner := r.hooks()
	if err := r.runPreDeleteHooks(ctx, runner); err != nil {
		return r.response, r.abandon(ctx, err)
	}
	if err := r.remove(ctx); err != nil {
		return nil, r.abandon(ctx, err)
	}
	var errs []error
	if r.action.Wait || r.action.WaitStrategy == WaitStrategyOrdered {
		if err := r.awaitDeleted(ctx); err != nil {
			errs = append(errs, err)
		}
	}
	if !r.action.DisableHooks {
		if err := runner.Run(ctx, r.writer, release.HookPostDelete); err != nil {
			errs = append(errs, err)
		}
	}
	if err := context.Cause(ctx); err != nil {
		return r.response, r.abandon(ctx, errors.Join(append([]error{err}, errs...)...))
	}
	return r.conclude(errs)
}

// hideSecrets makes the operation mask the contents of the release's Secrets in everything
// that it prints, for every revision that may have left objects in the cluster.
func (r *uninstallRun) hideSecrets() {
	var contents []map[string]any
	for _, rel := range r.inventory.Revisions() {
		contents = append(contents, redact.ManifestObjects(rel.Manifest)...)
		contents = append(contents, redact.HookObjects(rel.Hooks)...)
	}
	r.op.Events.RedactWith(redact.ForObjects(contents))
}

// hooks returns the runner of the hooks. If this uninstall continues an earlier one, the
// runner skips hooks that succeeded then, because objects that they need may no longer
// exist.
func (r *uninstallRun) hooks() *hooks.Runner {
	u := r.action
	o := hooks.Options{
		Timeout: u.Timeout, Limit: u.MaxParallelHooks, FollowLogs: u.FollowHookLogs, Modes: storedHookModes(r.rel, r.op.Events),
	}
	if r.start.IsContinued() {
		o.Filter = func(h *release.Hook) bool {
			succeeded := h.LastRun.Phase == release.HookPhaseSucceeded && !h.LastRun.StartedAt.Before(r.rel.Info.Deleted)
			return !succeeded || slices.Contains(h.Events, release.HookPreDelete) && slices.Contains(h.Events, release.HookPostDelete)
		}
	}
	return r.op.Hooks(o)
}

// runPreDeleteHooks first cleans up the hooks of operations that terminated unexpectedly,
// and then runs the pre-delete hooks.
func (r *uninstallRun) runPreDeleteHooks(ctx context.Context, runner *hooks.Runner) error {
	if r.action.DisableHooks {
		r.op.Log("delete hooks disabled for %s", r.rel.Name)
		return nil
	}
	if err := runner.Recover(ctx, r.interrupted); err != nil {
		return err
	}
	if err := runner.Run(ctx, r.writer, release.HookPreDelete); err != nil {
		return r.removal.hookCause(ctx, err)
	}
	return nil
}

func (r *uninstallRun) remove(ctx context.Context) error {
	r.isDeleting = true
	err := r.removal.execute(ctx)
	if err == nil {
		if kept := r.removal.kept(); kept != "" {
			r.response.Info = "These resources were kept due to the resource policy:\n" + kept
		}
		return nil
	}
	r.op.Log("uninstall: Failed to delete release: %s", r.op.Events.RedactError(err))
	return r.removal.failure(ctx, err)
}

// awaitDeleted waits until all deleted objects no longer exist.
func (r *uninstallRun) awaitDeleted(ctx context.Context) error {
	list := r.removal.deleted()
	if len(list) == 0 {
		return nil
	}
	options := wait.DeletedOptions{Timeout: r.removal.waitTimeout(), OnChange: func(ctx context.Context, report watcher.Report) {
		e := wait.ChangeEvent(report, "", r.rel.Namespace)
		if report.Status.State == readiness.Ready {
			e.State, e.Message = "Gone", "deleted"
		} else {
			e.Deadline, _ = ctx.Deadline()
		}
		r.op.Events.Emit(e)
	}}
	r.op.Events.Emit(Event{Type: EventWaiting, Message: "waiting for " + text.Count(len(list), "resource") + " to be deleted", Resources: len(list)})
	return r.op.Waiter.Deleted(ctx, list, options)
}

// purge deletes all stored revisions of the release.
func (r *uninstallRun) purge(store *history.Store) error {
	for _, rel := range r.state.History {
		if err := store.Delete(rel.Name, rel.Version); err != nil {
			return err
		}
	}
	return nil
}
