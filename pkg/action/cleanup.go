// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// recordFailure records that the release failed. It returns a *TakenOverError where others
// have taken it over: then there is nothing to undo any more.
func (d *deployment) recordFailure(description string) error {
	d.ledger.note(d.events, func(rel *release.Release) { rel.SetStatus(release.StatusFailed, description) })
	return d.ledger.lostTo()
}

// recordCleanedUp is recordFailure after a cleanup, while which the release is still held:
// nobody begins on objects that are about to be deleted. Unclean is why that failed.
func (d *deployment) recordCleanedUp(ctx context.Context, failure error, description string, notify func(Event)) (lost, unclean error) {
	d.ledger.try(d.ledger.store(func(rel *release.Release) { rel.Info.Description = description }))
	if unclean = d.cleanUp(ctx, failure, notify); unclean != nil {
		unclean = fmt.Errorf("unable to cleanup resources: %w", unclean)
	}
	return d.recordFailure(description), unclean
}

// cleanUp deletes, in reverse order where there is one, what this operation
// created, while it still holds the release. It has a time of its own.
func (d *deployment) cleanUp(ctx context.Context, failure error, notify func(Event)) error {
	created := d.rollout.createdList()
	if len(created) == 0 {
		return nil
	}
	d.cfg.Log("Cleanup on fail set, cleaning up %d resources", len(created))
	base, ctx, end := startOperation(ctx, d.cfg, notify, d.limits, d.ordered)
	defer end()
	base.events.masker = d.events.masker
	base.holding.Store(d.ledger)
	d.ledger.passOn(base.end)
	d.ledger.begin()
	defer d.ledger.pause()
	if !d.ordered {
		created, err := d.rollout.surelyCreated(ctx, base.cluster, created)
		if err != nil {
			return err
		}
		_, errs := base.cluster.Delete(ctx, created, backgroundDeletion)
		return deletionError(errs)
	}
	base.events.warn(fmt.Sprintf("release %s failed, and what was created is deleted because of --cleanup-on-fail: %s", d.release().Name, inShort(failure)))
	byID := keyed(created)
	apart := *d
	apart.operation = base
	removal := apart.newRemoval([]*sequencer.Plan{d.plan}, d.rollout.infoOf, func(res *sequencer.PlannedResource) bool {
		return slices.Contains(created, d.rollout.infoOf(res))
	})
	removal.spare = func(live *unstructured.Unstructured) string {
		kind := live.GroupVersionKind()
		info := byID[sequencer.ID{Group: kind.Group, Kind: kind.Kind, Namespace: live.GetNamespace(), Name: live.GetName()}]
		return d.rollout.whyNotCreated(info, live)
	}
	base.events.emit(Event{Type: EventRemoving, Message: "deleting what was created: " + counted(len(created), "resource"), Nodes: removedNodes(removal.graph)})
	return removal.run(ctx)
}

func deletionError(errs []error) error {
	if len(errs) == 0 {
		return nil
	}
	return errors.New(strings.ReplaceAll(joined(errs), "; ", ", "))
}
