// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/history"
)

// CreateNext stores rel, the revision after the last one in s, unless an uninstall has begun
// at the same time. To detect this, it first stores rel and then reads the last revision
// again. An uninstall, which creates no revision, first changes the last revision and then
// looks for a new one. One of the two, or both, therefore detect the other. Only after this
// check is a revision that is taken over stored as failed. CreateNext returns the revisions
// whose hooks must be recovered (see history.InterruptedRevision).
func CreateNext(store *history.Store, events *event.Sink, rel *release.Release, s *LockCheckResult) ([]*history.InterruptedRevision, error) {
	deletedPrevious, err := Create(store, rel, s.Stale)
	if err != nil {
		return nil, err
	}
	interrupted, err := s.takeOverLast(store, events, deletedPrevious)
	if err == nil {
		return interrupted, nil
	}
	if deleteErr := store.Delete(rel.Name, rel.Version); deleteErr != nil {
		return nil, fmt.Errorf("%w (deleting the new revision %d also failed: %w)", err, rel.Version, deleteErr)
	}
	return nil, err
}

// Create stores rel as a new revision, unless another operation is running on the previous
// revision. If rel takes over the previous revision, stale is that revision as it was read;
// Create then fails only if it has changed since. deletedPrevious reports whether Create
// deleted the previous revision because of the history limit.
func Create(store *history.Store, rel, stale *release.Release) (deletedPrevious bool, err error) {
	return store.Create(rel, func(previous *release.Release) error {
		if history.IsInProgress(previous.Info.Status) && (stale == nil || !isUnchanged(stale, previous)) {
			return NewHeldError(previous)
		}
		return nil
	})
}

// takeOverLast checks that since LockCheck.Run no other operation has started on the last revision
// or has uninstalled it. If the operation takes over the last revision, takeOverLast stores
// it as failed. deleted says whether Create has deleted the last revision because of the
// history limit. The result contains the revisions whose hooks must be recovered.
func (s *LockCheckResult) takeOverLast(store *history.Store, events *event.Sink, deleted bool) ([]*history.InterruptedRevision, error) {
	current, err := store.Read(s.Last.Name, s.Last.Version)
	switch {
	case errors.Is(err, driver.ErrReleaseNotFound) && deleted:
		current = s.Last
	case errors.Is(err, driver.ErrReleaseNotFound):
		return nil, &HeldError{Release: s.Last.Name, Revision: s.Last.Version, Status: release.StatusUninstalled, Helm: ErrPending}
	case err != nil:
		return nil, err
	}
	unchanged := isUnchanged(s.Last, current)
	switch {
	case history.IsInProgress(current.Info.Status) && (s.Stale == nil || !unchanged):
		return nil, NewHeldError(current)
	case s.Stale == nil:
		return s.interrupted(store), nil
	case !unchanged && current.Info.Status != release.StatusFailed:
		return nil, NewHeldError(current) // its lock holder has finished after all
	}
	last := &history.InterruptedRevision{Writer: store.NewWriter(AsInterrupted(current)), Status: s.Stale.Info.Status}
	if err := last.Writer.Write(nil); err != nil && !deleted {
		return nil, err
	}
	WarnTakenOver(events, s.Stale)
	return append(s.StoreOlderAsFailed(store), last), nil
}

// interrupted returns the revisions since the last deployed one whose operations terminated
// unexpectedly and whose hooks have not been recovered, the oldest first. It omits the last
// revision if it is taken over.
func (s *LockCheckResult) interrupted(store *history.Store) []*history.InterruptedRevision {
	revisions := slices.Clone(s.History)
	releaseutil.Reverse(revisions, releaseutil.SortByRevision)
	var list []*history.InterruptedRevision
	for _, rel := range revisions {
		status := rel.Info.Status
		switch {
		case status == release.StatusDeployed:
			return list
		case s.Stale != nil && rel.Version == s.Last.Version:
		case s.Stale != nil && history.IsInProgress(status) && leaseOf(rel) != nil:
			list = slices.Insert(list, 0, &history.InterruptedRevision{Writer: store.NewWriter(AsInterrupted(rel)), Status: status})
		case status == release.StatusFailed && slices.ContainsFunc(rel.Hooks, history.IsUnfinished):
			list = slices.Insert(list, 0, &history.InterruptedRevision{Writer: store.NewWriter(history.Copy(rel)), Status: status})
		}
	}
	return list
}

// StoreOlderAsFailed stores as failed those revisions before the last one whose operations
// terminated unexpectedly, if the operation that took them over terminated before it could
// do so. It returns all revisions before the last one whose hooks must be recovered.
func (s *LockCheckResult) StoreOlderAsFailed(store *history.Store) []*history.InterruptedRevision {
	older := s.interrupted(store)
	for _, i := range older {
		if history.IsInProgress(i.Status) {
			i.Writer.LogFailure(i.Writer.Write(nil))
		}
	}
	return older
}

// ReadUnchanged reads a revision again. read is the revision as it was read before. If
// another operation has started on the revision since then, the error is a *HeldError.
func ReadUnchanged(store *history.Store, read *release.Release) (*release.Release, error) {
	current, err := store.Read(read.Name, read.Version)
	if err != nil {
		return nil, err
	}
	if !isUnchanged(read, current) {
		return nil, NewHeldError(current)
	}
	return current, nil
}
