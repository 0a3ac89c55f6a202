// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
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
	unseen func(resource, namespace string)
}

// NewOwners returns an Owners of the cluster. It calls unseen with what the
// account may not list: that is as if it was not there.
func (c *Client) NewOwners(unseen func(resource, namespace string)) (*Owners, error) {
	client, err := c.Metadata()
	if err != nil {
		return nil, err
	}
	mapper, err := c.getter.ToRESTMapper()
	return &Owners{client: client, mapper: mapper, unseen: unseen}, err
}

// OwnerSet is the owners in a namespace whose pods are looked for.
type OwnerSet struct {
	uids map[types.UID]bool
	gone map[goneOwner]bool
}

// goneOwner is an owner that is no longer there, so that its UID is not known.
type goneOwner struct {
	kind schema.GroupKind
	name string
}

// Add adds an object that is there.
func (s *OwnerSet) Add(uid types.UID) {
	if s.uids == nil {
		s.uids = map[types.UID]bool{}
	}
	s.uids[uid] = true
}

// AddGone adds an object that is not there any more: what it owned may go away
// later than itself.
func (s *OwnerSet) AddGone(kind schema.GroupKind, name string) {
	if s.gone == nil {
		s.gone = map[goneOwner]bool{}
	}
	s.gone[goneOwner{kind, name}] = true
}

// owns reports whether any of the owners owns an object directly, or by way of a
// ReplicaSet that is gone as well: the name of such a one tells its Deployment.
func (s *OwnerSet) owns(object *metav1.PartialObjectMetadata) bool {
	for _, ref := range object.OwnerReferences {
		if s.uids[ref.UID] {
			return true
		}
		kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
		if s.gone[goneOwner{kind, ref.Name}] {
			return true
		}
		hash := object.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
		deployment, named := strings.CutSuffix(ref.Name, "-"+hash)
		if named && hash != "" && kind == replicaSets && s.gone[goneOwner{deployments, deployment}] {
			return true
		}
	}
	return false
}

// Pods lists the pods of a namespace that any of the owners owns directly.
func (o *Owners) Pods(ctx context.Context, namespace string, owners *OwnerSet) ([]metav1.PartialObjectMetadata, error) {
	list, err := o.list(ctx, PodResource(), namespace)
	if err != nil {
		return nil, err
	}
	var owned []metav1.PartialObjectMetadata
	for _, pod := range list {
		if owners.owns(&pod) {
			owned = append(owned, pod)
		}
	}
	return owned, nil
}

// Closure adds to the owners of pods in a namespace everything that they own
// and that owns pods in its turn.
func (o *Owners) Closure(ctx context.Context, namespace string, owners *OwnerSet) error {
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
			if !owners.uids[object.UID] && owners.owns(&object) {
				owners.Add(object.UID)
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
	if apierrors.IsForbidden(err) {
		o.unseen(gvr.Resource, namespace)
		return nil, nil
	}
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s in namespace %s: %w", gvr.Resource, namespace, err)
	}
	return list.Items, nil
}

// PodResource is the resource of pods.
func PodResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Version: "v1", Resource: "pods"}
}

var (
	deployments = schema.GroupKind{Group: appsv1.GroupName, Kind: "Deployment"}
	replicaSets = schema.GroupKind{Group: appsv1.GroupName, Kind: "ReplicaSet"}
)

// PodKind is the kind of pods.
func PodKind() schema.GroupVersionKind { return schema.GroupVersionKind{Version: "v1", Kind: "Pod"} }
