// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
)

// Owners finds the pods that objects own, over any number of steps, as a
// Deployment owns pods by way of ReplicaSets.
type Owners struct {
	client metadata.Interface
	mapper meta.RESTMapper
}

// NewOwners returns an Owners of the cluster.
func (c *Client) NewOwners() (*Owners, error) {
	client, err := c.Metadata()
	if err != nil {
		return nil, err
	}
	mapper, err := c.getter.ToRESTMapper()
	return &Owners{client: client, mapper: mapper}, err
}

// Pods lists the pods of a namespace that any of the owners owns directly.
// Pods that the account may not list are as if they were not there.
func (o *Owners) Pods(ctx context.Context, namespace string, owners map[types.UID]bool) ([]metav1.PartialObjectMetadata, error) {
	list, err := o.list(ctx, PodResource(), namespace)
	if err != nil {
		return nil, err
	}
	var owned []metav1.PartialObjectMetadata
	for _, pod := range list {
		if ownedBy(pod, owners) {
			owned = append(owned, pod)
		}
	}
	return owned, nil
}

// Closure adds to the owners of pods in a namespace everything that they own
// and that owns pods in its turn.
func (o *Owners) Closure(ctx context.Context, namespace string, owners map[types.UID]bool) error {
	objects, err := o.list(ctx, PodResource(), namespace)
	if err != nil {
		return err
	}
	listed := map[schema.GroupVersionKind]bool{}
	for next := kindsOfOwners(objects, listed); len(next) > 0; {
		var found []metav1.PartialObjectMetadata
		for _, gvk := range next {
			more, err := o.listKind(ctx, gvk, namespace)
			if err != nil {
				return err
			}
			found = append(found, more...)
		}
		objects = append(objects, found...)
		next = kindsOfOwners(found, listed)
	}
	for changed := true; changed; {
		changed = false
		for _, object := range objects {
			if !owners[object.UID] && ownedBy(object, owners) {
				owners[object.UID] = true
				changed = true
			}
		}
	}
	return nil
}

// kindsOfOwners lists the kinds that own the objects, each kind once ever, in
// the order in which they occur.
func kindsOfOwners(objects []metav1.PartialObjectMetadata, listed map[schema.GroupVersionKind]bool) []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, object := range objects {
		for _, ref := range object.OwnerReferences {
			gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
			if !listed[gvk] {
				listed[gvk] = true
				kinds = append(kinds, gvk)
			}
		}
	}
	return kinds
}

func (o *Owners) listKind(ctx context.Context, gvk schema.GroupVersionKind, namespace string) ([]metav1.PartialObjectMetadata, error) {
	mapping, err := o.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look %s up: %w", gvk.Kind, err)
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return nil, nil // such as nodes, which own their mirror pods
	}
	return o.list(ctx, mapping.Resource, namespace)
}

func (o *Owners) list(ctx context.Context, gvr schema.GroupVersionResource, namespace string) ([]metav1.PartialObjectMetadata, error) {
	list, err := o.client.Resource(gvr).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) || apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s in namespace %s: %w", gvr.Resource, namespace, err)
	}
	return list.Items, nil
}

func ownedBy(object metav1.PartialObjectMetadata, owners map[types.UID]bool) bool {
	for _, ref := range object.OwnerReferences {
		if owners[ref.UID] {
			return true
		}
	}
	return false
}

// PodResource is the resource of pods.
func PodResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "pods"}
}

// PodKind is the kind of pods.
func PodKind() schema.GroupVersionKind { return schema.GroupVersionKind{Version: "v1", Kind: "Pod"} }
