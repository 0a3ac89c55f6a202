// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package ownedpods finds the pods that given objects own, directly or through other objects.
// It follows the owner references of the pods.
package ownedpods

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

// Finder finds the pods that objects own, directly or indirectly. For example, a Deployment
// owns pods through ReplicaSets.
type Finder struct {
	client metadata.Interface
	// mapping returns the API resource of a kind, or nil if the cluster does not serve it.
	mapping func(apiVersion, kind string) (*meta.RESTMapping, error)
	// forbidden is called when the account is not allowed to list a resource in a namespace.
	forbidden func(resource, namespace string)
}

// NewFinder returns a Finder for the cluster of c. It calls forbidden when the account is not
// allowed to list a resource in a namespace, and then ignores the objects of the resource.
func NewFinder(c *cluster.Connection, forbidden func(resource, namespace string)) (*Finder, error) {
	client, err := c.Metadata()
	return &Finder{client: client, mapping: c.Mapping, forbidden: forbidden}, err
}

// OwnerSet is a set of objects in one namespace: the owners whose pods a Finder looks for. It
// can also contain objects that no longer exist, because their pods may still exist.
type OwnerSet struct {
	uids   map[types.UID]bool
	absent map[absentOwner]bool
}

// absentOwner identifies an owner that no longer exists, so that its UID is not known.
type absentOwner struct {
	kind schema.GroupKind
	name string
}

// Add adds an existing object to the set.
func (s *OwnerSet) Add(uid types.UID) {
	if s.uids == nil {
		s.uids = map[types.UID]bool{}
	}
	s.uids[uid] = true
}

// AddAbsent adds to the set an object that no longer exists.
func (s *OwnerSet) AddAbsent(kind schema.GroupKind, name string) {
	if s.absent == nil {
		s.absent = map[absentOwner]bool{}
	}
	s.absent[absentOwner{kind, name}] = true
}

// owns reports whether an object has an owner reference to an object in the set. If a
// Deployment in the set no longer exists, its ReplicaSets may not exist either, but their
// pods may. So owns also accepts owner references to ReplicaSets whose names are the name of
// such a Deployment followed by the pod template hash.
func (s *OwnerSet) owns(object *metav1.PartialObjectMetadata) bool {
	for _, ref := range object.OwnerReferences {
		if s.uids[ref.UID] {
			return true
		}
		kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
		if s.absent[absentOwner{kind, ref.Name}] {
			return true
		}
		hash := object.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
		deployment, named := strings.CutSuffix(ref.Name, "-"+hash)
		if named && hash != "" && kind == replicaSets && s.absent[absentOwner{deployments, deployment}] {
			return true
		}
	}
	return false
}

// Pods returns the pods in a namespace that have an owner reference to an object in owners.
// AddIndirect must have added the indirect owners.
func (f *Finder) Pods(ctx context.Context, namespace string, owners *OwnerSet) ([]metav1.PartialObjectMetadata, error) {
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

// AddIndirect adds to owners the objects through which they own pods, such as the ReplicaSets
// of a Deployment. To find them, it lists all pods of the namespace, then all objects of the
// kinds that own these pods, and so on.
func (f *Finder) AddIndirect(ctx context.Context, namespace string, owners *OwnerSet) error {
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
				owners.Add(object.UID)
				changed = true
			}
		}
	}
	return nil
}

// ownerKinds returns the kinds that appear in the owner references of objects and are not yet
// in listed, and adds them to listed.
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

// listKind returns the objects of a kind in a namespace. It returns none if the kind is
// cluster-scoped or not served.
func (f *Finder) listKind(ctx context.Context, gvk schema.GroupVersionKind, namespace string) ([]metav1.PartialObjectMetadata, error) {
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

func (f *Finder) list(ctx context.Context, gvr schema.GroupVersionResource, namespace string) ([]metav1.PartialObjectMetadata, error) {
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

// MayOwn reports whether an object may own pods, directly or indirectly, judging by its kind.
// Bare Pods and other kinds that never own pods are excluded.
func MayOwn(info *object.Info) bool {
	if !info.Namespaced() {
		return false
	}
	gvk := info.Mapping.GroupVersionKind
	switch gvk.Group {
	case "":
		return gvk.Kind == "ReplicationController"
	case "rbac.authorization.k8s.io", "networking.k8s.io", "policy", "autoscaling", "storage.k8s.io",
		"apiextensions.k8s.io", "apiregistration.k8s.io", "admissionregistration.k8s.io":
		return false
	}
	return true
}
