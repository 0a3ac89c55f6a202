// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package prune

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

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/object"
)

// podFinder finds the pods that objects own directly or indirectly. For example, a
// Deployment owns pods through ReplicaSets.
type podFinder struct {
	client  metadata.Interface
	mapping func(apiVersion, kind string) (*meta.RESTMapping, error)
	// forbidden is called with a resource that the account is not allowed to list. Its
	// objects are ignored.
	forbidden func(resource, namespace string)
}

func newPodFinder(c *cluster.Client, forbidden func(resource, namespace string)) (*podFinder, error) {
	client, err := c.Metadata()
	return &podFinder{client: client, mapping: c.Mapping, forbidden: forbidden}, err
}

// ownerSet is a set of owners in a namespace.
type ownerSet struct {
	uids map[types.UID]bool
	gone map[goneOwner]bool
}

// goneOwner is an owner that no longer exists, so that its UID is not known.
type goneOwner struct {
	kind schema.GroupKind
	name string
}

// add adds an object that exists.
func (s *ownerSet) add(uid types.UID) {
	if s.uids == nil {
		s.uids = map[types.UID]bool{}
	}
	s.uids[uid] = true
}

// addGone adds an object that no longer exists. The objects that it owned may still exist.
func (s *ownerSet) addGone(kind schema.GroupKind, name string) {
	if s.gone == nil {
		s.gone = map[goneOwner]bool{}
	}
	s.gone[goneOwner{kind, name}] = true
}

// owns reports whether any of the owners owns an object directly, or through a ReplicaSet
// that no longer exists. The name of such a ReplicaSet contains the name of its Deployment.
func (s *ownerSet) owns(object *metav1.PartialObjectMetadata) bool {
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

// pods lists the pods of a namespace that any of the owners owns directly.
func (f *podFinder) pods(ctx context.Context, namespace string, owners *ownerSet) ([]metav1.PartialObjectMetadata, error) {
	list, err := f.list(ctx, object.PodResource(), namespace)
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

// addIndirect adds the intermediate owners: the objects in a namespace through which the
// owners own pods.
func (f *podFinder) addIndirect(ctx context.Context, namespace string, owners *ownerSet) error {
	objects, err := f.list(ctx, object.PodResource(), namespace)
	if err != nil {
		return err
	}
	listed := map[schema.GroupVersionKind]bool{}
	for next := ownerKinds(objects, listed); len(next) > 0; {
		var found []metav1.PartialObjectMetadata
		for _, gvk := range next {
			more, err := f.listKind(ctx, gvk, namespace)
			if err != nil {
				return err
			}
			found = append(found, more...)
		}
		objects = append(objects, found...)
		next = ownerKinds(found, listed)
	}
	for changed := true; changed; {
		changed = false
		for _, object := range objects {
			if !owners.uids[object.UID] && owners.owns(&object) {
				owners.add(object.UID)
				changed = true
			}
		}
	}
	return nil
}

// ownerKinds lists the kinds of the owners of the objects, in the order in which they
// occur. It omits kinds that are already in listed, and adds the others to it.
func ownerKinds(objects []metav1.PartialObjectMetadata, listed map[schema.GroupVersionKind]bool) []schema.GroupVersionKind {
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

// listKind lists the objects of a kind. Cluster-scoped objects are ignored.
func (f *podFinder) listKind(ctx context.Context, gvk schema.GroupVersionKind, namespace string) ([]metav1.PartialObjectMetadata, error) {
	mapping, err := f.mapping(gvk.GroupVersion().String(), gvk.Kind)
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", gvk.Kind, err)
	}
	if mapping == nil {
		return nil, nil
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return nil, nil // for example, nodes own their mirror pods
	}
	return f.list(ctx, mapping.Resource, namespace)
}

func (f *podFinder) list(ctx context.Context, gvr schema.GroupVersionResource, namespace string) ([]metav1.PartialObjectMetadata, error) {
	list, err := f.client.Resource(gvr).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if apierrors.IsForbidden(err) {
		f.forbidden(gvr.Resource, namespace)
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

var (
	deployments = schema.GroupKind{Group: appsv1.GroupName, Kind: "Deployment"}
	replicaSets = schema.GroupKind{Group: appsv1.GroupName, Kind: "ReplicaSet"}
)
