// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/text"
)

// Fail stores in the release that the uninstall failed because of cause, and returns the
// error for the user. But if an uninstall without an order has neither deleted an object nor
// run a hook, Fail restores the stored release as it was before the uninstall, as in Helm. If
// the lock was lost, Fail stores nothing and returns the error that says so.
func (r *Run) Fail(ctx context.Context, cause error) error {
	if lost := r.op.Lease().Lost(); lost != nil {
		return lost
	}
	cause = r.op.Events.RedactError(cause)
	if r.strategy.restoresRelease() && !r.isDeleting && ctx.Err() == nil && !r.hasRunHook() {
		if err := r.writer.Restore(r.start.Previous()); err == nil {
			return cause
		}
	}
	r.writer.WriteOrWarn(r.op.Events, func(rel *release.Release) {
		rel.Info.Status, rel.Info.Description = release.StatusFailed, fmt.Sprintf("Uninstall failed: %s", text.OneLine(failure.Description(cause)))
	})
	return cause
}

// hasRunHook reports whether this uninstall has started a pre-delete hook.
func (r *Run) hasRunHook() bool {
	rel := r.target.Release
	return slices.ContainsFunc(hookorder.ForEvent(rel.Hooks, release.HookPreDelete), func(h *release.Hook) bool {
		return !h.LastRun.StartedAt.Before(rel.Info.Deleted)
	})
}

// Conclude deletes the stored revisions of the release or, if Options.KeepHistory is set,
// stores the release as uninstalled. Its error includes the errors that did not stop Perform.
func (r *Run) Conclude() (*release.UninstallReleaseResponse, error) {
	if err := r.op.MayChange(); err != nil {
		return nil, err
	}
	description := r.options.Description
	if description == "" {
		description = "Uninstallation complete"
	}
	r.writer.Change(func(rel *release.Release) {
		rel.Info.Status, rel.Info.Description = release.StatusUninstalled, description
	})
	if r.options.KeepHistory {
		r.writer.WriteOrWarn(r.op.Events, nil)
		if lost := r.op.Lease().Lost(); lost != nil {
			return nil, lost
		}
		if err := r.supersede(); err != nil {
			return nil, err
		}
	} else {
		r.op.Log("purge requested for %s", r.target.Release.Name)
		if err := r.target.Purge(r.op.Store); err != nil {
			r.addError(err)
			r.writer.LogFailure(r.writer.Write(nil)) // so that other operations do not consider the release locked
		}
	}
	if len(r.errs) > 0 {
		return r.response, fmt.Errorf("uninstallation completed with %d error(s): %w", len(r.errs), &errorList{r.errs})
	}
	return r.response, nil
}

// errorList combines several errors. Its message is one line.
type errorList struct{ errs []error }

func (e *errorList) Error() string { return text.JoinErrors(e.errs) }

func (e *errorList) Unwrap() []error { return e.errs }

// supersede stores the status superseded in all revisions that still have the status
// deployed, except in those that another program created during the uninstall.
func (r *Run) supersede() error {
	last := r.target.Release
	deployed, err := r.op.Store.Deployed(last.Name)
	if err != nil {
		return err
	}
	for _, rel := range deployed {
		if rel.Version > last.Version {
			continue
		}
		w := r.op.Store.NewWriter(history.Copy(rel))
		supersede := func(rel *release.Release) { rel.Info.Status = release.StatusSuperseded }
		if rel.Version == last.Version { // a failure to store it was already reported
			w.LogFailure(w.Write(supersede))
		} else {
			w.WriteOrWarn(r.op.Events, supersede)
		}
	}
	return nil
}
