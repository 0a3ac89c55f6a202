// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/execute"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/waitlimit"
	"github.com/ordered-helm/helm/internal/watcher"
)

// failures returns a failure, with its causes, for each object of list that did not become
// ready. Objects for which the operation stopped waiting only because another object failed
// might still have become ready: failures returns only their names, as unfinished.
func (w *watchingNodeWaiter) failures(ctx context.Context, list []*objectState) (failures failure.Resources, unfinished []string) {
	var reports []watcher.Report
	for _, o := range list {
		if o.err == nil {
			continue
		}
		if o.isUnfinished(ctx) {
			unfinished = append(unfinished, o.resource.ID.String())
			continue
		}
		f := failure.FromReport(o.report, o.err, o.waited)
		f.File, f.Node, f.Title = o.resource.File, o.node.ID(), o.node.Title()
		f.SetReleaseNamespace(w.Namespace)
		f.Unchanged = w.IsUnchanged(o.info)
		w.setOutcome(f, o, context.Cause(ctx))
		failures = append(failures, f)
		reports = append(reports, o.report)
	}
	w.explainer.Explain(failures, reports)
	return failures, unfinished
}

// setOutcome sets f.Outcome, which says how the wait for the object ended, and f.Remedy,
// which tells the user what to do, for example how to allow more time. cause says why the
// operation ended; it is nil if the operation is still running.
func (w *watchingNodeWaiter) setOutcome(f *failure.Resource, o *objectState, cause error) {
	var operation *failure.TimeoutError
	switch {
	case o.report.Status.State == readiness.Failed, o.report.Forbidden != nil:
	case o.report.TimedOut != nil:
		f.Outcome = "was " + o.report.TimedOut.Error()
		if _, stoodStill := errors.AsType[*waitlimit.StandstillError](o.report.TimedOut); stoodStill {
			f.Outcome = o.report.TimedOut.Error()
		}
		f.Remedy = w.remedy(o.node, o.resource)
	case errors.As(cause, &operation):
		f.Outcome = fmt.Sprintf("was not ready when the operation timed out after %s", operation.Limit)
		f.Remedy = "to allow more time, increase --timeout"
	case errors.Is(cause, context.Canceled):
		f.Outcome = "was not ready when the operation was cancelled"
	}
	if o.report.Deleted {
		f.Remedy = ""
	}
	if f.Unchanged {
		f.Remedy = strings.TrimPrefix(f.Remedy+"; ", "; ") +
			"not changed by this operation; to deploy without waiting for it, use --wait=false"
	}
}

// remedy tells the user how to increase the timeout of res, a resource of the node n: with an
// annotation or a flag.
func (w *watchingNodeWaiter) remedy(n *sequencer.Node, res *sequencer.PlannedResource) string {
	flag := "increase --readiness-timeout"
	if w.Timeouts.Readiness == 0 {
		flag = "use --readiness-timeout"
	}
	advice := "set the annotation " + annotation.ReadinessTimeout + ", or " + flag
	if !w.Plan.IsSequenced(n.Chart) {
		advice = fmt.Sprintf("%s (annotations are ignored, because chart %s does not enable its order)", flag, n.Chart)
	}
	if res.Timeout > 0 {
		advice = "increase " + annotation.ReadinessTimeout
	}
	timeout := res.Timeout
	if n.Awaited {
		timeout = cmp.Or(timeout, w.Timeouts.Readiness, w.Timeouts.Standstill)
	}
	if timeout == w.Timeouts.Operation {
		advice = "increase --timeout, and " + advice
	}
	return "to allow more time, " + advice
}

// DeployError implements NodeWaiter. The result includes the failures of leaves.
func (w *watchingNodeWaiter) DeployError(ctx context.Context, err *execute.Error) *failure.DeployError {
	e := newDeployError(ctx, w.Plan, err)
	w.leaves.stop(waitlimit.ErrOtherFailure)
	leaves, unfinished := w.failures(ctx, w.leafObjects())
	e.Resources, e.Unfinished = append(e.Resources, leaves...), append(w.unfinishedWithDependents(ctx), unfinished...)
	sortByNode(w.Plan, e.Resources)
	return e
}

// unfinishedWithDependents returns the names of the unfinished resources of all nodes that have
// dependents.
func (w *watchingNodeWaiter) unfinishedWithDependents(ctx context.Context) []string {
	var unfinished []string
	for _, n := range w.Plan.Nodes {
		for _, o := range w.states[n].objects {
			if (n.Awaited || n.AwaitedByStep) && o.isUnfinished(ctx) {
				unfinished = append(unfinished, o.resource.ID.String())
			}
		}
	}
	return unfinished
}

// UnfinishedError is the error of NodeWaiter.Await if the wait for the node ended only because
// another resource had failed.
type UnfinishedError struct{}

func (*UnfinishedError) Error() string { return "not ready yet when another resource failed" }

// newDeployError returns an error that contains the failures of the nodes in err.Failed, and
// the IDs of the nodes and steps that were skipped because of these failures, in the order of plan.
func newDeployError(ctx context.Context, plan *sequencer.Plan, err *execute.Error) *failure.DeployError {
	e := &failure.DeployError{Cause: context.Cause(ctx)}
	notStarted := err.NotStarted
	var hooks []string
	for _, failed := range err.Failed {
		var found failure.Resources
		var hook *failure.HookError
		_, unfinished := errors.AsType[*UnfinishedError](failed.Err)
		switch {
		case errors.As(failed.Err, &hook):
			e.Resources = append(e.Resources, hook.Hooks...)
			hooks = append(hooks, hook.NeverStarted...)
		case errors.As(failed.Err, &found):
			e.Resources = append(e.Resources, found...)
		case !unfinished: // the node was not started because a leaf failed (waitlimit.ErrOtherFailure)
			notStarted = append(notStarted, failed.Vertex)
		}
	}
	for _, v := range plan.Vertices() {
		if slices.Contains(notStarted, v) {
			e.NeverStarted = append(e.NeverStarted, v.ID())
		}
	}
	for _, name := range hooks {
		e.NeverStarted = append(e.NeverStarted, "hook "+name)
	}
	sortByNode(plan, e.Resources)
	return e
}

// sortByNode sorts failures by the positions of their nodes in plan.Nodes.
func sortByNode(plan *sequencer.Plan, list []*failure.Resource) {
	position := map[string]int{}
	for i, v := range plan.Vertices() {
		position[v.ID()] = i
	}
	slices.SortStableFunc(list, func(a, b *failure.Resource) int { return position[a.Node] - position[b.Node] })
}
