// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/text"
)

// begin locks the release and records that it is being uninstalled, before anything is
// deleted.
func (r *uninstallRun) begin(ctx context.Context) (err error) {
	r.start = &lease.UninstallStart{
		Store: r.op.Store, Writer: r.writer, State: r.state,
		Lock:   func() (*lease.Lease, error) { return r.op.Lock(r.writer, "uninstall", release.StatusUninstalling) },
		Unlock: func() { r.op.Unlock(r.writer) },
	}
	r.interrupted, err = r.start.Begin(ctx, r.op.Events)
	return err
}

// hasRunHook reports whether this uninstall has started any pre-delete hook.
func (r *uninstallRun) hasRunHook() bool {
	return slices.ContainsFunc(hookrunner.ForEvent(r.rel.Hooks, release.HookPreDelete), func(h *release.Hook) bool {
		return !h.LastRun.StartedAt.Before(r.rel.Info.Deleted)
	})
}

// abandon records that the uninstall failed because of cause, and returns the error of the
// uninstall. If an uninstall without an order has not deleted anything or run any hook yet,
// abandon restores the previous record instead, as in Helm.
func (r *uninstallRun) abandon(ctx context.Context, cause error) error {
	if lost := r.op.Lease().Lost(); lost != nil {
		return lost
	}
	cause = r.op.Events.RedactError(cause)
	if r.removal.restores() && !r.isDeleting && ctx.Err() == nil && !r.hasRunHook() {
		r.writer.Background.Stop()
		if err := r.writer.Restore(r.start.Previous()); err == nil {
			return cause
		}
	}
	r.writer.WriteOrWarn(r.op.Events, func(rel *release.Release) {
		rel.Info.Status, rel.Info.Description = release.StatusFailed, fmt.Sprintf("Uninstall failed: %s", text.OneLine(failure.Description(cause)))
	})
	return cause
}

// conclude deletes the stored revisions of the release or, if KeepHistory is set, records
// the release as uninstalled. errs are earlier errors that did not stop the uninstall;
// conclude returns them, joined with its own.
func (r *uninstallRun) conclude(errs []error) (*release.UninstallReleaseResponse, error) {
	r.writer.Background.Stop() // there may be no record to write progress to
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
			r.writer.LogFailure(r.writer.Write(nil)) // so that nobody considers the release locked
		}
	}
	if len(errs) > 0 {
		return r.response, fmt.Errorf("uninstallation completed with %d error(s): %w", len(errs), &errorList{errs})
	}
	return r.response, nil
}

// errorList joins the messages of several errors in one line.
type errorList struct{ errs []error }

func (e *errorList) Error() string { return text.JoinErrors(e.errs) }

func (e *errorList) Unwrap() []error { return e.errs }

// supersede records all revisions that are still recorded as deployed as superseded, except
// for those that another program created during the uninstall.
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
		if rel.Version == r.rel.Version { // a failure to store it was already reported
			w.LogFailure(w.Write(supersede))
		} else {
			w.WriteOrWarn(r.op.Events, supersede)
		}
	}
	return nil
}
