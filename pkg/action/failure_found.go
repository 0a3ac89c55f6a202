// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/pkg/sequencer"
)

// failures says of what was waited for in vain why it was not ready. What was
// only given up because of other failures is listed apart.
func (r *rollout) failures(list []*await) (failures resourceFailures, unfinished []string) {
	var reports []readiness.Report
	for _, a := range list {
		if a.err == nil {
			continue
		}
		if a.report.Status.State != readiness.Failed && errors.Is(a.err, errElsewhere) {
			unfinished = append(unfinished, a.resource.ID.String())
			continue
		}
		f := failureOf(a.report, a.err, a.waited)
		f.File, f.Node, f.Title = a.resource.File, a.node.ID(), a.node.Title()
		r.conclude(f, a)
		failures = append(failures, f)
		reports = append(reports, a.report)
	}
	r.explain.explain(failures, reports)
	return failures, unfinished
}

// conclude says how the waiting for a resource ended, and what would have given
// it more time.
func (r *rollout) conclude(f *ResourceFailure, a *await) {
	var limit *readiness.TimeoutError
	var operation *timeoutError
	switch {
	case a.report.Status.State == readiness.Failed:
	case errors.As(a.err, &limit):
		f.ending = fmt.Sprintf("was not ready within %s", limit.Within)
		f.Remedy = r.remedy(a.resource)
	case errors.As(a.err, &operation):
		f.ending = fmt.Sprintf("was not ready when the time of the operation, %s, was over", operation.limit)
		f.Remedy = "if it only needs more time, raise --timeout"
	case errors.Is(a.err, context.Canceled):
		f.ending = "was not ready when the operation was cancelled"
	}
	if a.report.Deleted {
		f.Remedy = ""
	}
}

func (r *rollout) remedy(res *sequencer.PlannedResource) string {
	text := "annotate it with " + annotation.ReadinessTimeout + ", or raise --readiness-timeout"
	if res.Timeout > 0 {
		text = "raise its annotation " + annotation.ReadinessTimeout
	}
	if r.within(res) == r.limits.operation {
		text = "raise --timeout, and " + text
	}
	return "if it only needs more time, " + text
}

// failure turns what became of the nodes into the error of the operation.
func (r *rollout) failure(ctx context.Context, err error) error {
	var execution *sequencer.ExecutionError
	if !errors.As(err, &execution) {
		return err
	}
	if r.whole() { // without an order there is no node worth naming
		if len(execution.Failed) == 0 {
			return context.Cause(ctx)
		}
		return execution.Failed[0].Err
	}
	e := &DeployError{cause: context.Cause(ctx)}
	notStarted := execution.NotStarted
	for _, failed := range execution.Failed {
		var found resourceFailures
		switch {
		case errors.As(failed.Err, &found):
			e.Resources = append(e.Resources, found...)
		case errors.Is(failed.Err, errElsewhere), ctx.Err() != nil && errors.Is(failed.Err, ctx.Err()):
			notStarted = append(notStarted, failed.Node)
		default:
			e.Resources = append(e.Resources, notApplied(failed.Node, failed.Err))
		}
	}
	r.resting.stop(errElsewhere)
	rest, unfinished := r.failures(r.rest())
	e.Resources, e.Unfinished = append(e.Resources, rest...), unfinished
	r.inOrder(e, notStarted)
	return e
}

// notApplied is the failure of a node that the server did not accept.
func notApplied(n *sequencer.Node, err error) *ResourceFailure {
	f := &ResourceFailure{
		Node: n.ID(), Title: n.Title(), State: NotApplied, Reason: NotApplied,
		Message: err.Error(), Err: err, ending: "could not be applied",
	}
	only := ""
	var refused *refusedError
	if errors.As(err, &refused) && len(refused.resources) == 1 {
		only, f.Message = refused.resources[0], refused.err.Error()
	}
	for _, res := range n.Resources {
		if res.ID.String() == only || len(n.Resources) == 1 {
			f.Resource, f.Namespace, f.File = res.ID.String(), res.ID.Namespace, res.File
		}
	}
	return f
}

// inOrder puts everything into the order of the plan.
func (r *rollout) inOrder(e *DeployError, notStarted []*sequencer.Node) {
	place := map[string]int{}
	for i, n := range r.plan.Nodes {
		place[n.ID()] = i
		if slices.Contains(notStarted, n) {
			e.NeverStarted = append(e.NeverStarted, n.ID())
		}
	}
	slices.SortStableFunc(e.Resources, func(a, b *ResourceFailure) int { return place[a.Node] - place[b.Node] })
}

// later names the node of an object that the release deploys and has not
// written so far; it is empty for any other object.
func (r *rollout) later(kind schema.GroupKind, namespace, name string) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, n := range r.plan.Nodes {
		if r.written[n] {
			continue
		}
		for _, res := range n.Resources {
			if id := res.ID; id.Kind == kind.Kind && id.Group == kind.Group && id.Name == name && id.Namespace == namespace {
				return n.Title()
			}
		}
	}
	return ""
}

// wrote notes that all objects of a node are on the server.
func (r *rollout) wrote(n *sequencer.Node) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.written == nil {
		r.written = map[*sequencer.Node]bool{}
	}
	r.written[n] = true
}

// secrets lists what the Secrets of the plan hold.
func (r *rollout) secrets() []string {
	var objects []map[string]any
	var names []string
	for _, n := range r.plan.Nodes {
		for _, res := range n.Resources {
			objects, names = append(objects, res.Object()), append(names, res.ID.Name)
		}
	}
	return secretTexts(objects, names)
}
