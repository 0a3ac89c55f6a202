// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"fmt"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/inventory"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/orderrecord"
)

// Target describes the release to uninstall.
type Target struct {
	// Release is a copy of the newest stored revision. The uninstall changes the copy, for
	// example its status.
	Release *release.Release

	// state contains all stored revisions, oldest first, as they were when the lock of the
	// release was checked.
	state *lease.LockCheckResult
	// inventory contains the objects that the release may have in the cluster, including
	// those of failed revisions.
	inventory *inventory.Inventory
}

// NewTarget returns the Target for the release whose stored revisions are in state. There must
// be at least one revision.
func NewTarget(state *lease.LockCheckResult) *Target {
	releaseutil.SortByRevision(state.History)
	rel := history.Copy(history.Newest(state.History))
	return &Target{Release: rel, state: state, inventory: inventory.New(state.History, rel)}
}

// IsOrdered reports whether the objects can be deleted in reverse order: whether the last
// deployed revision, or a later failed one, was deployed in order. If the order record of a
// revision is unreadable, the result is false if ignoreUnreadable is set, otherwise an error.
func (t *Target) IsOrdered(ignoreUnreadable bool) (bool, error) {
	if !t.inventory.IsOrdered() {
		return false, nil
	}
	for _, rel := range t.inventory.Revisions() {
		_, err := orderrecord.Read(rel)
		switch {
		case err == nil:
		case ignoreUnreadable:
			return false, nil
		default:
			return false, fmt.Errorf("uninstall: %w: use --wait=true or --wait=false to delete everything without ordering", err)
		}
	}
	return true, nil
}

// Purge deletes all stored revisions of the release.
func (t *Target) Purge(store *history.Store) error {
	for _, rel := range t.state.History {
		if err := store.Delete(rel.Name, rel.Version); err != nil {
			return fmt.Errorf("uninstall: Failed to purge the release: %w", err)
		}
	}
	return nil
}
