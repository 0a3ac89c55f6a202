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
	"github.com/ordered-helm/helm/internal/removal"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/wait"
)

// ObsoleteObjects prunes objects that earlier revisions of a release created, but that the
// current revision does not contain.
type ObsoleteObjects struct {
	Cluster cluster.Reader
	Writer  objectwriter.Writer
	Waiter  wait.Waiter
	Events  *event.Sink
	Log     func(string, ...any)
	// Inventory contains the objects that earlier revisions may have left in the cluster.
	Inventory *inventory.Inventory
	// Namespace is the namespace of the release.
	Namespace string
	// Spared contains the IDs of objects that must not be deleted.
	Spared map[sequencer.ID]bool
}

// Ordered returns an OrderedDeletion of the obsolete objects. remaining contains
// the objects of the current revision. Objects are kept if the manifest or the object in the
// cluster has the annotation helm.sh/resource-policy: keep, or if the object now belongs to
// another release.
func (o *ObsoleteObjects) Ordered(remaining kube.ResourceList) *OrderedDeletion {
	kept := object.ByID(remaining)
	policies := o.Inventory.Policies()
	return &OrderedDeletion{
		Cluster: o.Cluster, Writer: o.Writer, Waiter: o.Waiter, Events: o.Events, Namespace: o.Namespace, Propagation: metav1.DeletePropagationBackground,
		InfoOf: o.Inventory.InfoOf, Partial: true,
		Removal: removal.OrderOf(o.Inventory.Plans(), func(res *sequencer.PlannedResource) (sequencer.ID, bool) {
			id, exists := o.Inventory.IDOf(res)
			return id, exists && kept[id] == nil && !o.Spared[id]
		}),
		WhyKeep: func(live *unstructured.Unstructured) string { return o.Inventory.WhyKeep(live, policies, false) },
	}
}

// Unordered returns the obsolete objects of a release without an order: list contains those to
// delete, and kept those to keep. remaining contains the objects of the current revision. As
// in Helm, an object of the base (the revision with which Helm compares the new one) is kept
// only if the object in the cluster has the annotation helm.sh/resource-policy: keep.
func (o *ObsoleteObjects) Unordered(ctx context.Context, remaining kube.ResourceList) (list kube.ResourceList, kept []KeptObject) {
	obsolete := o.Inventory.Without(remaining)
	live := o.read(ctx, obsolete)
	policies := o.Inventory.Policies()
	for _, info := range obsolete {
		id, found := object.IDOf(info), live[info]
		switch {
		case found == nil, o.Spared[id]:
		case object.ResourcePolicy(found) == kube.KeepPolicy:
			kept = append(kept, KeptObject{Info: info, Why: inventory.KeptByPolicy, LogOnly: true})
		case o.Inventory.IsOfBase(id):
			list = append(list, info)
		default:
			if why := o.Inventory.WhyKeep(found, policies, false); why != "" {
				kept = append(kept, KeptObject{Info: info, Why: why})
			} else {
				list = append(list, info)
			}
		}
	}
	return list, kept
}

// DeleteUnordered deletes the objects that Unordered returns as list, without ordering. If
// an object cannot be deleted, it emits a warning, but returns no error, as in Helm. It
// returns an error only if ctx is done.
func (o *ObsoleteObjects) DeleteUnordered(ctx context.Context, remaining kube.ResourceList) error {
	list, kept := o.Unordered(ctx, remaining)
	for _, k := range kept {
		if k.LogOnly {
			o.Log("Skipping delete of %q due to annotation [%s=%s]", k.Info.Name, kube.ResourcePolicyAnno, kube.KeepPolicy)
		} else {
			o.Events.Warn(k.warning())
		}
	}
	_, errs := o.Writer.Delete(ctx, list, objectwriter.DeleteOptions{Propagation: metav1.DeletePropagationBackground})
	for _, err := range errs {
		o.warnNotDeleted(err)
	}
	return context.Cause(ctx)
}

// read returns the states of objects in the cluster. If an object cannot be read, it emits a
// warning and omits the object from the result.
func (o *ObsoleteObjects) read(ctx context.Context, list kube.ResourceList) map[*object.Info]*unstructured.Unstructured {
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

func (o *ObsoleteObjects) warnNotDeleted(err error) {
	o.Events.Warnf("failed to prune resources that are no longer in the chart; delete them manually, because they are no longer part of the release: %v", err)
}
