// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"slices"

	"helm.sh/helm/v3/pkg/kube"

	"github.com/ordered-helm/helm/internal/apply"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// strategy contains those parts of Run that depend on whether the revision is deployed in
// order. It is implemented by orderedStrategy, which follows the deployment graph, and by
// unorderedStrategy, which works as Helm does.
type strategy interface {
	objects() objectsToApply
	// built returns those objects of the revision that have been built so far.
	built() kube.ResourceList
	// resetProgress records in the order record that none of the nodes to deploy is
	// finished.
	resetProgress() error
	// check does the checks that need the cluster.
	check(ctx context.Context) error
	// announce emits an event that names the nodes that are about to be deployed.
	announce()
	// steps returns the steps of the deployment: apply the objects, wait for them, and
	// delete obsolete ones.
	steps() []step
	// cause returns the error to report after the operation has failed with err.
	cause(ctx context.Context, err error) error
	// deleteCreated deletes created, the objects that the operation created before it failed
	// with err. cleanup is the operation that sends the requests.
	deleteCreated(ctx context.Context, cleanup *operation.Operation, created kube.ResourceList, err error) error
	// dryRun asks the server, with dry-run requests, how the deployment would change the
	// objects.
	dryRun(ctx context.Context) ([]objectwriter.DryRunResult, error)
	// nodes returns the objects of each node.
	nodes() []NodeObjects
	// pruner returns the pruner that deletes obsolete objects; nil if there are no earlier
	// revisions.
	pruner() pruner
	// close stops everything that is still running in the background.
	close()
}

// step is one step of a deployment.
type step struct {
	phase Phase
	do    func(context.Context) error
}

// objectsToApply contains the Kubernetes objects of a revision, and the Applier that writes
// them.
type objectsToApply struct {
	applier *apply.Applier
	// all are the objects whose kinds the cluster knows when the operation starts.
	all kube.ResourceList
	// skipped are objects that are part of the revision, but do not take part in the operation.
	skipped kube.ResourceList
}

// declared returns the objects of the revision whose kinds the cluster knows when the operation starts.
func (o objectsToApply) declared() kube.ResourceList { return withSkipped(o.all, o.skipped) }

// withSkipped returns list and the skipped objects.
func withSkipped(list, skipped kube.ResourceList) kube.ResourceList {
	if len(skipped) == 0 {
		return list
	}
	return slices.Concat(list, skipped)
}

// NodeObjects contains the Kubernetes objects of one node of the deployment graph.
type NodeObjects struct {
	// Node is the ID of the node.
	Node string
	// List contains the objects of the node. An object is nil if the cluster does not know
	// its kind yet.
	List kube.ResourceList
	// Resources are the resources of the node, in the order of List; nil if the revision is
	// not deployed in order.
	Resources []*sequencer.PlannedResource
}

// newStrategy returns the strategy of r, and builds the objects that the manifest of the
// release declares.
func newStrategy(r *Run) (strategy, error) {
	if r.IsOrdered() {
		return newOrdered(r)
	}
	return newUnordered(r)
}

// newApplier returns the Applier of a strategy. readAhead contains the objects of all nodes,
// if the nodes are applied separately. deferrer can be nil.
func (r *Run) newApplier(readAhead kube.ResourceList, deferrer apply.Deferrer) *apply.Applier {
	var recreator objectwriter.Recreator
	if r.recreator != nil {
		recreator = r.recreator
	}
	return apply.New(apply.ApplierConfig{
		Cluster: r.op.Cluster, Writer: r.op.Writer, Log: r.op.Log, Owner: r.owner(), Inventory: r.inventory, ReadAhead: readAhead,
		Force: r.options.Force, TakeOwnership: r.options.TakeOwnership, ThreeWay: r.options.ThreeWay, RecreatePods: r.options.RecreatePods,
		Deferrer: deferrer, Recreator: recreator,
	})
}
