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

	"github.com/ordered-helm/helm/internal/hookrunner"
)

// begin has the release say, before anything of it is deleted, that it is being removed,
// unless another operation works on it. As in Helm it goes on where that must not be
// recorded: then the release stays what it was, as nobody could tell when its uninstall
// has died.
func (op *uninstallation) begin() error {
	before, err := op.unchanged(op.found.last)
	if err != nil {
		return err
	}
	op.before = before
	if !op.carriesOn() {
		op.ledger.change(func(rel *release.Release) { rel.Info.Deleted = helmtime.Now() })
	}
	if err := op.hold(op.ledger, "uninstall", release.StatusUninstalling); err != nil {
		return err
	}
	op.ledger.replaces(before)
	if op.ledger.leaseID() != "" {
		if err := op.beAlone(); err != nil {
			return err
		}
	}
	op.taken = op.endOlder(op.found)
	for _, t := range op.taken {
		if t.ledger.rel.Version == op.rel.Version {
			t.ledger = op.ledger // which writes it by now
		}
	}
	if op.found.stale != nil {
		op.sayTakenOver(op.found.stale)
		op.taken = append(op.taken, &taken{ledger: op.ledger, status: op.found.stale.Info.Status})
	}
	return nil
}

// beAlone records that the release is being removed, and looks then for a revision that
// was made meanwhile: who makes one stores it first, too, and then looks for an
// uninstall, so that never both go on.
func (op *uninstallation) beAlone() error {
	err := op.ledger.store(func(rel *release.Release) {
		rel.Info.Status, rel.Info.Description = release.StatusUninstalling, "Deletion in progress (or silently failed)"
	})
	if lost := op.ledger.lostTo(); lost != nil {
		return lost
	}
	if err != nil {
		if !isRefusal(err) {
			return fmt.Errorf("it cannot be recorded that release %s is being removed, and nothing of it was: %w", op.rel.Name, err)
		}
		op.ledger.try(err)
		op.ledger.letGo()
		was := op.asBefore().Info
		op.ledger.change(func(rel *release.Release) { rel.Info.Status, rel.Info.Description = was.Status, was.Description })
		return nil
	}
	next, err := readRevision(op.operation.cfg.Releases, op.rel.Name, op.rel.Version+1)
	switch {
	case err == nil:
		err = &HeldError{Release: op.rel.Name, Revision: next.Version, Status: next.Info.Status, Holder: HolderOf(next)}
	case errors.Is(err, driver.ErrReleaseNotFound), apierrors.IsForbidden(err):
		return nil
	}
	return errors.Join(err, newLedger(op.operation.cfg, ownRelease(op.asBefore())).store(nil))
}

// isRefusal reports whether an error is an answer that the same request would get again.
func isRefusal(err error) bool {
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

// carriesOn reports whether an uninstall is taken over that died.
func (op *uninstallation) carriesOn() bool {
	return op.found.stale != nil && op.found.stale.Info.Status == release.StatusUninstalling
}

// settleHooks brings the hooks of an operation that died to their end. Those of an
// uninstall that have succeeded are not run again: what they need may be gone.
func (op *uninstallation) settleHooks(ctx context.Context, o *hookOptions) error {
	if err := op.settleAll(ctx, op.taken, *o); err != nil {
		return err
	}
	if op.carriesOn() {
		o.picks = func(h *release.Hook) bool {
			ran := h.LastRun.Phase == release.HookPhaseSucceeded && !h.LastRun.StartedAt.Before(op.rel.Info.Deleted)
			return !ran || slices.Contains(h.Events, release.HookPreDelete) && slices.Contains(h.Events, release.HookPostDelete)
		}
	}
	return nil
}

// anyHookRan reports whether any hook was begun.
func (op *uninstallation) anyHookRan() bool {
	return slices.ContainsFunc(hookrunner.ForEvent(op.rel.Hooks, release.HookPreDelete), func(h *release.Hook) bool {
		return !h.LastRun.StartedAt.Before(op.rel.Info.Deleted)
	})
}

// asBefore is the release as it was before this began: it is whole.
func (op *uninstallation) asBefore() *release.Release {
	if op.found.stale != nil {
		return interrupted(op.before)
	}
	return op.before
}

// abandon records that the release is not removed. Where nothing was begun it is, without
// an order, what it was, as in Helm.
func (op *uninstallation) abandon(ctx context.Context, failure error) error {
	if lost := op.ledger.lostTo(); lost != nil {
		return lost
	}
	failure = op.events.conceal(failure)
	if !op.ordered() && !op.deletes && ctx.Err() == nil && !op.anyHookRan() {
		op.ledger.pause()
		if err := op.ledger.putBack(op.asBefore()); err == nil {
			return failure
		}
	}
	op.ledger.note(op.events, func(rel *release.Release) {
		rel.Info.Status, rel.Info.Description = release.StatusFailed, fmt.Sprintf("Uninstall failed: %s", oneLine(inShort(failure)))
	})
	return failure
}

// conclude records the end of the release, or forgets it.
func (op *uninstallation) conclude(errs []error) (*release.UninstallReleaseResponse, error) {
	op.ledger.pause() // there may be nothing to note it in
	if err := op.mayChange(); err != nil {
		return nil, err
	}
	description := op.Description
	if description == "" {
		description = "Uninstallation complete"
	}
	op.ledger.change(func(rel *release.Release) {
		rel.Info.Status, rel.Info.Description = release.StatusUninstalled, description
	})
	if op.KeepHistory {
		op.ledger.note(op.events, nil)
		if lost := op.ledger.lostTo(); lost != nil {
			return nil, lost
		}
		if err := op.supersede(); err != nil {
			return nil, err
		}
	} else {
		op.operation.cfg.Log("purge requested for %s", op.rel.Name)
		if err := op.purge(); err != nil {
			errs = append(errs, fmt.Errorf("uninstall: Failed to purge the release: %w", err))
			op.ledger.try(op.ledger.store(nil)) // so that nobody takes it for held
		}
	}
	if len(errs) > 0 {
		return op.response, fmt.Errorf("uninstallation completed with %d error(s): %w", len(errs), &listedErrors{errs})
	}
	return op.response, nil
}

// listedErrors are several errors in one line.
type listedErrors struct{ errs []error }

func (e *listedErrors) Error() string { return joined(e.errs) }

func (e *listedErrors) Unwrap() []error { return e.errs }

// supersede leaves no revision that is recorded as deployed, but those that were made
// meanwhile.
func (op *uninstallation) supersede() error {
	deployed, err := op.operation.cfg.Releases.DeployedAll(op.rel.Name)
	if err != nil && !errors.Is(err, driver.ErrNoDeployedReleases) {
		return err
	}
	deployed = slices.DeleteFunc(deployed, func(rel *release.Release) bool { return rel.Version > op.rel.Version })
	for _, rel := range deployed {
		supersede := func(rel *release.Release) { rel.Info.Status = release.StatusSuperseded }
		if rel.Version == op.rel.Version { // that it could not be stored before was said
			l := newLedger(op.operation.cfg, ownRelease(rel))
			l.try(l.store(supersede))
		} else {
			newLedger(op.operation.cfg, ownRelease(rel)).note(op.events, supersede)
		}
	}
	return nil
}

func (op *uninstallation) purge() error {
	for _, rel := range op.history {
		if _, err := op.Uninstall.cfg.Releases.Delete(rel.Name, rel.Version); err != nil {
			return err
		}
	}
	return nil
}
