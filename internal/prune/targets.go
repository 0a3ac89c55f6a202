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

// deletionTargets are what must be gone before a group counts as deleted.
type deletionTargets struct {
	objects []watcher.Target
	pods    *podFinder
	// owned are, by namespace, the owners of pods that must be gone as well.
	owned map[string]*ownerSet
}

// targets notes, before the deletion, which objects exist and what owns pods on their
// behalf. An object that is gone already may have pods that are not.
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

// warnForbidden warns that owners of pods, or the pods themselves, must not be listed.
func (g *Graph) warnForbidden(resource, namespace string) {
	g.Events.Warnf("no permission to list %s in namespace %s: not waiting for the pods of deleted resources", resource, namespace)
}

// mayOwnPods saves the search for pods of kinds that certainly own none.
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
