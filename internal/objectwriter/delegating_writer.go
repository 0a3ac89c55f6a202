// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"context"
	"fmt"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/object"
)

// objectCopies holds copies of objects to pass to a Kubernetes client, because a client may
// modify the objects that it receives.
type objectCopies struct {
	list   kube.ResourceList
	states object.LiveObjects // from each object to its copy
	byCopy map[*object.Info]*object.Info
}

func copyObjects(list kube.ResourceList) *objectCopies {
	c := &objectCopies{states: make(object.LiveObjects, len(list)), byCopy: make(map[*object.Info]*object.Info, len(list))}
	for _, info := range list {
		state := *info
		c.list.Append(&state)
		c.states[info], c.byCopy[&state] = &state, info
	}
	return c
}

// declared returns the objects from which the objects in list were copied.
func (c *objectCopies) declared(list kube.ResourceList) kube.ResourceList {
	var declared kube.ResourceList
	for _, info := range list {
		if original := c.byCopy[info]; original != nil {
			info = original
		}
		declared.Append(info)
	}
	return declared
}

func (d *delegatingWriter) Create(ctx context.Context, list kube.ResourceList) (object.LiveObjects, error) {
	if len(list) == 0 {
		return nil, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	copied := copyObjects(list)
	_, err := d.client.Create(copied.list)
	return copied.states, err
}

func (d *delegatingWriter) CreateHook(ctx context.Context, list kube.ResourceList) (object.LiveObjects, error) {
	return d.Create(ctx, list)
}

// Apply implements Writer with an update method of the client. Such a method deletes the
// originals that are not in list. Without Prune, Apply therefore passes only the originals
// with the same identity and namespace as an object in list. The namespace matters because
// clients compare it even for cluster-scoped objects, whose manifests may or may not declare
// one.
func (d *delegatingWriter) Apply(ctx context.Context, list kube.ResourceList, o ApplyOptions) (*ApplyResult, error) {
	if err := ctx.Err(); err != nil {
		return &ApplyResult{}, err
	}
	bases := o.Originals
	if !o.Prune {
		bases = nil
		originals := firstByID(o.Originals)
		for _, info := range list {
			if original := originals[object.IDOf(info)]; original != nil && original.Namespace == info.Namespace {
				bases.Append(original)
			}
		}
	}
	update := d.client.Update
	if o.ThreeWay {
		merger, ok := d.client.(kube.InterfaceThreeWayMerge)
		if !ok {
			return &ApplyResult{}, fmt.Errorf("taking ownership needs three-way merges, which a Kubernetes client of type %T does not support", d.client)
		}
		update = merger.UpdateThreeWayMerge
	}
	copied := copyObjects(list)
	result, err := update(copyObjects(bases).list, copied.list, o.Force)
	applied := &ApplyResult{States: copied.states, Pruned: o.Prune}
	if result != nil {
		applied.Created, applied.Updated = copied.declared(result.Created), copied.declared(result.Updated)
	}
	return applied, err
}

func (d *delegatingWriter) DryRunApply(context.Context, kube.ResourceList, ApplyOptions) ([]DryRunResult, error) {
	return nil, ErrNoCluster
}

func (d *delegatingWriter) DryRunCreate(context.Context, *object.Info) error { return ErrNoCluster }

func (d *delegatingWriter) DryRunDelete(context.Context, *object.Info, metav1.DeletionPropagation) error {
	return ErrNoCluster
}

func (d *delegatingWriter) Delete(ctx context.Context, list kube.ResourceList, o DeleteOptions) (*DeleteResult, []error) {
	if len(list) == 0 {
		return &DeleteResult{}, nil
	}
	if err := ctx.Err(); err != nil {
		return &DeleteResult{}, []error{err}
	}
	result := &DeleteResult{Deleted: list, Terminating: list}
	copied := copyObjects(list).list
	if client, ok := d.client.(kube.InterfaceDeletionPropagation); ok {
		_, errs := client.DeleteWithPropagationPolicy(copied, o.Propagation)
		return result, errs
	}
	_, errs := d.client.Delete(copied)
	return result, errs
}
