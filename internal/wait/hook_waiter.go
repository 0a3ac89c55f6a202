// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"slices"
	"time"

	"helm.sh/helm/v3/pkg/kube"

	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/watcher"
)

// HookWaiter waits for the objects of the hooks that run for one event, such as pre-install.
// The caller must call Close when all of these hooks have completed.
type HookWaiter interface {
	// Expect prepares to wait for the objects of one hook. The caller must call it before it
	// creates the objects, so that no change is missed, and must call Created afterwards.
	// But if the server generates the objects' names, the caller calls only Expect, after it
	// has created the objects.
	Expect(list kube.ResourceList) HookWait
	// WaitEstablished waits until the API server serves the CRDs that a hook has created.
	WaitEstablished(ctx context.Context, list kube.ResourceList) error
	// Explain looks for the causes of failures, and stores them in the field Causes of each.
	// reports contains the last report on each failed object, in the order of failures.
	Explain(failures []*failure.Resource, reports []watcher.Report)
	// WaitDeleted is Waiter.WaitDeleted for the objects of a hook.
	WaitDeleted(ctx context.Context, list kube.ResourceList, timeout time.Duration) error
	// Close stops all watches.
	Close()
}

// HookWait waits for the objects of one hook.
type HookWait interface {
	// Created records that the objects were created. list contains the created objects as
	// the server returned them.
	Created(list kube.ResourceList) error
	// Wait waits until the Jobs and Pods of the hook have succeeded, and returns the last
	// report on each. If one fails, or has not completed when ctx ends, the error is a
	// *watcher.NotReadyError (without a cluster, a *HookClientError).
	Wait(ctx context.Context) ([]watcher.Report, error)
	// Close stops watching the objects. The caller calls it instead of Wait if the objects
	// could not be created.
	Close()
}

// NewHookWaiter implements Waiter.
func (w *watchingWaiter) NewHookWaiter(ctx context.Context, _ time.Duration) (HookWaiter, error) {
	objectWatcher, err := newWatcher(ctx, w.cluster, w.events.Notice)
	if err != nil {
		return nil, err
	}
	return &watchingHookWaiter{watchingWaiter: w, watcher: objectWatcher, explainer: w.newExplainer(nil)}, nil
}

// watchingHookWaiter is the HookWaiter that watches the objects in a cluster.
type watchingHookWaiter struct {
	*watchingWaiter
	watcher   *watcher.Watcher
	explainer *Explainer
}

// Expect implements HookWaiter.
func (w *watchingHookWaiter) Expect(list kube.ResourceList) HookWait {
	list = runToCompletion(list)
	if len(list) == 0 {
		return &watchingHookWait{}
	}
	targets := make([]watcher.Target, len(list))
	for i, info := range list {
		targets[i] = targetOf(info, "")
	}
	group := w.watcher.ExpectCompletion(targets...)
	group.SetOptions(watcher.WaitOptions{WaitForAll: true})
	return &watchingHookWait{group}
}

// runToCompletion returns the objects of list that run to completion: Jobs and Pods.
func runToCompletion(list kube.ResourceList) kube.ResourceList {
	return slices.DeleteFunc(slices.Clone(list), func(info *object.Info) bool { return !object.RunsToCompletion(info) })
}

// Explain implements HookWaiter.
func (w *watchingHookWaiter) Explain(failures []*failure.Resource, reports []watcher.Report) {
	w.explainer.Explain(failures, reports)
}

// WaitDeleted implements HookWaiter.
func (w *watchingHookWaiter) WaitDeleted(ctx context.Context, list kube.ResourceList, timeout time.Duration) error {
	return w.waitDeleted(ctx, list, WaitDeletedOptions{Timeout: timeout}, w.watcher)
}

// Close implements HookWaiter.
func (w *watchingHookWaiter) Close() { w.watcher.Close() }

// watchingHookWait is the HookWait that watches the objects in a cluster. group watches the
// Jobs and Pods of the hook; it is nil if the hook has none.
type watchingHookWait struct{ group *watcher.TargetGroup }

// Created implements HookWait.
func (c *watchingHookWait) Created(list kube.ResourceList) error {
	if c.group == nil {
		return nil
	}
	return setApplied(c.group, runToCompletion(list))
}

// Wait implements HookWait.
func (c *watchingHookWait) Wait(ctx context.Context) ([]watcher.Report, error) {
	if c.group == nil {
		return nil, nil
	}
	return c.group.Wait(ctx, nil)
}

// Close implements HookWait.
func (c *watchingHookWait) Close() {
	if c.group != nil {
		c.group.Close()
	}
}
