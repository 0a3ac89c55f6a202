// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"maps"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/watcher"
)

// delegating is the Waiter without a cluster: it calls the wait methods of a Kubernetes
// client. These methods have no context, so they do not return when the context ends.
type delegating struct{ client kube.Interface }

// NewWithoutCluster returns a Waiter that calls the wait methods of a Kubernetes client.
func NewWithoutCluster(client kube.Interface) Waiter { return delegating{client} }

// Nodes implements Waiter.
func (d delegating) Nodes(c NodesConfig) Nodes {
	return &delegatedNodes{delegating: d, config: c, lists: map[*sequencer.Node]kube.ResourceList{}, states: object.LiveObjects{}}
}

// Ready implements Waiter.
func (d delegating) Ready(_ context.Context, list kube.ResourceList, o ReadyOptions) error {
	return d.wait(list, o.Timeout, o.Jobs)
}

func (d delegating) wait(list kube.ResourceList, timeout time.Duration, jobs bool) error {
	if jobs {
		return d.client.WaitWithJobs(list, timeout)
	}
	return d.client.Wait(list, timeout)
}

// Established implements Waiter.
func (d delegating) Established(_ context.Context, list kube.ResourceList) error {
	return d.client.Wait(list, establishTimeout)
}

// Deleted implements Waiter. It does not wait if the client has no method for it.
func (d delegating) Deleted(_ context.Context, list kube.ResourceList, o DeletedOptions) error {
	if client, ok := d.client.(kube.InterfaceExt); ok {
		return client.WaitForDelete(list, o.Timeout)
	}
	return nil
}

// Deletions implements Waiter.
func (delegating) Deletions(context.Context) (Deletions, error) { return delegatedDeletions{}, nil }

// Completions implements Waiter.
func (d delegating) Completions(_ context.Context, timeout time.Duration) (Completions, error) {
	return &delegatedCompletions{delegating: d, timeout: timeout}, nil
}

// delegatedDeletions is the Deletions without a cluster. It does not wait.
type delegatedDeletions struct{}

// Expect implements Deletions.
func (delegatedDeletions) Expect(context.Context, kube.ResourceList, kube.ResourceList, metav1.DeletionPropagation) (AwaitGone, error) {
	return func(context.Context, func(watcher.Report)) error { return nil }, nil
}

// Close implements Deletions.
func (delegatedDeletions) Close() {}

// ClientError is an error with which the Kubernetes client ended the wait for a hook. It does
// not tell whether the hook failed or the client could not wait for it.
type ClientError struct{ Err error }

func (e *ClientError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ClientError) Unwrap() error { return e.Err }

// delegatedCompletions is the Completions without a cluster.
type delegatedCompletions struct {
	delegating
	timeout time.Duration
}

// Expect implements Completions.
func (d *delegatedCompletions) Expect(list kube.ResourceList) Completion {
	return &delegatedCompletion{completions: d, list: list}
}

// Established implements Completions. It does nothing, because Wait of the Completion has
// waited for all objects.
func (*delegatedCompletions) Established(context.Context, kube.ResourceList) error { return nil }

// Explain implements Completions. It does nothing, because there are no reports.
func (*delegatedCompletions) Explain([]*failure.Resource, []watcher.Report) {}

// Deleted implements Completions.
func (d *delegatedCompletions) Deleted(ctx context.Context, list kube.ResourceList, timeout time.Duration) error {
	return d.delegating.Deleted(ctx, list, DeletedOptions{Timeout: timeout})
}

// Close implements Completions.
func (*delegatedCompletions) Close() {}

// delegatedCompletion is the Completion without a cluster.
type delegatedCompletion struct {
	completions *delegatedCompletions
	list        kube.ResourceList
}

// Created implements Completion.
func (d *delegatedCompletion) Created(list kube.ResourceList) error {
	d.list = list
	return nil
}

// Wait implements Completion. Its error is a *ClientError.
func (d *delegatedCompletion) Wait(context.Context) ([]watcher.Report, error) {
	if err := d.completions.client.WatchUntilReady(d.list, d.completions.timeout); err != nil {
		return nil, &ClientError{err}
	}
	return nil, nil
}

// Close implements Completion.
func (*delegatedCompletion) Close() {}

// delegatedNodes is the Nodes without a cluster.
type delegatedNodes struct {
	delegating
	config NodesConfig

	mu sync.Mutex
	// lists has the objects that were passed to Follow. states has the states that were
	// passed to Applied.
	lists  map[*sequencer.Node]kube.ResourceList
	states object.LiveObjects
}

// Follow implements Nodes. It only stores the objects.
func (d *delegatedNodes) Follow(_ context.Context, n *sequencer.Node, list kube.ResourceList) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lists[n] = list
	return nil
}

// Applied implements Nodes. It only stores the states.
func (d *delegatedNodes) Applied(_ *sequencer.Node, states object.LiveObjects) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	maps.Copy(d.states, states)
	return nil
}

// Await implements Nodes.
func (d *delegatedNodes) Await(_ context.Context, n *sequencer.Node) error {
	d.mu.Lock()
	list := d.states.All(d.lists[n])
	d.mu.Unlock()
	return d.wait(list, d.config.Timeouts.Readiness, true)
}

// AwaitLeaf implements Nodes. It does not wait, because AwaitLeaves waits for all objects.
func (d *delegatedNodes) AwaitLeaf(context.Context, *sequencer.Node) bool { return false }

// AwaitLeaves implements Nodes. It waits for the objects of all nodes.
func (d *delegatedNodes) AwaitLeaves(_ context.Context, all kube.ResourceList) error {
	d.mu.Lock()
	all = d.states.All(all)
	d.mu.Unlock()
	return d.wait(all, d.config.Timeouts.Operation, d.config.Jobs)
}

// CheckLeaves implements Nodes. It returns no error, because only AwaitLeaves waits for
// leaves.
func (d *delegatedNodes) CheckLeaves() error { return nil }

// AwaitPodsGone implements Nodes. It does nothing, because there are no pods.
func (d *delegatedNodes) AwaitPodsGone(context.Context, []object.PodRef) error { return nil }

// DeployError implements Nodes.
func (d *delegatedNodes) DeployError(ctx context.Context, err *sequencer.ExecutionError) *failure.DeployError {
	return newDeployError(ctx, d.config.Plan, err)
}

// Close implements Nodes. It does nothing, because no wait runs in the background.
func (d *delegatedNodes) Close() {}
