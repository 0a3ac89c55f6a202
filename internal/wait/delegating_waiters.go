// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"cmp"
	"context"
	"maps"
	"math"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/execute"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/watcher"
)

// delegatingWaiter is the Waiter for a custom Kubernetes client: it calls the wait methods of
// the client. These methods accept no context, so they cannot be canceled.
type delegatingWaiter struct{ client kube.Interface }

// NewWithoutCluster returns a Waiter that sends no requests to a cluster itself, but calls the
// wait methods of client. Programs that embed Helm can set such a client.
func NewWithoutCluster(client kube.Interface) Waiter { return delegatingWaiter{client} }

// NewNodeWaiter implements Waiter.
func (d delegatingWaiter) NewNodeWaiter(c NodeWaiterConfig) NodeWaiter {
	return &delegatingNodeWaiter{delegatingWaiter: d, config: c, lists: map[*sequencer.Node]kube.ResourceList{}, states: object.LiveObjects{}}
}

// WaitReady implements Waiter.
func (d delegatingWaiter) WaitReady(_ context.Context, list kube.ResourceList, o WaitReadyOptions) error {
	return d.wait(list, o.Timeout, o.Jobs)
}

func (d delegatingWaiter) wait(list kube.ResourceList, timeout time.Duration, jobs bool) error {
	if jobs {
		return d.client.WaitWithJobs(list, timeout)
	}
	return d.client.Wait(list, timeout)
}

// WaitEstablished implements Waiter.
func (d delegatingWaiter) WaitEstablished(_ context.Context, list kube.ResourceList) error {
	return d.client.Wait(list, EstablishTimeout)
}

// WaitDeleted implements Waiter. It does not wait if the client has no WaitForDelete method.
func (d delegatingWaiter) WaitDeleted(_ context.Context, list kube.ResourceList, o WaitDeletedOptions) error {
	if client, ok := d.client.(kube.InterfaceExt); ok {
		return client.WaitForDelete(list, o.Timeout)
	}
	return nil
}

// NewDeletionWaiter implements Waiter.
func (delegatingWaiter) NewDeletionWaiter(context.Context) (DeletionWaiter, error) {
	return delegatingDeletionWaiter{}, nil
}

// NewHookWaiter implements Waiter.
func (d delegatingWaiter) NewHookWaiter(_ context.Context, timeout time.Duration) (HookWaiter, error) {
	return &delegatingHookWaiter{delegatingWaiter: d, timeout: timeout}, nil
}

// delegatingDeletionWaiter is a DeletionWaiter that does not wait, because Helm's interface
// of clients has no method to wait for the pods of deleted objects.
type delegatingDeletionWaiter struct{}

// Expect implements DeletionWaiter.
func (delegatingDeletionWaiter) Expect(context.Context, kube.ResourceList, kube.ResourceList, metav1.DeletionPropagation) (AwaitGone, error) {
	return func(context.Context, kube.ResourceList, func(watcher.Report)) error { return nil }, nil
}

// Close implements DeletionWaiter.
func (delegatingDeletionWaiter) Close() {}

// HookClientError wraps an error that the Kubernetes client returned when it waited for a
// hook: either the hook failed, or the client could not wait for it.
type HookClientError struct{ Err error }

func (e *HookClientError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *HookClientError) Unwrap() error { return e.Err }

// delegatingHookWaiter is the HookWaiter that calls a custom Kubernetes client.
type delegatingHookWaiter struct {
	delegatingWaiter
	timeout time.Duration
}

// Expect implements HookWaiter.
func (d *delegatingHookWaiter) Expect(list kube.ResourceList) HookWait {
	return &delegatingHookWait{completions: d, list: list}
}

// WaitEstablished implements HookWaiter. It does nothing, because HookWait.Wait has already
// waited for all objects of the hook, including CRDs.
func (*delegatingHookWaiter) WaitEstablished(context.Context, kube.ResourceList) error { return nil }

// Explain implements HookWaiter. It does nothing, because there are no reports.
func (*delegatingHookWaiter) Explain([]*failure.Resource, []watcher.Report) {}

// WaitDeleted implements HookWaiter.
func (d *delegatingHookWaiter) WaitDeleted(ctx context.Context, list kube.ResourceList, timeout time.Duration) error {
	return d.delegatingWaiter.WaitDeleted(ctx, list, WaitDeletedOptions{Timeout: timeout})
}

// Close implements HookWaiter.
func (*delegatingHookWaiter) Close() {}

// delegatingHookWait is the HookWait that calls a custom Kubernetes client.
type delegatingHookWait struct {
	completions *delegatingHookWaiter
	list        kube.ResourceList
}

// Created implements HookWait.
func (d *delegatingHookWait) Created(list kube.ResourceList) error {
	d.list = list
	return nil
}

// Wait implements HookWait. Its error is a *HookClientError.
func (d *delegatingHookWait) Wait(context.Context) ([]watcher.Report, error) {
	if err := d.completions.client.WatchUntilReady(d.list, d.completions.timeout); err != nil {
		return nil, &HookClientError{err}
	}
	return nil, nil
}

// Close implements HookWait.
func (*delegatingHookWait) Close() {}

// delegatingNodeWaiter is the NodeWaiter that calls a custom Kubernetes client.
type delegatingNodeWaiter struct {
	delegatingWaiter
	config NodeWaiterConfig

	mu sync.Mutex
	// lists contains the objects that were passed to Follow, for each node. states contains
	// all states that were passed to Applied.
	lists  map[*sequencer.Node]kube.ResourceList
	states object.LiveObjects
}

// Follow implements NodeWaiter. It only stores the objects.
func (d *delegatingNodeWaiter) Follow(_ context.Context, n *sequencer.Node, list kube.ResourceList) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lists[n] = list
	return nil
}

// Applied implements NodeWaiter. It only stores the states.
func (d *delegatingNodeWaiter) Applied(_ *sequencer.Node, states object.LiveObjects) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.Copy(d.states, states)
	return nil
}

// Await implements NodeWaiter. It cannot find out whether objects stand still: without a
// readiness timeout, it waits until the operation times out.
func (d *delegatingNodeWaiter) Await(_ context.Context, n *sequencer.Node) error {
	d.mu.Lock()
	list := d.states.All(d.lists[n])
	d.mu.Unlock()
	return d.wait(list, cmp.Or(d.config.Timeouts.Readiness, d.config.Timeouts.Operation, math.MaxInt64), true)
}

// AwaitLeaf implements NodeWaiter. It does not wait, because AwaitLeaves waits for all
// objects.
func (d *delegatingNodeWaiter) AwaitLeaf(context.Context, *sequencer.Node) bool { return false }

// AwaitLeaves implements NodeWaiter. It waits for the objects of all nodes.
func (d *delegatingNodeWaiter) AwaitLeaves(_ context.Context, all kube.ResourceList) error {
	d.mu.Lock()
	all = d.states.All(all.Filter(func(info *object.Info) bool {
		return d.config.HasEnded == nil || !d.config.HasEnded(info, d.states.Of(info))
	}))
	d.mu.Unlock()
	return d.wait(all, d.config.Timeouts.Operation, d.config.Jobs)
}

// CheckLeaves implements NodeWaiter. It returns no error, because only AwaitLeaves waits for
// leaves.
func (d *delegatingNodeWaiter) CheckLeaves() error { return nil }

// RecordFailure implements NodeWaiter. It does nothing, because waits that have started cannot
// be changed.
func (d *delegatingNodeWaiter) RecordFailure() {}

// AwaitPodsGone implements NodeWaiter. It does nothing, because no pods are deleted without a
// cluster.
func (d *delegatingNodeWaiter) AwaitPodsGone(context.Context, []object.PodRef) error { return nil }

// DeployError implements NodeWaiter.
func (d *delegatingNodeWaiter) DeployError(ctx context.Context, err *execute.Error) *failure.DeployError {
	return newDeployError(ctx, d.config.Plan, err)
}

// Close implements NodeWaiter. It does nothing, because no wait runs in the background.
func (d *delegatingNodeWaiter) Close() {}
