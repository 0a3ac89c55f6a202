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

// Target is the release to uninstall.
type Target struct {
	// Release is a copy of the newest revision, which the uninstall changes.
	Release *release.Release

	// state contains all revisions, the oldest first, as read when the lock was checked.
	state *lease.State
	// inventory contains the objects that the release may have in the cluster, including
	// those of failed revisions.
	inventory *inventory.Inventory
}

// NewTarget returns the release in state, which must contain at least one revision.
func NewTarget(state *lease.State) *Target {
	releaseutil.SortByRevision(state.History)
	rel := history.Copy(history.Newest(state.History))
	return &Target{Release: rel, state: state, inventory: inventory.New(state.History, rel)}
}

// IsOrdered reports whether the last deployed revision, or one that failed after it, was
// deployed in order. If the order record of a revision cannot be used, it returns an error,
// or false if ignoreUnusable is set.
func (t *Target) IsOrdered(ignoreUnusable bool) (bool, error) {
	if !t.inventory.IsOrdered() {
		return false, nil
	}
	for _, rel := range t.inventory.Revisions() {
		_, err := orderrecord.Read(rel)
		switch {
		case err == nil:
		case ignoreUnusable:
			return false, nil
		default:
			return false, fmt.Errorf("uninstall: %w: use --wait=true or --wait=false to delete everything at once", err)
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
