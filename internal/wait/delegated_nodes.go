// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"maps"
	"sync"

	"helm.sh/helm/v3/pkg/kube"

	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// delegatedNodes is the Nodes without a cluster: it calls the wait methods of the
// Kubernetes client.
type delegatedNodes struct {
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
	return d.config.Cluster.DelegateWait(list, d.config.Timeouts.Readiness, true)
}

// AwaitLeaf implements Nodes. It does not wait, because AwaitLeaves waits for all objects.
func (d *delegatedNodes) AwaitLeaf(context.Context, *sequencer.Node) bool { return false }

// AwaitLeaves implements Nodes. It waits for the objects of all nodes.
func (d *delegatedNodes) AwaitLeaves(_ context.Context, all kube.ResourceList) error {
	d.mu.Lock()
	all = d.states.All(all)
	d.mu.Unlock()
	return d.config.Cluster.DelegateWait(all, d.config.Timeouts.Operation, d.config.Jobs)
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
