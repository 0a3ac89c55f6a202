// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"helm.sh/helm/v3/pkg/kube"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/hookobjects"
	"github.com/ordered-helm/helm/internal/prune"
)

// pruner deletes obsolete objects: those that earlier revisions declare and the new revision
// does not. orderedPruner deletes them in reverse order, and unorderedPruner as Helm does.
type pruner interface {
	// prune deletes the obsolete objects. remaining contains the objects of the new
	// revision.
	prune(ctx context.Context, remaining kube.ResourceList) error
	// find calls visit for each node of the earlier deployment graphs, in the order in
	// which prune deletes the nodes. found contains the obsolete objects of the node:
	// those that prune would delete, and those that it would keep. find changes nothing.
	find(ctx context.Context, remaining kube.ResourceList, visit func(node string, found *prune.FoundObjects)) error
}

// prune deletes the obsolete objects. It takes the references to the Release that stores the release away from those that
// are kept, because they no longer belong to the release. remaining contains the objects of the new revision.
func (r *Run) prune(ctx context.Context, p pruner, remaining kube.ResourceList) error {
	if err := p.prune(ctx, remaining); err != nil {
		return err
	}
	uid := r.op.Store.UIDOf(r.Release().Name)
	if uid == "" {
		return nil
	}
	owned := append(slices.Clip(remaining), hookobjects.Declared(r.op, r.writer, r.options.Hooks.Modes)...)
	return r.op.Writer.Disown(ctx, uid, r.inventory.Without(owned))
}

func (r *Run) obsolete() *prune.ObsoleteObjects {
	return &prune.ObsoleteObjects{
		Cluster: r.op.Cluster, Writer: r.op.Writer, Waiter: r.op.Waiter, Events: r.op.Events, Log: r.op.Log,
		Inventory: r.inventory, Namespace: r.Release().Namespace, Spared: r.spared(),
	}
}

// orderedPruner deletes objects in reverse order: each one when the objects that depended on
// it in the earlier revisions are gone.
type orderedPruner struct {
	run *Run
	// timeout limits the deletion if the operation has no timeout of its own; 0 means no
	// limit.
	timeout time.Duration
}

func (p *orderedPruner) prune(ctx context.Context, remaining kube.ResourceList) error {
	if p.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, p.timeout, &failure.TimeoutError{Limit: p.timeout})
		defer cancel()
	}
	deletion := p.run.obsolete().Ordered(remaining)
	if len(deletion.Removal.Groups) > 0 {
		p.run.emit(event.Event{
			Type: event.Removing, Message: "pruning resources no longer in the chart: " + deletion.Extent(), Nodes: event.RemovedNodes(deletion.Removal),
		})
	}
	if err := deletion.Run(ctx); err != nil {
		return fmt.Errorf("prune resources no longer in the chart: %w", err)
	}
	return nil
}

func (p *orderedPruner) find(ctx context.Context, remaining kube.ResourceList, visit func(string, *prune.FoundObjects)) error {
	deletion := p.run.obsolete().Ordered(remaining)
	for _, group := range deletion.Removal.Groups {
		found, err := deletion.Find(ctx, group)
		if err != nil {
			return err
		}
		visit(group.Node.ID(), found)
		if err := context.Cause(ctx); err != nil {
			return err
		}
	}
	return nil
}

// unorderedPruner deletes all obsolete objects without an order, as Helm does.
type unorderedPruner struct {
	run *Run
	// node is the ID that find passes to visit.
	node string
}

func (p *unorderedPruner) prune(ctx context.Context, remaining kube.ResourceList) error {
	return p.run.obsolete().DeleteUnordered(ctx, remaining)
}

func (p *unorderedPruner) find(ctx context.Context, remaining kube.ResourceList, visit func(string, *prune.FoundObjects)) error {
	list, kept := p.run.obsolete().Unordered(ctx, remaining)
	visit(p.node, &prune.FoundObjects{List: list, Kept: kept})
	return context.Cause(ctx)
}
