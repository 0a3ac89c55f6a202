// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/releaseguard"
)

// FindExisting looks for the objects of the new revision in the cluster, and returns an
// error if one of them belongs to another owner. If onlyNeverDeployed is true, it skips
// objects that were part of a deployed revision.
func (r *Run) FindExisting(ctx context.Context, onlyNeverDeployed bool) error {
	o := r.strategy.objects()
	list := o.all
	if onlyNeverDeployed {
		list = o.applier.NeverDeployed(list)
	}
	return r.conflict(o.applier.FindExisting(ctx, list))
}

// conflict adds Options.Conflict to err, which says that an object belongs to another
// owner.
func (r *Run) conflict(err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", r.options.Conflict, err)
	}
	return nil
}

// Check does the checks that need the cluster, and returns an error if the release is too
// large to be stored. It changes nothing.
func (r *Run) Check(ctx context.Context) error {
	if err := r.strategy.check(ctx); err != nil {
		return err
	}
	if err := r.checkRecreation(); err != nil {
		return err
	}
	if err := r.checkDefinitions(ctx); err != nil {
		return err
	}
	return r.checkSize(r.Release())
}

// checkDefinitions returns an error if the run would prune the definitions of Releases that exist.
func (r *Run) checkDefinitions(ctx context.Context) error {
	if r.inventory == nil {
		return nil
	}
	obsolete := slices.DeleteFunc(r.inventory.Without(r.strategy.objects().declared()), func(info *object.Info) bool { return r.options.Spared[object.IDOf(info)] })
	if err := releaseguard.CheckDeletion(ctx, r.op.Cluster, obsolete); err != nil {
		return fmt.Errorf("prune resources no longer in the chart: %w", err)
	}
	return nil
}

// CheckBeforeCRDs makes those checks of a deployment that are possible before its CRDs are
// installed, and returns an error if one of them fails. Without an order, it checks only
// the size of the release. rec is the order record that the new revision will contain.
func CheckBeforeCRDs(ctx context.Context, c RunConfig, rec *orderrecord.Record) error {
	r := newRun(c)
	recorded := *r.Release()
	var err error
	if recorded.Chart, err = orderrecord.WithRecord(recorded.Chart, rec); err != nil {
		return err
	}
	if err := r.checkSize(&recorded); err != nil || !r.IsOrdered() {
		return err
	}
	if err := c.ReadInventory(ctx); err != nil {
		return err
	}
	return checkBeforeCRDs(ctx, r)
}

const (
	// SizeReserve is the number of bytes by which a stored release can grow until the
	// operation is finished, because its status and description change.
	SizeReserve = 4096
	// hookReserve is the number of bytes by which a stored release can grow because of the
	// times at which one hook ran.
	hookReserve = 64
	// hookObjectReserve is the number of bytes by which it can grow because of what is
	// recorded about the object of one managed hook.
	hookObjectReserve = 192
)

// checkSize returns an error if rel is, or can become, too large to be stored. During an
// ordered deployment, the IDs of the finished nodes are added to the order record.
func (r *Run) checkSize(rel *release.Release) error {
	growth := SizeReserve + hookReserve*len(rel.Hooks)
	for _, h := range rel.Hooks {
		if r.options.Hooks.Modes.IsManaged(h) {
			growth += hookObjectReserve
		}
	}
	if r.IsOrdered() {
		for _, n := range r.plan.Nodes {
			growth += len(n.ID())
		}
	}
	return orderrecord.CheckSize(rel, r.op.Store.DriverName(), growth)
}
