// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"
	"errors"
	"slices"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/apply"
	"github.com/ordered-helm/helm/internal/earlierjobs"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/execute"
	"github.com/ordered-helm/helm/internal/externalwait"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/prune"
	"github.com/ordered-helm/helm/internal/removal"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/internal/wait"
)

// orderedStrategy deploys a revision in the order of its deployment graph: it applies each
// node as soon as the nodes that it depends on are ready. It deletes obsolete objects last, so
// that an object stays until its replacement is ready.
type orderedStrategy struct {
	run     *Run
	applier *apply.Applier
	graph   *apply.GraphObjects
	waiter  wait.NodeWaiter
	// chartWaits waits for the handlers of charts.
	chartWaits *chartWaits
	// hookSteps is locked while the hooks of a chart run, if the number of hooks that run in parallel is
	// limited.
	hookSteps sync.Mutex
	// external waits for the external dependencies of all steps. externalWaiter creates it.
	externalOnce sync.Once
	external     *externalwait.Waiter
}

// newOrdered returns an orderedStrategy, and builds the objects of the deployment graph.
func newOrdered(r *Run) (*orderedStrategy, error) {
	built, err := apply.BuildObjects(apply.GraphObjectsConfig{
		Cluster: r.op.Cluster, Plan: r.plan, Owner: r.owner(), Validate: r.options.Validate, PendingKinds: r.options.PendingKinds,
	})
	if err != nil {
		return nil, err
	}
	o := &orderedStrategy{
		run: r, graph: built, applier: r.newApplier(built.All(), r.earlierJobs(built)), chartWaits: newChartWaits(r),
	}
	config := wait.NodeWaiterConfig{
		Plan: r.plan, Timeouts: r.op.Timeouts, Jobs: r.options.Jobs, Namespace: r.Release().Namespace, Deadline: r.op.Deadline(),
		Restarted: o.applier.Restarted, IsUnchanged: o.applier.IsUnchanged,
		Done: func(n *sequencer.Node) { r.writer.Progress.NodeDone(n.ID()) },
	}
	if r.options.SkipEndedJobs {
		config.HasEnded = o.applier.HasEnded
	}
	o.waiter = r.op.Waiter.NewNodeWaiter(config)
	return o, nil
}

// earlierJobs returns the Deferrer that keeps the Jobs of the new revision from running at the
// same time as those of earlier revisions; nil if there are no earlier revisions.
func (r *Run) earlierJobs(built *apply.GraphObjects) apply.Deferrer {
	if !r.guardsJobs() {
		return nil
	}
	return earlierjobs.New(earlierjobs.Config{
		Cluster: r.op.Cluster, Pods: r.op.JobPods(), Writer: r.op.Writer, Waiter: r.op.Waiter, Events: r.op.Events,
		Inventory: r.inventory, Plan: r.plan, InfoOf: built.InfoOf, Namespace: r.Release().Namespace, Deadline: r.op.Deadline(),
		Stop: r.options.StopEarlierJobs, Spared: r.options.Spared,
	})
}

// guardsJobs reports whether Jobs of earlier revisions may still run, and are taken into
// account.
func (r *Run) guardsJobs() bool { return r.IsOrdered() && r.inventory != nil && !r.op.Delegates() }

func (o *orderedStrategy) objects() objectsToApply {
	return objectsToApply{o.applier, o.graph.All(), o.graph.Skipped()}
}

func (o *orderedStrategy) built() kube.ResourceList {
	return withSkipped(o.graph.Built(), o.graph.Skipped())
}

func (o *orderedStrategy) resetProgress() error {
	return o.run.writer.Progress.Reset(len(o.run.plan.Nodes), false)
}

// checkBeforeCRDs makes those checks of an ordered deployment that are possible before the
// CRDs of the release are installed. If it cannot build the objects, it skips the checks
// that need them, because these CRDs may define their kinds.
func checkBeforeCRDs(ctx context.Context, r *Run) error {
	if err := errors.Join(apply.CheckTimeouts(r.plan, r.op.Timeouts.Operation), apply.CheckNeeds(ctx, r.op.Cluster, r.plan)); err != nil {
		return err
	}
	o, err := newOrdered(r)
	if err != nil {
		return nil //nolint:nilerr // some kinds are defined by the CRDs that are about to be installed
	}
	if err := r.conflict(o.applier.FindExisting(ctx, o.applier.NeverDeployed(o.graph.All()))); err != nil {
		return err
	}
	return o.checkPermissions(ctx)
}

func (o *orderedStrategy) check(ctx context.Context) error {
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

func (o *orderedStrategy) checkPermissions(ctx context.Context) error {
	return o.applier.CheckPermissions(ctx, o.graph.All(), o.obsolete())
}

// obsolete returns the objects that pruning would delete according to the manifests. Objects
// in the cluster can also have a resource policy that keeps them.
func (o *orderedStrategy) obsolete() kube.ResourceList {
	r := o.run
	if r.inventory == nil {
		return nil
	}
	policies := r.inventory.Policies()
	var list kube.ResourceList
	for _, info := range r.inventory.Without(o.objects().declared()) {
		if id := object.IDOf(info); !object.PolicyKeeps(policies[id]) && !r.options.Spared[id] {
			list = append(list, info)
		}
	}
	return list
}

func (o *orderedStrategy) announce() {
	plan := o.run.plan
	o.run.emit(event.Event{Type: event.Planned, Message: "deploying " + apply.PlanSize(plan), Nodes: event.PlannedNodes(plan)})
}

func (o *orderedStrategy) steps() []step { return []step{{Applying, o.applyAll}, {Pruning, o.prune}} }

// applyAll applies all nodes, and waits until they are ready.
func (o *orderedStrategy) applyAll(ctx context.Context) error {
	if err := execute.Plan(ctx, o.run.plan, o.visit); err != nil {
		var execution *execute.Error
		if !errors.As(err, &execution) {
			return err
		}
		return o.waiter.DeployError(ctx, execution)
	}
	if err := o.waiter.AwaitLeaves(ctx, o.graph.All()); err != nil {
		return err
	}
	return o.run.awaitHandlers(ctx)
}

func (o *orderedStrategy) prune(ctx context.Context) error {
	if p := o.pruner(); p != nil {
		return o.run.prune(ctx, p, o.built())
	}
	return nil
}

// visit deploys a node or runs a step. after is the dependency of v that finished last; nil if v has no
// dependencies.
func (o *orderedStrategy) visit(ctx context.Context, v, after sequencer.Vertex) error {
	if s, isStep := v.(*sequencer.Step); isStep {
		return o.runStep(ctx, s)
	}
	return o.deployNode(ctx, v.(*sequencer.Node), after)
}

// deployNode applies node n, and waits until it is ready if other nodes or steps depend on it. after
// is the dependency of n that finished last; nil if n has no dependencies.
func (o *orderedStrategy) deployNode(ctx context.Context, n *sequencer.Node, after sequencer.Vertex) error {
	r := o.run
	if err := o.waiter.CheckLeaves(); err != nil {
		return err // a node without dependents has failed in the background
	}
	started := event.Event{Type: event.NodeStarted, Node: n.ID(), Message: object.SummarizeResources(n.Resources)}
	if after != nil {
		started.After = after.ID()
	}
	r.emit(started)
	r.writer.Progress.NodeStarted(n.ID())
	inBackground, err := o.applyAndAwait(ctx, n)
	if err != nil {
		o.waiter.RecordFailure()
		var failures failure.Resources
		if _, unfinished := errors.AsType[*wait.UnfinishedError](err); !unfinished && !errors.As(err, &failures) {
			err = apply.Failures(ctx, n, err, r.Release().Namespace, r.op.Events)
		}
		r.emit(event.Event{Type: event.NodeFailed, Node: n.ID(), Err: err, Message: err.Error()})
		return err
	}
	if !inBackground { // otherwise the waiter records this when the node becomes ready
		r.emit(event.Event{Type: event.NodeReady, Node: n.ID()})
		r.writer.Progress.NodeDone(n.ID())
	}
	return nil
}

// applyAndAwait applies a node, and waits until it is ready. If no other node depends on it,
// the wait may continue in the background; inBackground reports whether it does.
func (o *orderedStrategy) applyAndAwait(ctx context.Context, n *sequencer.Node) (inBackground bool, err error) {
	summary, err := o.apply(ctx, n)
	if err != nil {
		return false, err
	}
	o.run.emit(event.Event{Type: event.NodeApplied, Node: n.ID(), Message: summary})
	if n.Awaited || n.AwaitedByStep {
		if err := o.waiter.Await(ctx, n); err != nil {
			return false, err
		}
		return false, o.chartWaits.await(ctx, n)
	}
	return o.waiter.AwaitLeaf(ctx, n), nil
}

// apply builds the objects of a node whose kinds were not known before, starts to watch the
// objects of the node, and writes them. The summary says how many objects were created,
// changed and left unchanged.
func (o *orderedStrategy) apply(ctx context.Context, n *sequencer.Node) (summary string, err error) {
	err = o.graph.BuildLate(ctx, n, func(list kube.ResourceList) error {
		return o.applier.FindExisting(ctx, o.applier.NeverDeployed(list))
	})
	if err != nil {
		return "", err
	}
	list := o.graph.OfNode(n)
	if err := o.waiter.Follow(ctx, n, list); err != nil {
		return "", err
	}
	result, err := o.applier.ApplyNode(ctx, list)
	if err != nil {
		return "", err
	}
	if len(result.DeletedPods) > 0 {
		if err := o.waiter.AwaitPodsGone(ctx, result.DeletedPods); err != nil {
			return "", err
		}
	}
	return result.Summary, o.waiter.Applied(n, result.States)
}

func (o *orderedStrategy) cause(_ context.Context, err error) error { return err }

// deleteCreated deletes the created objects in the reverse order of the deployment graph.
func (o *orderedStrategy) deleteCreated(ctx context.Context, cleanup *operation.Operation, created kube.ResourceList, err error) error {
	rel := o.run.Release()
	cleanup.Events.Warnf("--cleanup-on-fail: deleting the resources created by failed revision %d of release %s; cause of the failure: %s",
		rel.Version, rel.Name, failure.Description(err))
	byID := object.ByID(created)
	deletion := &prune.OrderedDeletion{
		Cluster: cleanup.Cluster, Writer: cleanup.Writer, Waiter: cleanup.Waiter, Events: cleanup.Events, Namespace: rel.Namespace,
		Propagation: metav1.DeletePropagationBackground, InfoOf: o.graph.InfoOf, Partial: true,
		Removal: removal.OrderOf([]*sequencer.Plan{o.run.plan}, func(res *sequencer.PlannedResource) (sequencer.ID, bool) {
			info := o.graph.InfoOf(res)
			if info == nil || !slices.Contains(created, info) {
				return sequencer.ID{}, false
			}
			return object.IDOf(info), true
		}),
		WhyKeep: func(live *unstructured.Unstructured) string {
			return o.applier.WhyNotCreated(byID[object.LiveID(live)], live)
		},
	}
	cleanup.Events.Emit(event.Event{
		Type: event.Removing, Message: "deleting created resources: " + text.Count(len(created), "resource"), Nodes: event.RemovedNodes(deletion.Removal),
	})
	return deletion.Run(ctx)
}

func (o *orderedStrategy) dryRun(ctx context.Context) ([]objectwriter.DryRunResult, error) {
	return o.applier.DryRunNodes(ctx, o.graph.All())
}

func (o *orderedStrategy) nodes() []NodeObjects {
	var nodes []NodeObjects
	for _, n := range o.run.plan.Nodes {
		nodes = append(nodes, NodeObjects{Node: n.ID(), List: o.graph.OfNode(n), Resources: n.Resources})
	}
	return nodes
}

func (o *orderedStrategy) pruner() pruner {
	if o.run.inventory == nil {
		return nil
	}
	return &orderedPruner{run: o.run}
}

func (o *orderedStrategy) close() {
	o.closeExternal()
	o.waiter.Close()
}
