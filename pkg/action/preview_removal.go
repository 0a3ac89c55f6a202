// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"

	"helm.sh/helm/v3/pkg/kube"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// removed notes what is deleted, and what is kept of it.
func (v *previewing) removed(ctx context.Context, d *deployment) error {
	v.Removed = []PreviewNode{}
	if d.prior == nil {
		return nil
	}
	if !d.ordered && !d.inReverse {
		list, kept := d.goneAtOnce(ctx)
		node := PreviewNode{Node: d.rollout.plan.Nodes[0].ID()}
		v.goes(ctx, d, &node, list)
		v.stays(&node, kept)
		v.addRemoved(node)
		return context.Cause(ctx)
	}
	r := d.removalOfGone()
	for _, g := range r.graph.Groups {
		if err := v.removedGroup(ctx, d, r, g); err != nil {
			return err
		}
	}
	return nil
}

func (v *previewing) removedGroup(ctx context.Context, d *deployment, r *removal, g *sequencer.RemovalGroup) error {
	found, err := r.find(ctx, g)
	if err != nil {
		return err
	}
	node := PreviewNode{Node: g.Node.ID()}
	v.goes(ctx, d, &node, found.list)
	v.stays(&node, found.spared)
	v.addRemoved(node)
	return context.Cause(ctx)
}

// addRemoved adds a node. What of it is deleted in several steps without another node
// between them is told as one.
func (v *previewing) addRemoved(node PreviewNode) {
	last := len(v.Removed) - 1
	switch {
	case len(node.Objects) == 0:
	case last >= 0 && v.Removed[last].Node == node.Node:
		v.Removed[last].Objects = append(v.Removed[last].Objects, node.Objects...)
	default:
		v.Removed = append(v.Removed, node)
	}
}

// goes notes what is deleted, as far as the server lets it.
func (v *previewing) goes(ctx context.Context, d *deployment, node *PreviewNode, list kube.ResourceList) {
	for _, info := range list {
		o := previewOf(info, PreviewDelete)
		if err := d.cluster.TryDelete(ctx, info, backgroundDeletion); err != nil {
			o.Action, o.Error = PreviewFail, v.events.conceal(err).Error()
		}
		node.Objects = append(node.Objects, o)
	}
}

func (v *previewing) stays(node *PreviewNode, kept []sparedObject) {
	for _, k := range kept {
		o := previewOf(k.info, PreviewKeep)
		o.Note = k.why
		node.Objects = append(node.Objects, o)
	}
}
