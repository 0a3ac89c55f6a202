// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/ownedpods"
	"github.com/ordered-helm/helm/internal/watcher"
)

// DeletionWaiter waits until deleted objects, and the pods that they owned, no longer exist.
// The objects are deleted in several steps, for example one for each node of the deployment
// graph. The caller must call Close after the last step.
type DeletionWaiter interface {
	// Expect prepares one step. It looks for the objects that lie between the objects to delete
	// and their pods, such as ReplicaSets, so the caller must call it before it deletes
	// anything. existing contains the objects to delete, with their UIDs. absent contains
	// objects that no longer exist, but whose pods may. policy is the deletion propagation;
	// with Orphan, the step does not wait for pods.
	Expect(ctx context.Context, existing, absent kube.ResourceList, policy metav1.DeletionPropagation) (AwaitGone, error)
	// Close stops all watches.
	Close()
}

// AwaitGone waits until the deleted objects of one step and their pods no longer exist.
// terminating contains the objects that may still exist, with their UIDs. AwaitGone calls
// onChange whenever the state of an object or pod changes. If any of them still exist when
// ctx ends, the error is a *watcher.NotReadyError.
type AwaitGone func(ctx context.Context, terminating kube.ResourceList, onChange func(watcher.Report)) error

// NewDeletionWaiter implements Waiter.
func (w *watchingWaiter) NewDeletionWaiter(ctx context.Context) (DeletionWaiter, error) {
	objectWatcher, err := newWatcher(ctx, w.cluster, w.events.Notice)
	if err != nil {
		return nil, err
	}
	return &watchingDeletionWaiter{watchingWaiter: w, watcher: objectWatcher}, nil
}

// watchingDeletionWaiter is the DeletionWaiter that watches the objects in a cluster.
type watchingDeletionWaiter struct {
	*watchingWaiter
	watcher *watcher.Watcher
}

// Close implements DeletionWaiter.
func (w *watchingDeletionWaiter) Close() { w.watcher.Close() }

// deletedOwners finds the pods that the deleted objects of a step owned.
type deletedOwners struct {
	// pods is nil if owners is empty.
	pods *ownedpods.Finder
	// owners contains the owners of these pods, direct and indirect, by namespace.
	owners map[string]*ownedpods.OwnerSet
}

// Expect implements DeletionWaiter.
func (w *watchingDeletionWaiter) Expect(ctx context.Context, existing, absent kube.ResourceList, policy metav1.DeletionPropagation) (AwaitGone, error) {
	t := &deletedOwners{owners: map[string]*ownedpods.OwnerSet{}}
	for _, info := range existing {
		if ownedpods.MayOwn(info) {
			t.ownersIn(info.Namespace).Add(object.UID(info))
		}
	}
	for _, info := range absent {
		if ownedpods.MayOwn(info) {
			t.ownersIn(info.Namespace).AddAbsent(info.Mapping.GroupVersionKind.GroupKind(), info.Name)
		}
	}
	if policy == metav1.DeletePropagationOrphan {
		t.owners = nil
	}
	if err := w.findOwners(ctx, t); err != nil {
		return nil, err
	}
	return func(ctx context.Context, terminating kube.ResourceList, onChange func(watcher.Report)) error {
		return w.await(ctx, t, terminating, onChange)
	}, nil
}

// findOwners adds to t.owners the indirect owners: objects that lie between the deleted
// objects and their pods, such as ReplicaSets.
func (w *watchingDeletionWaiter) findOwners(ctx context.Context, t *deletedOwners) error {
	if len(t.owners) == 0 {
		return nil
	}
	var err error
	if t.pods, err = ownedpods.NewFinder(w.cluster, w.warnForbidden); err != nil {
		return err
	}
	for namespace, owners := range t.owners {
		if err := t.pods.AddIndirect(ctx, namespace, owners); err != nil {
			return err
		}
	}
	return nil
}

// await waits until the terminating objects, and the pods that the owners in t own, no longer
// exist.
func (w *watchingDeletionWaiter) await(ctx context.Context, t *deletedOwners, terminating kube.ResourceList, onChange func(watcher.Report)) error {
	var targets []watcher.Target
	for _, info := range terminating {
		targets = append(targets, targetOf(info, object.UID(info)))
	}
	for namespace, owners := range t.owners {
		pods, err := t.pods.Pods(ctx, namespace, owners)
		if err != nil {
			return err
		}
		for _, pod := range pods {
			targets = append(targets, watcher.Target{
				GVR: object.PodResource(), GVK: object.PodKind(), Namespace: namespace, Name: pod.Name, UID: pod.UID,
			})
		}
	}
	_, err := w.watcher.WaitDeleted(ctx, targets, onChange)
	return err
}

func (t *deletedOwners) ownersIn(namespace string) *ownedpods.OwnerSet {
	if t.owners[namespace] == nil {
		t.owners[namespace] = &ownedpods.OwnerSet{}
	}
	return t.owners[namespace]
}

// warnForbidden warns that the account is not allowed to list pods or their owners.
func (w *watchingWaiter) warnForbidden(resource, namespace string) {
	w.events.Warnf("no permission to list %s in namespace %s: not waiting for the pods of deleted resources", resource, namespace)
}
