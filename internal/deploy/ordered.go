// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"errors"
	"slices"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/apply"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/prune"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/internal/wait"
)

// ordered deploys a release by its plan: it applies each node as soon as the nodes that it
// depends on are ready. It deletes obsolete objects last, so an object stays until its
// replacement is ready.
type ordered struct {
	run     *Run
	applier *apply.Applier
	built   *apply.Objects
	waiter  wait.Nodes
}

func newOrdered(r *Run) *ordered {
	o := &ordered{run: r, applier: r.newApplier()}
	o.waiter = wait.NewNodes(wait.NodesConfig{
		Cluster: r.op.Cluster, Events: r.op.Events, Plan: r.plan, Timeouts: r.op.Timeouts, Jobs: r.options.Jobs,
		Namespace: r.Release().Namespace, Deadline: r.op.Deadline(), WithoutTimeout: r.op.WithoutTimeout,
		Restarted: o.applier.Restarted, IsUnchanged: o.applier.IsUnchanged,
		Done: func(n *sequencer.Node) { r.writer.NodeDone(n.ID()) },
	})
	o.applier.AwaitPodsGone = o.waiter.AwaitPodsGone
	return o
}

func (o *ordered) build() error {
	r := o.run
	var err error
	o.built, err = apply.BuildObjects(apply.ObjectsConfig{
		Cluster: r.op.Cluster, Plan: r.plan, Owner: r.owner(), Validate: r.options.Validate, PendingKinds: r.options.PendingKinds,
	})
	if err != nil {
		return err
	}
	o.applier.CacheLive(o.built.All)
	return nil
}

func (o *ordered) objects() objects { return objects{o.applier, o.built.All()} }

func (o *ordered) expectNodes() error { return o.run.writer.ExpectNodes(len(o.run.plan.Nodes), false) }

func (o *ordered) progressSize() int {
	size := 0
	for _, n := range o.run.plan.Nodes {
		size += len(n.ID())
	}
	return size
}

func (o *ordered) checkBeforeCRDs(ctx context.Context) error {
	r := o.run
	if err := r.ReadInventory(ctx); err != nil {
		return err
	}
	if err := errors.Join(apply.CheckTimeouts(r.plan, r.op.Timeouts.Operation), apply.CheckNeeds(ctx, r.op.Cluster, r.plan)); err != nil {
		return err
	}
	if o.build() != nil {
		return nil // some kinds are defined only by the CRDs that are about to be installed
	}
	if err := r.conflict(o.applier.FindExisting(ctx, o.applier.Unknown(o.built.All()))); err != nil {
		return err
	}
	return o.checkPermissions(ctx)
}

func (o *ordered) check(ctx context.Context) error {
	r := o.run
	if !r.options.SkipChartChecks {
		if err := apply.CheckTimeouts(r.plan, r.op.Timeouts.Operation); err != nil {
			return err
		}
		if err := apply.CheckNeeds(ctx, r.op.Cluster, r.plan); err != nil {
			return err
		}
	}
	return o.checkPermissions(ctx)
}

func (o *ordered) checkPermissions(ctx context.Context) error {
	return o.applier.CheckPermissions(ctx, o.built.All(), o.obsolete())
}

// obsolete returns the objects of earlier revisions that pruning would delete, judged only
// by the manifests: an object in the cluster can have a policy that keeps it.
func (o *ordered) obsolete() kube.ResourceList {
	r := o.run
	if r.inventory == nil {
		return nil
	}
	policies := r.inventory.Policies()
	var list kube.ResourceList
	for _, info := range r.inventory.Without(o.built.All()) {
		if id := object.IDOf(info); !object.Keeps(policies[id]) && !r.options.Spared[id] {
			list = append(list, info)
		}
	}
	return list
}

func (o *ordered) announce() {
	plan := o.run.plan
	o.run.emit(event.Event{Type: event.Planned, Message: "deploying " + apply.Extent(plan), Nodes: event.PlannedNodes(plan)})
}

func (o *ordered) deploy(ctx context.Context) error {
	r := o.run
	if err := sequencer.Execute(ctx, r.plan, o.deployNode); err != nil {
		var execution *sequencer.ExecutionError
		if !errors.As(err, &execution) {
			return err
		}
		return o.waiter.DeployError(ctx, execution)
	}
	if err := o.waiter.AwaitLeaves(ctx, o.built.All()); err != nil {
		return err
	}
	r.phase = Pruning
	if p := o.pruner(); p != nil {
		return p.prune(ctx, o.built.Built())
	}
	return nil
}

// deployNode applies the node n, and waits until it is ready if other nodes depend on it.
// after is the dependency of n that finished last; nil if n has none.
func (o *ordered) deployNode(ctx context.Context, n, after *sequencer.Node) error {
	r := o.run
	if err := o.waiter.CheckLeaves(); err != nil {
		return err // after a failure no other node is started
	}
	started := event.Event{Type: event.NodeStarted, Node: n.ID(), Message: object.SummarizeResources(n.Resources)}
	if after != nil {
		started.After = after.ID()
	}
	r.emit(started)
	r.writer.NodeStarted(n.ID())
	inBackground, err := o.applyAndAwait(ctx, n)
	if err != nil {
		var failures failure.Resources
		if !errors.As(err, &failures) {
			err = apply.Failures(ctx, n, err, r.Release().Namespace, r.op.Events)
		}
		r.emit(event.Event{Type: event.NodeFailed, Node: n.ID(), Err: err, Message: err.Error()})
		return err
	}
	if !inBackground { // in the background, the node is done when it becomes ready
		r.emit(event.Event{Type: event.NodeReady, Node: n.ID()})
		r.writer.NodeDone(n.ID())
	}
	return nil
}

// applyAndAwait applies a node, and waits until it is ready. If no other node depends on
// it, the wait may continue in the background; inBackground reports whether it does.
func (o *ordered) applyAndAwait(ctx context.Context, n *sequencer.Node) (inBackground bool, err error) {
	summary, err := o.apply(ctx, n)
	if err != nil {
		return false, err
	}
	o.run.emit(event.Event{Type: event.NodeApplied, Node: n.ID(), Message: summary})
	if n.Awaited {
		return false, o.waiter.Await(ctx, n)
	}
	return o.waiter.AwaitLeaf(ctx, n), nil
}

// apply builds the objects of a node that could not be built earlier, starts to watch the
// readiness of all its objects, and applies them. The summary says how many were created,
// changed and unchanged.
func (o *ordered) apply(ctx context.Context, n *sequencer.Node) (summary string, err error) {
	err = o.built.BuildLate(ctx, n, func(list kube.ResourceList) error {
		return o.applier.FindExisting(ctx, o.applier.Unknown(list))
	})
	if err != nil {
		return "", err
	}
	list := o.built.OfNode(n)
	if err := o.waiter.Follow(ctx, n, list); err != nil {
		return "", err
	}
	result, err := o.applier.ApplyNode(ctx, list)
	if err != nil {
		return "", err
	}
	return result.Summary, o.waiter.Applied(n, result.States)
}

func (o *ordered) cause(_ context.Context, err error) error { return err }

// deleteCreated deletes the created objects in the reverse order of the plan.
func (o *ordered) deleteCreated(ctx context.Context, undo *operation.Operation, created kube.ResourceList, err error) error {
	undo.Events.Warnf("release %s failed; deleting the resources that it created because of --cleanup-on-fail: %s", o.run.Release().Name, failure.Description(err))
	byID := object.ByID(created)
	graph := &prune.Graph{
		Cluster: undo.Cluster, Writer: undo.Writer, Events: undo.Events, Namespace: o.run.Release().Namespace,
		Propagation: metav1.DeletePropagationBackground, InfoOf: o.built.InfoOf, Partial: true,
		Removal: sequencer.PlanRemoval([]*sequencer.Plan{o.run.plan}, func(res *sequencer.PlannedResource) (sequencer.ID, bool) {
			info := o.built.InfoOf(res)
			if info == nil || !slices.Contains(created, info) {
				return sequencer.ID{}, false
			}
			return object.IDOf(info), true
		}),
		WhyKeep: func(live *unstructured.Unstructured) string {
			return o.applier.WhyNotCreated(byID[object.LiveID(live)], live)
		},
	}
	undo.Events.Emit(event.Event{
		Type: event.Removing, Message: "deleting created resources: " + text.Count(len(created), "resource"), Nodes: event.RemovedNodes(graph.Removal),
	})
	return graph.Run(ctx)
}

func (o *ordered) dryRun(ctx context.Context) ([]objectwriter.DryRunResult, error) {
	return o.applier.DryRunNodes(ctx, o.built.All())
}

func (o *ordered) nodes() []NodeObjects {
	var nodes []NodeObjects
	for _, n := range o.run.plan.Nodes {
		nodes = append(nodes, NodeObjects{Node: n.ID(), List: o.built.OfNode(n), Resources: n.Resources})
	}
	return nodes
}

func (o *ordered) pruner() pruner {
	if o.run.inventory == nil {
		return nil
	}
	return &graphPruner{run: o.run}
}

func (o *ordered) close() { o.waiter.Close() }
