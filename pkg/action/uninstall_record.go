// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

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

const (
	// withdrawTimeout is how long an uninstall waits for a new revision to be withdrawn,
	// and withdrawInterval how often it looks for it.
	withdrawTimeout  = 2 * time.Second
	withdrawInterval = 100 * time.Millisecond
)

// begin records that the release is being uninstalled before it deletes anything, unless
// another operation works on the release. If an operation that creates a revision begins at
// the same moment, both find each other, and that operation withdraws its revision: the
// uninstall then tries again.
func (r *uninstallRun) begin(ctx context.Context) error {
	expected := r.state.Last
	for until := time.Now().Add(withdrawTimeout); ; {
		err := r.tryBegin(expected)
		if err == nil {
			r.takeOver()
			return nil
		}
		var next *nextRevisionError
		if !errors.As(err, &next) || !r.awaitWithdrawal(ctx, next, until) {
			return err
		}
		expected = r.previousRecord()
	}
}

// tryBegin records that the release is being uninstalled if its last revision is stored as
// expected. As in Helm the uninstall goes on if the account is not allowed to record that;
// the stored status then stays as it was, because nobody could tell when the uninstall has
// died.
func (r *uninstallRun) tryBegin(expected *release.Release) error {
	stored, err := lease.ReadUnchanged(r.op.Store, expected)
	if err != nil {
		return err
	}
	if r.stored == nil {
		r.stored = stored
	}
	if !r.isContinued() {
		r.writer.Change(func(rel *release.Release) { rel.Info.Deleted = helmtime.Now() })
	}
	held, err := r.op.Hold(r.writer, "uninstall", release.StatusUninstalling)
	if err != nil || held == nil {
		return err
	}
	held.SetPrevious(stored)
	return r.recordBegin(held)
}

// nextRevisionError says that a revision was created at the moment at which the uninstall
// began, so that the uninstall has withdrawn.
type nextRevisionError struct{ *HeldError }

func (e *nextRevisionError) Unwrap() error { return e.HeldError }

// awaitWithdrawal waits until the other operation has withdrawn its revision too.
func (r *uninstallRun) awaitWithdrawal(ctx context.Context, next *nextRevisionError, until time.Time) bool {
	ticker := time.NewTicker(withdrawInterval)
	defer ticker.Stop()
	for time.Now().Before(until) {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
		}
		if _, err := r.op.Store.Read(next.Release, next.Revision); errors.Is(err, driver.ErrReleaseNotFound) {
			return true
		}
	}
	return false
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

// recordBegin records that the release is being uninstalled, and then looks for a revision
// that was created in the meantime. An operation that creates a revision also stores it
// first and then looks for an uninstall, so that the two never both go on.
func (r *uninstallRun) recordBegin(held *lease.Lease) error {
	err := r.writer.Write(func(rel *release.Release) {
		rel.Info.Status, rel.Info.Description = release.StatusUninstalling, "Deletion in progress (or silently failed)"
	})
	if lost := held.Lost(); lost != nil {
		return lost
	}
	if err != nil {
		return r.beginUnrecorded(err)
	}
	next, err := r.op.Store.Read(r.rel.Name, r.rel.Version+1)
	if errors.Is(err, driver.ErrReleaseNotFound) || apierrors.IsForbidden(err) {
		return nil
	}
	if err == nil {
		err = &nextRevisionError{&HeldError{Release: r.rel.Name, Revision: next.Version, Status: next.Info.Status, Holder: HolderOf(next)}}
	}
	r.op.Release(r.writer)
	if failed := r.op.Store.NewWriter(history.Copy(r.previousRecord())).Write(nil); failed != nil {
		return fmt.Errorf("%w; restoring the record of revision %d also failed: %s", err, r.rel.Version, failed)
	}
	return err
}

// beginUnrecorded decides whether the uninstall goes on although it could not be recorded:
// it does if the account is not allowed to.
func (r *uninstallRun) beginUnrecorded(err error) error {
	if !isFinalAnswer(err) {
		return fmt.Errorf("failed to record that release %s is being uninstalled, so nothing was deleted: %w", r.rel.Name, err)
	}
	r.writer.LogFailure(err)
	r.op.Release(r.writer)
	was := r.previousRecord().Info
	r.writer.Change(func(rel *release.Release) { rel.Info.Status, rel.Info.Description = was.Status, was.Description })
	return nil
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
