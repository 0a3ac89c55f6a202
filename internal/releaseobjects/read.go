// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package releaseobjects finds the objects of a stored release in the cluster, says which of them the Release owns, and
// changes that (docs/reference.md, "Owner references").
package releaseobjects

import (
	"context"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/inventory"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/ownerreferences"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Object is an object of a release.
type Object struct {
	Info *object.Info
	// Owned says whether the object has the reference to the Release.
	Owned bool
	// Unownable says why the object cannot have the reference; empty if it can.
	Unownable string
}

// Reasons why an object cannot have a reference to the Release. Others name a namespace or a release.
const (
	isMissing       = "it does not exist"
	isKept          = "it must be kept (helm.sh/resource-policy)"
	isClusterScoped = "it has no namespace"
	isNotMarked     = "it is not marked as an object of the release"
	isReplaced      = "it is not the object that the hook created"
)

// Read returns the objects that a release may have in the cluster, without those that only unmanaged hooks declare.
// revisions are those of the release, and owner is the reference to its Release.
func Read(ctx context.Context, c *cluster.Client, owner *object.ReleaseReference, revisions []*release.Release) ([]Object, error) {
	newest := history.Newest(revisions)
	if newest == nil {
		return nil, nil
	}
	inv := inventory.New(slices.Clone(revisions), newest)
	if err := inv.ReadPlans(ctx, c, true); err != nil {
		return nil, err
	}
	hookObjects, uids, err := ofHooks(c, newest.Namespace, revisions)
	if err != nil {
		return nil, err
	}
	list := append(slices.Clone(inv.Objects()), hookObjects...)
	live, err := c.Live(ctx, list)
	if err != nil {
		return nil, err
	}
	check := &ownerCheck{owner: owner, release: object.OwningRelease{Name: newest.Name, Namespace: newest.Namespace}, policies: inv.Policies(), uids: uids}
	var objects []Object
	for _, info := range list {
		o := Object{Info: info, Unownable: check.unownable(info, live[info])}
		o.Owned = live[info] != nil && ownerreferences.IsOwned(live[info], owner.Reference.UID)
		objects = append(objects, o)
	}
	return objects, nil
}

// ofHooks returns the objects that managed hooks have left in the cluster, and their UIDs.
func ofHooks(c *cluster.Client, namespace string, revisions []*release.Release) (kube.ResourceList, map[*object.Info]string, error) {
	var list kube.ResourceList
	uids := map[*object.Info]string{}
	for _, o := range history.CurrentHookObjects(revisions) {
		content, err := c.InServedVersion(object.Reference(o.APIVersion, o.Kind, o.Namespace, o.Name))
		if err != nil {
			return nil, nil, err
		}
		if content == nil || o.UID == "" {
			continue
		}
		built, err := c.BuildReferences([]map[string]any{content}, namespace)
		if err != nil {
			return nil, nil, err
		}
		for _, info := range built {
			uids[info] = o.UID
			list = append(list, info)
		}
	}
	return list, uids, nil
}

// ownerCheck finds out whether objects can be owned by the Release of a release.
type ownerCheck struct {
	owner    *object.ReleaseReference
	release  object.OwningRelease
	policies map[sequencer.ID]string
	// uids are those of the objects of hooks.
	uids map[*object.Info]string
}

// unownable returns why an object cannot have the reference. live is its state in the cluster; nil if it does not exist.
func (c *ownerCheck) unownable(info *object.Info, live *unstructured.Unstructured) string {
	switch namespace := object.Namespace(info); {
	case live == nil:
		return isMissing
	case namespace == "":
		return isClusterScoped
	case namespace != c.owner.Namespace:
		return fmt.Sprintf("it is in namespace %s, and the Release in %s", namespace, c.owner.Namespace)
	case object.PolicyKeeps(c.policies[object.IDOf(info)]), object.PolicyKeeps(object.ResourcePolicy(live)):
		return isKept
	}
	if whose, other := object.OwnedByOther(live, c.release); other {
		return whose
	}
	if uid := c.uids[info]; uid != "" {
		if uid != string(live.GetUID()) {
			return isReplaced
		}
		return ""
	}
	if object.CheckOwner(live, c.release) != nil {
		return isNotMarked
	}
	return ""
}
