// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"

	"helm.sh/helm/v3/pkg/kube"

	"github.com/ordered-helm/helm/internal/apply"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// strategy has the steps of Run that depend on whether the release has an order. The type
// ordered follows the plan of the release, and unordered deploys as Helm does.
type strategy interface {
	objects() objects
	// expectNodes stores in the record the number of nodes to deploy.
	expectNodes() error
	// check does the checks that need the cluster.
	check(ctx context.Context) error
	// announce emits an event with the nodes that are about to be deployed.
	announce()
	// steps returns the steps of the deployment: they apply the objects, wait for them, and
	// delete the obsolete ones.
	steps() []step
	// cause returns the error to report after the operation has failed with err.
	cause(ctx context.Context, err error) error
	// deleteCreated deletes the objects that the operation created. undo is the operation
	// that deletes them, and err is the failure of the operation that created them.
	deleteCreated(ctx context.Context, undo *operation.Operation, created kube.ResourceList, err error) error
	// dryRun asks the server, with dry-run requests, how the deployment would change the
	// objects.
	dryRun(ctx context.Context) ([]objectwriter.DryRunResult, error)
	// nodes returns the objects of each node.
	nodes() []NodeObjects
	// pruner returns the pruner for the obsolete objects; nil if there are no earlier
	// revisions.
	pruner() pruner
	// close stops everything that is still running.
	close()
}

// step is one step of a deployment.
type step struct {
	phase Phase
	do    func(context.Context) error
}

// objects has the objects of a release, and the applier that knows what was done with them.
type objects struct {
	applier *apply.Applier
	// all are the objects whose kinds the cluster knows when the operation starts.
	all kube.ResourceList
}

// NodeObjects has the objects of one node.
type NodeObjects struct {
	// Node is the ID of the node.
	Node string
	// List has the objects of the node. It has nil for an object of a kind that the cluster
	// does not know yet.
	List kube.ResourceList
	// Resources are the planned resources, in the order of List; nil if the release has no
	// order.
	Resources []*sequencer.PlannedResource
}

// newStrategy chooses the strategy of r, and builds the objects that the manifest of the
// release declares.
func newStrategy(r *Run) (strategy, error) {
	if r.IsOrdered() {
		return newOrdered(r)
	}
	return newUnordered(r)
}

// newApplier returns the applier of a strategy. readTogether has the objects of all nodes if
// they are applied one by one.
func (r *Run) newApplier(readTogether kube.ResourceList) *apply.Applier {
	return apply.New(apply.Config{
		Cluster: r.op.Cluster, Writer: r.op.Writer, Log: r.op.Log, Owner: r.owner(), Inventory: r.inventory, ReadTogether: readTogether,
		Force: r.options.Force, TakeOwnership: r.options.TakeOwnership, ThreeWay: r.options.ThreeWay, RecreatePods: r.options.RecreatePods,
	})
}
