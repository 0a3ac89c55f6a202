// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package podowners finds the pods that objects own, directly or through other objects, by
// the owner references of the pods.
package podowners

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

// Finder finds the pods that objects own. It includes indirect owners: for example, a
// Deployment owns pods through ReplicaSets.
type Finder struct {
	client metadata.Interface
	// mapping returns the API resource of a kind; nil if the cluster does not serve it.
	mapping func(apiVersion, kind string) (*meta.RESTMapping, error)
	// forbidden is called when the account is not allowed to list a resource in a
	// namespace. The objects of the resource are ignored then.
	forbidden func(resource, namespace string)
}

// NewFinder returns a Finder for the cluster of c. It calls forbidden when the account is not
// allowed to list a resource in a namespace, and then ignores the objects of the resource.
func NewFinder(c *cluster.Connection, forbidden func(resource, namespace string)) (*Finder, error) {
	client, err := c.Metadata()
	return &Finder{client: client, mapping: c.Mapping, forbidden: forbidden}, err
}

// Set is the set of objects in one namespace whose pods are searched. uids has those that
// existed when they were read, and gone those that did not.
type Set struct {
	uids map[types.UID]bool
	gone map[goneOwner]bool
}

// goneOwner identifies an owner that no longer exists. Its UID is not known.
type goneOwner struct {
	kind schema.GroupKind
	name string
}

// Add adds an object that exists to the set.
func (s *Set) Add(uid types.UID) {
	if s.uids == nil {
		s.uids = map[types.UID]bool{}
	}
	s.uids[uid] = true
}

// AddGone adds an object that no longer exists to the set. The objects that it owned may
// still exist.
func (s *Set) AddGone(kind schema.GroupKind, name string) {
	if s.gone == nil {
		s.gone = map[goneOwner]bool{}
	}
	s.gone[goneOwner{kind, name}] = true
}

// owns reports whether an object has an owner reference to an object of the set, or to a
// ReplicaSet that no longer exists and belonged to a Deployment of the set. The name of
// such a ReplicaSet begins with the name of the Deployment.
func (s *Set) owns(object *metav1.PartialObjectMetadata) bool {
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

// Pods returns the pods in a namespace that have an owner reference to an object of owners.
func (f *Finder) Pods(ctx context.Context, namespace string, owners *Set) ([]metav1.PartialObjectMetadata, error) {
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

// AddIndirect adds to owners the objects between them and their pods, such as the
// ReplicaSets of a Deployment. It lists the pods of the namespace, then the kinds of their
// owners, and so on.
func (f *Finder) AddIndirect(ctx context.Context, namespace string, owners *Set) error {
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

// ownerKinds returns the kinds in the owner references of objects. It omits kinds that are
// in listed, and adds the others to listed.
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

// listKind returns the objects of a kind in a namespace; none if the kind is
// cluster-scoped.
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

// MayOwn reports whether pods of an object must be searched. It is false for kinds that
// never own pods.
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
