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

// Completions waits for the objects of the hooks of one event. The caller must call Close
// when all hooks have completed.
type Completions interface {
	// Expect prepares to wait for the objects of one hook. The caller must call it before
	// it creates them, so that no change is missed. Only if the server generates the names
	// of the objects, the caller calls it afterwards, and does not call Created.
	Expect(list kube.ResourceList) Completion
	// Established waits until the API server has accepted the CRDs of a hook.
	Established(ctx context.Context, list kube.ResourceList) error
	// Explain sets the causes of failures. reports has one report for each failure, in the
	// same order.
	Explain(failures []*failure.Resource, reports []watcher.Report)
	// Deleted is Waiter.Deleted for the objects of a hook.
	Deleted(ctx context.Context, list kube.ResourceList, timeout time.Duration) error
	// Close stops all watches.
	Close()
}

// Completion waits for the objects of one hook.
type Completion interface {
	// Created records that the objects were created. list has them as the server returned
	// them.
	Created(list kube.ResourceList) error
	// Wait waits until the objects that run to completion, which are Jobs and Pods, have
	// completed. It returns the last report on each of them. If some have not completed in
	// the cluster, the error is a *watcher.NotReadyError.
	Wait(ctx context.Context) ([]watcher.Report, error)
	// Close ends the observation of objects that could not be created.
	Close()
}

// Completions implements Waiter.
func (w *watching) Completions(ctx context.Context, _ time.Duration) (Completions, error) {
	tracker, err := newTracker(ctx, w.cluster, w.events.Notice)
	if err != nil {
		return nil, err
	}
	return &watchedCompletions{watching: w, tracker: tracker, explainer: w.newExplainer(nil)}, nil
}

// watchedCompletions is the Completions for a cluster.
type watchedCompletions struct {
	*watching
	tracker   *watcher.Watcher
	explainer *Explainer
}

// Expect implements Completions.
func (w *watchedCompletions) Expect(list kube.ResourceList) Completion {
	list = runToCompletion(list)
	if len(list) == 0 {
		return &watchedCompletion{}
	}
	targets := make([]watcher.Target, len(list))
	for i, info := range list {
		targets[i] = targetOf(info, "")
	}
	group := w.tracker.ExpectCompletion(targets...)
	group.SetOptions(watcher.Options{WaitForAll: true})
	return &watchedCompletion{group}
}

// runToCompletion returns the objects of list that run to completion.
func runToCompletion(list kube.ResourceList) kube.ResourceList {
	return slices.DeleteFunc(slices.Clone(list), func(info *object.Info) bool { return !object.RunsToCompletion(info) })
}

// Explain implements Completions.
func (w *watchedCompletions) Explain(failures []*failure.Resource, reports []watcher.Report) {
	w.explainer.Explain(failures, reports)
}

// Deleted implements Completions.
func (w *watchedCompletions) Deleted(ctx context.Context, list kube.ResourceList, timeout time.Duration) error {
	return w.deleted(ctx, list, DeletedOptions{Timeout: timeout}, w.tracker)
}

// Close implements Completions.
func (w *watchedCompletions) Close() { w.tracker.Close() }

// watchedCompletion is the Completion for a cluster. group observes the objects that run to
// completion; nil if there are none.
type watchedCompletion struct{ group *watcher.Group }

// Created implements Completion.
func (c *watchedCompletion) Created(list kube.ResourceList) error {
	if c.group == nil {
		return nil
	}
	return setApplied(c.group, runToCompletion(list))
}

// Wait implements Completion.
func (c *watchedCompletion) Wait(ctx context.Context) ([]watcher.Report, error) {
	if c.group == nil {
		return nil, nil
	}
	return c.group.Wait(ctx, nil)
}

// Close implements Completion.
func (c *watchedCompletion) Close() {
	if c.group != nil {
		c.group.Close()
	}
}
