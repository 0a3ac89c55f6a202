// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"context"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// readInitialStates reads the objects of all groups at once, which needs fewer requests than
// to read those of each group. If an object cannot be read, Find reads the objects of each
// group, and returns the error for the group with that object.
func (d *OrderedDeletion) readInitialStates(ctx context.Context) {
	var list kube.ResourceList
	for _, group := range d.Removal.Groups {
		list = append(list, d.objectsOf(group)...)
	}
	existing, err := d.Cluster.Existing(ctx, list)
	if err != nil {
		return
	}
	d.initial = make(map[sequencer.ID]*unstructured.Unstructured, len(existing))
	for info, state := range existing {
		d.initial[object.IDOf(info)] = withoutContent(state)
	}
}

// withoutContent returns an object that has only the metadata of state. It is nil if state is
// nil.
func withoutContent(state *unstructured.Unstructured) *unstructured.Unstructured {
	if state == nil {
		return nil
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": state.Object["apiVersion"], "kind": state.Object["kind"], "metadata": state.Object["metadata"],
	}}
}

// existing returns the states of the objects that exist. It reads them only if
// readInitialStates has not read them.
func (d *OrderedDeletion) existing(ctx context.Context, list kube.ResourceList) (map[*object.Info]*unstructured.Unstructured, error) {
	if d.initial == nil {
		return d.Cluster.Existing(ctx, list)
	}
	existing := make(map[*object.Info]*unstructured.Unstructured, len(list))
	for _, info := range list {
		if state, exists := d.initial[object.IDOf(info)]; exists {
			existing[info] = state
		}
	}
	return existing, nil
}

// deleteObjects deletes the objects of list, and returns those that may still exist. Objects that
// were changed after they were read are read again, because they may have to be kept now.
func (d *OrderedDeletion) deleteObjects(ctx context.Context, list kube.ResourceList) (terminating kube.ResourceList, errs []error) {
	result, errs := d.Writer.Delete(ctx, list, objectwriter.DeleteOptions{Propagation: d.Propagation, IfUnchanged: d.initial != nil})
	d.addDeleted(result.Deleted)
	if len(result.Changed) == 0 {
		return result.Terminating, errs
	}
	live, err := d.Cluster.Live(ctx, result.Changed)
	if err != nil {
		return result.Terminating, append(errs, err)
	}
	changed := d.classify(result.Changed, live)
	d.warnKept(changed)
	again, moreErrs := d.Writer.Delete(ctx, changed.List, objectwriter.DeleteOptions{Propagation: d.Propagation})
	d.addDeleted(again.Deleted)
	return append(result.Terminating, again.Terminating...), append(errs, moreErrs...)
}

func (d *OrderedDeletion) addDeleted(list kube.ResourceList) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.deleted = append(d.deleted, list...)
}
