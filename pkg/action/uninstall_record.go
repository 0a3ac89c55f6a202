// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	helmtime "helm.sh/helm/v3/pkg/time"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/text"
)

// begin records, before anything of the release is deleted, that it is being removed,
// unless another operation works on it. As in Helm the removal goes on where that must not
// be recorded: the recorded state of the release then stays the same, because nobody could
// tell when its uninstall has died.
func (r *uninstallRun) begin() error {
	stored, err := lease.ReadUnchanged(r.op.Store, r.state.Last)
	if err != nil {
		return err
	}
	r.stored = stored
	if !r.isContinued() {
		r.writer.Change(func(rel *release.Release) { rel.Info.Deleted = helmtime.Now() })
	}
	held, err := r.op.Hold(r.writer, "uninstall", release.StatusUninstalling)
	if err != nil {
		return err
	}
	held.Replaces(stored)
	if held != nil {
		if err := r.recordBegin(held); err != nil {
			return err
		}
	}
	r.takeOver()
	return nil
}

// takeOver records the revisions that are taken over, and finds those whose hooks have to
// be recovered.
func (r *uninstallRun) takeOver() {
	r.interrupted = r.state.ConcludeOlder(r.op.Store)
	for _, i := range r.interrupted {
		if i.Writer.Release().Version == r.rel.Version {
			i.Writer = r.writer // which writes this revision by now
		}
	}
	if stale := r.state.Stale; stale != nil {
		lease.WarnTakenOver(r.op.Events, stale)
		r.interrupted = append(r.interrupted, &history.Interrupted{Writer: r.writer, Status: stale.Info.Status})
	}
}

// recordBegin records that the release is being removed, and then looks for a revision that
// was created in the meantime: an operation that creates one also stores it first, and then
// looks for an uninstall, so that never both go on.
func (r *uninstallRun) recordBegin(held *lease.Lease) error {
	err := r.writer.Write(func(rel *release.Release) {
		rel.Info.Status, rel.Info.Description = release.StatusUninstalling, "Deletion in progress (or silently failed)"
	})
	if lost := held.Lost(); lost != nil {
		return lost
	}
	if err != nil {
		if !isFinalAnswer(err) {
			return fmt.Errorf("it cannot be recorded that release %s is being removed, and nothing of it was: %w", r.rel.Name, err)
		}
		r.writer.LogFailure(err)
		r.op.Release(r.writer)
		was := r.previousRecord().Info
		r.writer.Change(func(rel *release.Release) { rel.Info.Status, rel.Info.Description = was.Status, was.Description })
		return nil
	}
	next, err := r.op.Store.Read(r.rel.Name, r.rel.Version+1)
	switch {
	case err == nil:
		err = &HeldError{Release: r.rel.Name, Revision: next.Version, Status: next.Info.Status, Holder: HolderOf(next)}
	case errors.Is(err, driver.ErrReleaseNotFound), apierrors.IsForbidden(err):
		return nil
	}
	return errors.Join(err, r.op.Store.NewWriter(history.Copy(r.previousRecord())).Write(nil))
}

// isFinalAnswer reports whether an error is an answer that the same request would get again.
func isFinalAnswer(err error) bool {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return false
	}
	switch code := answer.Status().Code; code {
	case http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	default:
		return code >= 400 && code < 500
	}
}

// isContinued reports whether this operation takes over an uninstall that died.
func (r *uninstallRun) isContinued() bool {
	return r.state.Stale != nil && r.state.Stale.Info.Status == release.StatusUninstalling
}

// previousRecord is the release as it is to be recorded if nothing of it is removed.
func (r *uninstallRun) previousRecord() *release.Release {
	if r.state.Stale != nil {
		return lease.Interrupt(r.stored)
	}
	return r.stored
}

// hasRunHook reports whether any hook was started.
func (r *uninstallRun) hasRunHook() bool {
	return slices.ContainsFunc(hookrunner.ForEvent(r.rel.Hooks, release.HookPreDelete), func(h *release.Hook) bool {
		return !h.LastRun.StartedAt.Before(r.rel.Info.Deleted)
	})
}

// abandon records that the release is not removed. Without an order, and if nothing was
// begun, the recorded state is the previous one, as in Helm.
func (r *uninstallRun) abandon(ctx context.Context, cause error) error {
	if lost := r.op.Lease().Lost(); lost != nil {
		return lost
	}
	cause = r.op.Events.RedactError(cause)
	if r.removal.restores() && !r.isDeleting && ctx.Err() == nil && !r.hasRunHook() {
		r.writer.Stop()
		if err := r.writer.Restore(r.previousRecord()); err == nil {
			return cause
		}
	}
	r.writer.WriteOrWarn(r.op.Events, func(rel *release.Release) {
		rel.Info.Status, rel.Info.Description = release.StatusFailed, fmt.Sprintf("Uninstall failed: %s", text.OneLine(failure.Description(cause)))
	})
	return cause
}

// conclude records that the release is removed, or deletes its records.
func (r *uninstallRun) conclude(errs []error) (*release.UninstallReleaseResponse, error) {
	r.writer.Stop() // there may be no record to write progress to
	if err := r.op.MayChange(); err != nil {
		return nil, err
	}
	description := r.action.Description
	if description == "" {
		description = "Uninstallation complete"
	}
	r.writer.Change(func(rel *release.Release) {
		rel.Info.Status, rel.Info.Description = release.StatusUninstalled, description
	})
	if r.action.KeepHistory {
		r.writer.WriteOrWarn(r.op.Events, nil)
		if lost := r.op.Lease().Lost(); lost != nil {
			return nil, lost
		}
		if err := r.supersede(); err != nil {
			return nil, err
		}
	} else {
		r.op.Log("purge requested for %s", r.rel.Name)
		if err := r.purge(r.op.Store); err != nil {
			errs = append(errs, fmt.Errorf("uninstall: Failed to purge the release: %w", err))
			r.writer.LogFailure(r.writer.Write(nil)) // so that nobody considers it held
		}
	}
	if len(errs) > 0 {
		return r.response, fmt.Errorf("uninstallation completed with %d error(s): %w", len(errs), &errorList{errs})
	}
	return r.response, nil
}

// errorList are several errors in one line.
type errorList struct{ errs []error }

func (e *errorList) Error() string { return text.JoinErrors(e.errs) }

func (e *errorList) Unwrap() []error { return e.errs }

// supersede leaves no revision recorded as deployed, except for those that were created in
// the meantime.
func (r *uninstallRun) supersede() error {
	deployed, err := r.op.Store.Deployed(r.rel.Name)
	if err != nil {
		return err
	}
	for _, rel := range deployed {
		if rel.Version > r.rel.Version {
			continue
		}
		w := r.op.Store.NewWriter(history.Copy(rel))
		supersede := func(rel *release.Release) { rel.Info.Status = release.StatusSuperseded }
		if rel.Version == r.rel.Version { // a failure to store it was reported before
			w.LogFailure(w.Write(supersede))
		} else {
			w.WriteOrWarn(r.op.Events, supersede)
		}
	}
	return nil
}
