// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/podowners"
	"github.com/ordered-helm/helm/internal/watcher"
)

// Deletions waits for objects that are deleted step by step, and for the pods that they
// own. The caller must call Close after the last step. Without a cluster, it does not wait.
type Deletions interface {
	// Expect prepares to wait for the objects of one step. The caller must call it before it
	// deletes them, because the owner references can no longer be followed when the owners
	// are gone. existing has the objects to delete, with their UIDs. absent has objects that
	// are gone already, but whose pods may still exist. policy is the policy of the
	// deletion.
	Expect(ctx context.Context, existing, absent kube.ResourceList, policy metav1.DeletionPropagation) (AwaitGone, error)
	// Close stops all watches.
	Close()
}

// AwaitGone waits until the objects of one step and their pods are gone. It calls onChange
// with each new state of an object. If objects still exist when ctx ends, the error is a
// *watcher.NotReadyError.
type AwaitGone func(ctx context.Context, onChange func(watcher.Report)) error

// Deletions implements Waiter.
func (w *watching) Deletions(ctx context.Context) (Deletions, error) {
	tracker, err := newTracker(ctx, w.cluster, w.events.Notice)
	if err != nil {
		return nil, err
	}
	return &watchedDeletions{watching: w, tracker: tracker}, nil
}

// watchedDeletions is the Deletions for a cluster.
type watchedDeletions struct {
	*watching
	tracker *watcher.Watcher
}

// Close implements Deletions.
func (w *watchedDeletions) Close() { w.tracker.Close() }

// deletionTargets has what must be gone at the end of a step: the objects, and the pods that
// they owned.
type deletionTargets struct {
	objects []watcher.Target
	// pods lists these pods; nil if owned is empty.
	pods *podowners.Finder
	// owned has the owners of these pods, by namespace.
	owned map[string]*podowners.Set
}

// Expect implements Deletions.
func (w *watchedDeletions) Expect(ctx context.Context, existing, absent kube.ResourceList, policy metav1.DeletionPropagation) (AwaitGone, error) {
	t := &deletionTargets{owned: map[string]*podowners.Set{}}
	for _, info := range existing {
		uid := object.UID(info)
		t.objects = append(t.objects, targetOf(info, uid))
		if podowners.MayOwn(info) {
			t.ownersIn(info.Namespace).Add(uid)
		}
	}
	for _, info := range absent {
		if podowners.MayOwn(info) {
			t.ownersIn(info.Namespace).AddGone(info.Mapping.GroupVersionKind.GroupKind(), info.Name)
		}
	}
	if policy == metav1.DeletePropagationOrphan {
		t.owned = nil
	}
	if err := w.findOwners(ctx, t); err != nil {
		return nil, err
	}
	return func(ctx context.Context, onChange func(watcher.Report)) error { return w.await(ctx, t, onChange) }, nil
}

// findOwners adds to t.owned the objects between the deleted objects and their pods.
func (w *watchedDeletions) findOwners(ctx context.Context, t *deletionTargets) error {
	if len(t.owned) == 0 {
		return nil
	}
	var err error
	if t.pods, err = podowners.NewFinder(w.cluster, w.warnForbidden); err != nil {
		return err
	}
	for namespace, owners := range t.owned {
		if err := t.pods.AddIndirect(ctx, namespace, owners); err != nil {
			return err
		}
	}
	return nil
}

// await waits until the objects of t and the pods that they own are gone.
func (w *watchedDeletions) await(ctx context.Context, t *deletionTargets, onChange func(watcher.Report)) error {
	targets := t.objects
	for namespace, owners := range t.owned {
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
	_, err := w.tracker.WaitDeleted(ctx, targets, onChange)
	return err
}

func (t *deletionTargets) ownersIn(namespace string) *podowners.Set {
	if t.owned[namespace] == nil {
		t.owned[namespace] = &podowners.Set{}
	}
	return t.owned[namespace]
}

// warnForbidden warns that the account is not allowed to list pods or their owners.
func (w *watching) warnForbidden(resource, namespace string) {
	w.events.Warnf("no permission to list %s in namespace %s: not waiting for the pods of deleted resources", resource, namespace)
}
