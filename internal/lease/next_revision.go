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

// CreateNext stores rel, a new revision, after the last revision in s. It then reads the
// last revision again to detect an uninstall that started at the same time. An uninstall,
// which creates no revision, also writes first and then looks for a new revision, so an
// upgrade and an uninstall never both continue. A revision that is taken over is recorded
// as failed only after this check. CreateNext returns the revisions whose hooks must be
// recovered (see history.Interrupted).
func CreateNext(store *history.Store, events *event.Sink, rel *release.Release, s *State) ([]*history.Interrupted, error) {
	deletedPrevious, err := Create(store, rel, s.Stale)
	if err != nil {
		return nil, err
	}
	interrupted, err := s.takeOverLast(store, events, deletedPrevious)
	if err == nil {
		return interrupted, nil
	}
	if undo := store.Delete(rel.Name, rel.Version); undo != nil {
		return nil, fmt.Errorf("%w (deleting the new revision %d also failed: %w)", err, rel.Version, undo)
	}
	return nil, err
}

// Create stores rel, a new revision, unless another operation is running on the previous
// revision. If the previous revision is unchanged since it was read as stale, rel takes it
// over, so it does not count. Create reports whether it deleted the previous revision
// because of the history limit.
func Create(store *history.Store, rel, stale *release.Release) (deletedPrevious bool, err error) {
	return store.Create(rel, func(previous *release.Release) error {
		if history.IsInProgress(previous.Info.Status) && (stale == nil || !isSame(stale, previous)) {
			return newHeldError(previous)
		}
		return nil
	})
}

// takeOverLast checks that no other operation is running on the last revision or has
// uninstalled it. If the last revision is stale, it stores it as failed. deleted says
// whether Create itself deleted the last revision because of the history limit. It returns
// the revisions whose hooks must be recovered.
func (s *State) takeOverLast(store *history.Store, events *event.Sink, deleted bool) ([]*history.Interrupted, error) {
	current, err := store.Read(s.Last.Name, s.Last.Version)
	switch {
	case errors.Is(err, driver.ErrReleaseNotFound) && deleted:
		current = s.Last
	case errors.Is(err, driver.ErrReleaseNotFound):
		return nil, &HeldError{Release: s.Last.Name, Revision: s.Last.Version, Status: release.StatusUninstalled, Helm: ErrPending}
	case err != nil:
		return nil, err
	}
	unchanged := isSame(s.Last, current)
	switch {
	case history.IsInProgress(current.Info.Status) && (s.Stale == nil || !unchanged):
		return nil, newHeldError(current)
	case s.Stale == nil:
		return s.interrupted(store), nil
	case !unchanged && current.Info.Status != release.StatusFailed:
		return nil, newHeldError(current) // its lock holder has finished after all
	}
	last := &history.Interrupted{Writer: store.NewWriter(Interrupt(current)), Status: s.Stale.Info.Status}
	if err := last.Writer.Write(nil); err != nil && !deleted {
		return nil, err
	}
	WarnTakenOver(events, s.Stale)
	return append(s.ConcludeOlder(store), last), nil
}

// interrupted returns the revisions since the last deployed one whose operations terminated
// unexpectedly and whose hooks are not recovered yet, the oldest first. It omits the
// revision that the operation takes over.
func (s *State) interrupted(store *history.Store) []*history.Interrupted {
	revisions := slices.Clone(s.History)
	releaseutil.Reverse(revisions, releaseutil.SortByRevision)
	var list []*history.Interrupted
	for _, rel := range revisions {
		status := rel.Info.Status
		switch {
		case status == release.StatusDeployed:
			return list
		case s.Stale != nil && rel.Version == s.Last.Version:
		case s.Stale != nil && history.IsInProgress(status) && leaseOf(rel) != nil:
			list = slices.Insert(list, 0, &history.Interrupted{Writer: store.NewWriter(Interrupt(rel)), Status: status})
		case status == release.StatusFailed && slices.ContainsFunc(rel.Hooks, history.IsUnfinished):
			list = slices.Insert(list, 0, &history.Interrupted{Writer: store.NewWriter(history.Copy(rel)), Status: status})
		}
	}
	return list
}

// ConcludeOlder stores as failed the older revisions that the stale operation had itself
// taken over but not stored as failed before it terminated. It returns all older revisions
// whose hooks must be recovered.
func (s *State) ConcludeOlder(store *history.Store) []*history.Interrupted {
	older := s.interrupted(store)
	for _, i := range older {
		if history.IsInProgress(i.Status) {
			i.Writer.LogFailure(i.Writer.Write(nil))
		}
	}
	return older
}

// ReadUnchanged reads a revision again; read is the revision as it was read before. If
// another operation has started on it since then, the error is a *HeldError.
func ReadUnchanged(store *history.Store, read *release.Release) (*release.Release, error) {
	current, err := store.Read(read.Name, read.Version)
	if err != nil {
		return nil, err
	}
	if !isSame(read, current) {
		return nil, newHeldError(current)
	}
	return current, nil
}
