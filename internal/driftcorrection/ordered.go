// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package driftcorrection

import (
	"context"
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/apply"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/execute"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/wait"
)

// runOrdered corrects the drift of a release that was deployed in order: in the order of the
// part of its deployment graph whose objects have drifted.
func (c *correction) runOrdered(ctx context.Context) error {
	var contents []map[string]any
	for _, n := range c.plan.Nodes {
		for _, res := range n.Resources {
			contents = append(contents, res.Object())
		}
	}
	c.redactSecrets(contents)
	declared, err := c.buildObjects(c.plan)
	if err != nil {
		return err
	}
	drifted, err := c.findDrift(ctx, declared.All())
	if err != nil {
		return err
	}
	isDrifted := make(map[*object.Info]bool, len(drifted))
	for _, info := range drifted {
		isDrifted[info] = true
	}
	driftedPlan := c.plan.Part(func(res *sequencer.PlannedResource) bool {
		info := declared.InfoOf(res) // nil if the kind is gone, and with it the object
		return info == nil || isDrifted[info]
	})
	if len(driftedPlan.Nodes) == 0 {
		return nil
	}
	objects, err := c.buildObjects(driftedPlan)
	if err != nil {
		return err
	}
	return c.newOrderedCorrection(driftedPlan, objects).run(ctx)
}

// buildObjects builds the objects of a deployment graph.
func (c *correction) buildObjects(plan *sequencer.Plan) (*apply.GraphObjects, error) {
	built, err := apply.BuildObjects(apply.GraphObjectsConfig{Cluster: c.op.Cluster, Plan: plan, Owner: c.owner()})
	if err != nil {
		return nil, fmt.Errorf("unable to build kubernetes objects from the manifest of the release: %w", err)
	}
	return built, nil
}

// orderedCorrection re-applies the drifted objects of a release in order.
type orderedCorrection struct {
	*correction
	// driftedPlan is the part of the deployment graph with the drifted objects, which are in
	// objects.
	driftedPlan *sequencer.Plan
	objects     *apply.GraphObjects
	waiter      wait.NodeWaiter
}

func (c *correction) newOrderedCorrection(driftedPlan *sequencer.Plan, objects *apply.GraphObjects) *orderedCorrection {
	return &orderedCorrection{correction: c, driftedPlan: driftedPlan, objects: objects, waiter: c.op.Waiter.NewNodeWaiter(wait.NodeWaiterConfig{
		Plan: driftedPlan, Timeouts: c.op.Timeouts, Jobs: !c.record.IgnoreJobs, Namespace: c.rel.Namespace, Deadline: c.op.Deadline(),
		HasEnded: hasEnded, IsUnchanged: func(*object.Info) bool { return false }, Done: func(*sequencer.Node) {},
	})}
}

// hasEnded reports whether an object is a Job that had already ended when it was changed.
func hasEnded(info, live *object.Info) bool {
	job, ok := live.Object.(*unstructured.Unstructured)
	return ok && object.IsJob(info) && readiness.ComputeCompletion(job).State != readiness.InProgress
}

func (o *orderedCorrection) run(ctx context.Context) error {
	defer o.waiter.Close()
	o.op.Events.Emit(event.Event{Type: event.Planned, Message: "re-applying " + apply.PlanSize(o.driftedPlan), Nodes: event.PlannedNodes(o.driftedPlan)})
	err := execute.Plan(ctx, o.driftedPlan, func(ctx context.Context, v, after sequencer.Vertex) error {
		return o.correctNode(ctx, v.(*sequencer.Node), after) // a part of a plan has no steps
	})
	if err != nil {
		execution, ok := errors.AsType[*execute.Error](err)
		if !ok {
			return err
		}
		return o.waiter.DeployError(ctx, execution)
	}
	return o.waiter.AwaitLeaves(ctx, o.objects.All())
}

// correctNode re-applies the drifted objects of node n, and waits until they are ready if other
// nodes depend on them. after is the dependency of n that became ready last; nil if n has none.
func (o *orderedCorrection) correctNode(ctx context.Context, n *sequencer.Node, after sequencer.Vertex) error {
	if err := o.waiter.CheckLeaves(); err != nil {
		return err // a node without dependents has failed in the background
	}
	started := event.Event{Type: event.NodeStarted, Node: n.ID(), Message: object.SummarizeResources(n.Resources)}
	if after != nil {
		started.After = after.ID()
	}
	o.op.Events.Emit(started)
	inBackground, err := o.applyAndAwait(ctx, n)
	if err != nil {
		o.waiter.RecordFailure()
		if _, unfinished := errors.AsType[*wait.UnfinishedError](err); !unfinished && !isDescribed(err) {
			err = apply.Failures(ctx, n, err, o.rel.Namespace, o.op.Events)
		}
		o.op.Events.Emit(event.Event{Type: event.NodeFailed, Node: n.ID(), Err: err, Message: err.Error()})
		return err
	}
	if !inBackground {
		o.op.Events.Emit(event.Event{Type: event.NodeReady, Node: n.ID()})
	}
	return nil
}

// isDescribed reports whether an error already describes resources.
func isDescribed(err error) bool {
	_, ok := errors.AsType[failure.Resources](err)
	return ok
}

// applyAndAwait re-applies the objects of a node, and waits until they are ready unless none of
// them had to be changed. If no other node depends on the node, it waits in the background;
// inBackground reports whether it does.
func (o *orderedCorrection) applyAndAwait(ctx context.Context, n *sequencer.Node) (inBackground bool, err error) {
	if err := o.objects.BuildLate(ctx, n, func(kube.ResourceList) error { return nil }); err != nil {
		return false, err
	}
	list := o.objects.OfNode(n)
	if err := o.waiter.Follow(ctx, n, list); err != nil {
		return false, err
	}
	done, err := o.apply(ctx, list)
	if err != nil {
		return false, err
	}
	o.op.Events.Emit(event.Event{Type: event.NodeApplied, Node: n.ID(), Message: done.Summary()})
	if err := o.waiter.Applied(n, done.States); err != nil || len(done.Created)+len(done.Updated) == 0 {
		return false, err
	}
	if n.Awaited {
		return false, o.waiter.Await(ctx, n)
	}
	return o.waiter.AwaitLeaf(ctx, n), nil
}
