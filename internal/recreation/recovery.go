// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package recreation

import (
	"context"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/kind"
	"github.com/ordered-helm/helm/internal/object"
)

// Recover reads the copies that earlier operations have left, and creates the objects again that these operations have
// deleted, but not created. An operation that undoes a failed one does this later, for each object in its turn.
// revisions are the stored revisions of the release before the operation: only operations that have failed leave
// copies, so nothing is read if the last one is deployed.
func (r *Recreator) Recover(ctx context.Context, revisions []*release.Release) error {
	return r.recoverIf(ctx, revisions, func(c *storedCopy) bool { return !r.Undo && !c.created })
}

// RecoverStatefulSets is what Recover is for the uninstall of a release: it creates only StatefulSets again. The pods of a
// StatefulSet that was deleted still run, and are deleted with the new one.
func (r *Recreator) RecoverStatefulSets(ctx context.Context, revisions []*release.Release) error {
	return r.recoverIf(ctx, revisions, func(c *storedCopy) bool {
		return !c.created && c.live.GroupVersionKind().GroupKind() == statefulSet
	})
}

// ReadCopies reads the copies that earlier operations have left, for RemoveCopies.
func (r *Recreator) ReadCopies(ctx context.Context, revisions []*release.Release) error {
	return r.recoverIf(ctx, revisions, func(*storedCopy) bool { return false })
}

// recoverIf reads the copies, and creates the objects for which must returns true again if they were deleted.
func (r *Recreator) recoverIf(ctx context.Context, revisions []*release.Release, must func(*storedCopy) bool) error {
	if !mayHaveCopies(revisions) {
		return nil
	}
	copies, err := r.Storage.list(ctx, r.Owner)
	if err != nil {
		return err
	}
	slices.SortStableFunc(copies, func(a, b *storedCopy) int {
		return kind.InstallRank(a.live.GetKind()) - kind.InstallRank(b.live.GetKind())
	})
	deployed := lastDeployed(revisions)
	for _, c := range copies {
		isOfOther := c.installed != "" && c.installed != r.installedAt()
		if isOfOther || c.revision <= deployed { // its operation has succeeded, but failed to delete it
			r.stale = append(r.stale, c)
			continue
		}
		if r.copies[c.id()] = c; !must(c) {
			continue
		}
		if err := r.recover(ctx, c); err != nil {
			return fmt.Errorf("%w; to give up this object, delete Secret %s in namespace %s", err, c.secret, r.Owner.Namespace)
		}
	}
	return nil
}

// recover creates an object again if it was deleted. A Job or Pod that had ended is not created, because it would run
// again.
func (r *Recreator) recover(ctx context.Context, c *storedCopy) error {
	list, err := r.Cluster.BuildObjects([]map[string]any{restorable(c.live).Object}, false)
	if err != nil {
		return err
	}
	info := list[0]
	live, err := r.Cluster.Live(ctx, list)
	if err != nil {
		return err
	}
	if found := live[info]; found != nil {
		if found.GetDeletionTimestamp() == nil {
			return nil
		}
		if err := r.deleteAndWait(ctx, info, found); err != nil {
			return fmt.Errorf("%s of revision %d: %w", c.id(), c.revision, err)
		}
	}
	if c.hasEnded() {
		return nil
	}
	r.Events.Warnf("%s is created again as it was before revision %d, whose operation deleted it and did not create it", object.Describe(info), c.revision)
	_, err = r.createCopy(ctx, info, c)
	return err
}

// mayHaveCopies reports whether operations may have left copies: whether the last one is not recorded as successful.
func mayHaveCopies(revisions []*release.Release) bool {
	var last *release.Release
	for _, rel := range revisions {
		if last == nil || rel.Version > last.Version {
			last = rel
		}
	}
	return last != nil && last.Info.Status != release.StatusDeployed
}

// lastDeployed returns the number of the last deployed revision; 0 if there is none.
func lastDeployed(revisions []*release.Release) int {
	last := 0
	for _, rel := range revisions {
		if rel.Info.Status == release.StatusDeployed {
			last = max(last, rel.Version)
		}
	}
	return last
}
