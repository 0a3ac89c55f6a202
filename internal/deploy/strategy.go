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

// strategy is how the objects of a release are deployed: by the plan of the release, or as
// Helm does. Everything that differs between the two is in its implementations.
type strategy interface {
	// build reads the manifest of the release into objects.
	build() error
	objects() objects
	// expectNodes records how many nodes there are to deploy.
	expectNodes() error
	// progressSize is how many bytes the progress may add to the record of the release.
	progressSize() int
	// checkBeforeCRDs does the checks that do not need the definitions of the release.
	checkBeforeCRDs(ctx context.Context) error
	// check asks the cluster what the manifest alone cannot tell.
	check(ctx context.Context) error
	// announce says what is about to be deployed.
	announce()
	// deploy applies the objects, waits for them, and deletes the obsolete ones.
	deploy(ctx context.Context) error
	// cause is what a failure is reported as.
	cause(ctx context.Context, err error) error
	// deleteCreated deletes what the operation created, as part of another operation.
	deleteCreated(ctx context.Context, undo *operation.Operation, created kube.ResourceList, err error) error
	// dryRun has the server say what deploy would do with the objects.
	dryRun(ctx context.Context) ([]objectwriter.DryRun, error)
	// nodes lists the objects node by node.
	nodes() []NodeObjects
	// pruner deletes the obsolete objects; nil if there are no earlier revisions.
	pruner() pruner
	// close ends everything that still goes on.
	close()
}

// objects are the objects of a release, and what was done with them.
type objects struct {
	applier *apply.Applier
	// all are the objects whose kinds the cluster knows from the start.
	all kube.ResourceList
}

// NodeObjects are the objects of a node.
type NodeObjects struct {
	// Node is the ID of the node.
	Node string
	// List has nil for an object of a kind that the cluster does not know yet.
	List kube.ResourceList
	// Resources are those of the plan, in the order of the list; nil without an order.
	Resources []*sequencer.PlannedResource
}

func newStrategy(r *Run) strategy {
	if r.options.Ordered {
		return newOrdered(r)
	}
	return newUnordered(r)
}

// newApplier returns the applier of a run.
func (r *Run) newApplier() *apply.Applier {
	return apply.New(apply.Config{
		Cluster: r.op.Cluster, Writer: r.op.Writer, Log: r.op.Log, Owner: r.owner(), Inventory: r.inventory,
		Force: r.options.Force, TakeOwnership: r.options.TakeOwnership, ThreeWay: r.options.ThreeWay, RecreatePods: r.options.RecreatePods,
	})
}
