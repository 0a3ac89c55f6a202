// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/storage/driver"
)

// succeed stores a new revision after the one that an inquiry has found to be free, and
// looks then what became of that: an uninstall, which makes no revision, writes first,
// too, and then looks for a new one, so that never both go on. One that is taken over is
// recorded as failed only then.
func (op *operation) succeed(rel *release.Release, f *found) ([]*taken, error) {
	forgot, err := createRevision(op.cfg, rel, f.stale)
	if err != nil {
		return nil, err
	}
	taken, err := op.inherit(f, forgot)
	if err == nil {
		return taken, nil
	}
	if _, undone := op.cfg.Releases.Delete(rel.Name, rel.Version); undone != nil {
		return nil, fmt.Errorf("%w (and revision %d, which was made for nothing, cannot be deleted: %w)", err, rel.Version, undone)
	}
	return nil, err
}

// inherit makes sure that nobody works on the last revision, or has removed it, and takes
// it over if it is to be. It may have been forgotten, as only so many are kept.
func (op *operation) inherit(f *found, forgot bool) ([]*taken, error) {
	current, err := readRevision(op.cfg.Releases, f.last.Name, f.last.Version)
	switch {
	case errors.Is(err, driver.ErrReleaseNotFound) && forgot:
		current = f.last
	case errors.Is(err, driver.ErrReleaseNotFound):
		return nil, &HeldError{Release: f.last.Name, Revision: f.last.Version, Status: release.StatusUninstalled, Helm: errPending}
	case err != nil:
		return nil, err
	}
	unchanged := isSame(f.last, current)
	switch {
	case isHeld(current.Info.Status) && (f.stale == nil || !unchanged):
		return nil, newHeldError(current)
	case f.stale == nil:
		return op.unsettled(f), nil
	case !unchanged && current.Info.Status != release.StatusFailed:
		return nil, newHeldError(current) // its holder has come to an end after all
	}
	t := &taken{ledger: newLedger(op.cfg, interrupted(current)), status: f.stale.Info.Status}
	if err := t.ledger.store(nil); err != nil && !forgot {
		return nil, err
	}
	op.sayTakenOver(f.stale)
	return append(op.endOlder(f), t), nil
}

// unsettled are the revisions since the one that was deployed last whose operations died,
// and whose hooks nobody has brought to their end yet, the oldest first; without the one
// that is taken over.
func (op *operation) unsettled(f *found) []*taken {
	history := slices.Clone(f.history)
	releaseutil.Reverse(history, releaseutil.SortByRevision)
	var list []*taken
	for _, rel := range history {
		status := rel.Info.Status
		switch {
		case status == release.StatusDeployed:
			return list
		case f.stale != nil && rel.Version == f.last.Version:
		case f.stale != nil && isHeld(status) && leaseOf(rel) != nil:
			list = slices.Insert(list, 0, &taken{ledger: newLedger(op.cfg, interrupted(rel)), status: status})
		case status == release.StatusFailed && slices.ContainsFunc(rel.Hooks, isLeft):
			list = slices.Insert(list, 0, &taken{ledger: newLedger(op.cfg, ownRelease(rel)), status: status})
		}
	}
	return list
}

// endOlder records as failed what the operation that is taken over had itself taken over,
// if it has died before it could. It gives what is unsettled.
func (op *operation) endOlder(f *found) []*taken {
	older := op.unsettled(f)
	for _, t := range older {
		if isHeld(t.status) {
			t.ledger.try(t.ledger.store(nil))
		}
	}
	return older
}

// newHeldError says that others work on a revision, or have done so meanwhile.
func newHeldError(current *release.Release) *HeldError {
	return &HeldError{Release: current.Name, Revision: current.Version, Status: current.Info.Status, Holder: HolderOf(current), Helm: errPending}
}

// isSame reports whether nobody has written a sign of life, or another status, since a
// revision was read.
func isSame(read, current *release.Release) bool {
	was, is := leaseOf(read), leaseOf(current)
	if was == nil || is == nil {
		return was == is && current.Info.Status == read.Info.Status
	}
	return current.Info.Status == read.Info.Status && was.ID == is.ID && was.RenewedAt.Equal(is.RenewedAt)
}

// unchanged reads a revision again: another operation may have begun on it since it was
// read, which is a *HeldError.
func (op *operation) unchanged(read *release.Release) (*release.Release, error) {
	current, err := readRevision(op.cfg.Releases, read.Name, read.Version)
	if err != nil {
		return nil, err
	}
	if !isSame(read, current) {
		return nil, newHeldError(current)
	}
	return current, nil
}
