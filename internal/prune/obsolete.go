// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"context"
	"maps"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/inventory"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Obsolete deletes the objects of earlier revisions that a release no longer has.
type Obsolete struct {
	Cluster *cluster.Client
	Writer  objectwriter.Writer
	Events  *event.Sink
	Log     func(string, ...any)
	// Inventory lists the objects that earlier revisions may have left.
	Inventory *inventory.Inventory
	// Namespace is the namespace of the release.
	Namespace string
	// Spared are objects that are never deleted.
	Spared map[sequencer.ID]bool
}

// Graph plans to delete the obsolete objects in reverse order. Remaining has the objects
// that are not obsolete. It keeps objects with a keep policy in the manifest or on the
// object itself, and objects that now belong to another release.
func (o *Obsolete) Graph(remaining kube.ResourceList) *Graph {
	kept := object.ByID(remaining)
	policies := o.Inventory.Policies()
	return &Graph{
		Cluster: o.Cluster, Writer: o.Writer, Events: o.Events, Namespace: o.Namespace, Propagation: metav1.DeletePropagationBackground,
		InfoOf: o.Inventory.InfoOf, Partial: true,
		Removal: sequencer.PlanRemoval(o.Inventory.Plans(), func(res *sequencer.PlannedResource) (sequencer.ID, bool) {
			id, exists := o.Inventory.IDOf(res)
			return id, exists && kept[id] == nil && !o.Spared[id]
		}),
		WhyKeep: func(live *unstructured.Unstructured) string { return o.Inventory.WhyKeep(live, policies, false) },
	}
}

// Unordered finds the obsolete objects that Helm's update would delete, and those that it
// would keep. Remaining has the objects that are not obsolete. An object of the base is
// kept only if the policy on the object itself says so.
func (o *Obsolete) Unordered(ctx context.Context, remaining kube.ResourceList) (list kube.ResourceList, kept []Kept) {
	obsolete := o.Inventory.Without(remaining)
	live := o.read(ctx, obsolete)
	policies := o.Inventory.Policies()
	for _, info := range obsolete {
		id, found := object.IDOf(info), live[info]
		switch {
		case found == nil, o.Spared[id]:
		case object.Policy(found) == kube.KeepPolicy:
			kept = append(kept, Kept{Info: info, Why: inventory.KeptByPolicy, LogOnly: true})
		case o.Inventory.IsOfBase(id):
			list = append(list, info)
		default:
			if why := o.Inventory.WhyKeep(found, policies, false); why != "" {
				kept = append(kept, Kept{Info: info, Why: why})
			} else {
				list = append(list, info)
			}
		}
	}
	return list, kept
}

// DeleteUnordered deletes the objects that Unordered finds. As in Helm, a failure to delete
// an object does not fail the operation.
func (o *Obsolete) DeleteUnordered(ctx context.Context, remaining kube.ResourceList) error {
	list, kept := o.Unordered(ctx, remaining)
	for _, k := range kept {
		if k.LogOnly {
			o.Log("Skipping delete of %q due to annotation [%s=%s]", k.Info.Name, kube.ResourcePolicyAnno, kube.KeepPolicy)
		} else {
			o.Events.Warn(k.warning())
		}
	}
	_, errs := o.Writer.Delete(ctx, list, metav1.DeletePropagationBackground)
	for _, err := range errs {
		o.warnNotDeleted(err)
	}
	return context.Cause(ctx)
}

// read reads objects. It warns about objects that cannot be read, and omits them.
func (o *Obsolete) read(ctx context.Context, list kube.ResourceList) map[*object.Info]*unstructured.Unstructured {
	live, err := o.Cluster.Live(ctx, list)
	if err == nil || ctx.Err() != nil {
		return live
	}
	all := map[*object.Info]*unstructured.Unstructured{}
	for _, info := range list {
		live, err := o.Cluster.Live(ctx, kube.ResourceList{info})
		if err != nil {
			o.warnNotDeleted(err)
			continue
		}
		maps.Copy(all, live)
	}
	return all
}

func (o *Obsolete) warnNotDeleted(err error) {
	o.Events.Warnf("failed to prune resources that are no longer in the chart; they are no longer part of the release: %v", err)
}
