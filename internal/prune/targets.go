// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package prune

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/wait"
	"github.com/ordered-helm/helm/internal/watcher"
)

// deletionTargets has what must be gone before a group counts as deleted: the objects, and
// the pods that they owned.
type deletionTargets struct {
	objects []watcher.Target
	// pods lists these pods; nil if owned is empty.
	pods *podFinder
	// owned has the owners of these pods, by namespace.
	owned map[string]*ownerSet
}

// targets is called before the deletion, because the owner references can no longer be
// followed when the owners are gone. found.absent counts as owner, too: the pods of an
// object that is already gone may still exist.
func (g *Graph) targets(ctx context.Context, found *Found) (*deletionTargets, error) {
	t := &deletionTargets{owned: map[string]*ownerSet{}}
	for _, info := range found.List {
		uid := object.UID(info)
		t.objects = append(t.objects, wait.TargetOf(info, uid))
		if mayOwnPods(info) {
			t.ownersIn(info.Namespace).add(uid)
		}
	}
	for _, info := range found.absent {
		if mayOwnPods(info) {
			t.ownersIn(info.Namespace).addGone(info.Mapping.GroupVersionKind.GroupKind(), info.Name)
		}
	}
	if len(t.owned) == 0 || g.Propagation == metav1.DeletePropagationOrphan {
		t.owned = nil
		return t, nil
	}
	var err error
	if t.pods, err = newPodFinder(g.Cluster, g.warnForbidden); err != nil {
		return nil, err
	}
	for namespace, owners := range t.owned {
		if err := t.pods.addIndirect(ctx, namespace, owners); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func (t *deletionTargets) ownersIn(namespace string) *ownerSet {
	if t.owned[namespace] == nil {
		t.owned[namespace] = &ownerSet{}
	}
	return t.owned[namespace]
}

// warnForbidden warns that the account is not allowed to list pods or their owners.
func (g *Graph) warnForbidden(resource, namespace string) {
	g.Events.Warnf("no permission to list %s in namespace %s: not waiting for the pods of deleted resources", resource, namespace)
}

// mayOwnPods reports whether pods of an object must be searched. It is false for kinds that
// never own pods.
func mayOwnPods(info *object.Info) bool {
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
