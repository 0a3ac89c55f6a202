// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/go-multierror"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/watcher"
)

// failures says of what was waited for in vain why it was not ready. What was
// only given up because of other failures is listed apart.
func (r *rollout) failures(ctx context.Context, list []*await) (failures resourceFailures, unfinished []string) {
	var reports []watcher.Report
	for _, a := range list {
		if a.err == nil {
			continue
		}
		final := a.report.Status.State == readiness.Failed || a.report.TimedOutAfter > 0 || a.report.Forbidden != nil
		if !final && ctx.Err() == nil && errors.Is(a.err, errElsewhere) {
			unfinished = append(unfinished, a.resource.ID.String())
			continue
		}
		f := failureOf(a.report, a.err, a.waited)
		f.File, f.Node, f.Title = a.resource.File, a.node.ID(), a.node.Title()
		f.foreign = f.Namespace != "" && f.Namespace != r.namespace
		f.Unchanged = r.isUnchanged(a.info)
		r.conclude(f, a, context.Cause(ctx))
		failures = append(failures, f)
		reports = append(reports, a.report)
	}
	r.explain.explain(failures, reports)
	return failures, unfinished
}

// conclude says how the waiting for a resource ended, and what would have given
// it more time. The cause is why the operation ended, if it did.
func (r *rollout) conclude(f *ResourceFailure, a *await, cause error) {
	var operation *timeoutError
	switch {
	case a.report.Status.State == readiness.Failed, a.report.Forbidden != nil:
	case a.report.TimedOutAfter > 0:
		f.ending = fmt.Sprintf("was not ready within %s", a.report.TimedOutAfter)
		f.Remedy = r.remedy(a.node, a.resource)
	case errors.As(cause, &operation):
		f.ending = fmt.Sprintf("was not ready when the time of the operation, %s, was over", operation.limit)
		f.Remedy = "if it only needs more time, raise --timeout"
	case errors.Is(cause, context.Canceled):
		f.ending = "was not ready when the operation was cancelled"
	}
	if a.report.Deleted {
		f.Remedy = ""
	}
	if f.Unchanged {
		f.Remedy = strings.TrimPrefix(f.Remedy+"; ", "; ") +
			"this operation did not change it: with --wait=false everything is applied at once, without waiting for it"
	}
}

func (r *rollout) remedy(n *sequencer.Node, res *sequencer.PlannedResource) string {
	text := "annotate it with " + annotation.ReadinessTimeout + ", or raise --readiness-timeout"
	if res.Timeout > 0 {
		text = "raise its annotation " + annotation.ReadinessTimeout
	}
	if r.within(n, res) == r.limits.operation {
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
		if errors.As(failed.Err, &found) {
			e.Resources = append(e.Resources, found...)
		} else { // errElsewhere
			notStarted = append(notStarted, failed.Node)
		}
	}
	r.resting.stop(errElsewhere)
	rest, unfinished := r.failures(ctx, r.rest())
	e.Resources, e.Unfinished = append(e.Resources, rest...), unfinished
	r.inOrder(e, notStarted)
	return e
}

// notApplied are the failures of a node of which not everything was applied: one
// for each resource that an answer of the server names.
func (r *rollout) notApplied(ctx context.Context, n *sequencer.Node, err error) resourceFailures {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		f := &ResourceFailure{Node: n.ID(), Title: n.Title(), State: NotApplied, Err: err}
		f.cutOff(context.Cause(ctx), "applied")
		return resourceFailures{f}
	}
	var failures resourceFailures
	for _, refusal := range refusals(n, err) {
		f := &ResourceFailure{
			Node: n.ID(), Title: n.Title(), State: NotApplied, Reason: NotApplied,
			Message: oneLine(refusal.answer.Error()), Err: refusal.answer, ending: "could not be applied",
		}
		if res := refusal.resource; res != nil {
			f.Resource, f.Namespace, f.File = res.ID.String(), res.ID.Namespace, res.File
			f.foreign = f.Namespace != "" && f.Namespace != r.namespace
		}
		failures = append(failures, f)
	}
	slices.SortStableFunc(failures, func(a, b *ResourceFailure) int { return cmp.Compare(a.Resource, b.Resource) })
	concealFailures(r.events.masker, failures) // before a summary cuts them off
	return failures
}

// refusal is an answer of the server to the writing of a resource, which is nil
// where the answer does not tell it.
type refusal struct {
	resource *sequencer.PlannedResource
	answer   error
}

// refusals takes apart what was answered to the writing of a node.
func refusals(n *sequencer.Node, err error) []refusal {
	var list []refusal
	var applied *cluster.ApplyError
	if errors.As(err, &applied) {
		for _, failure := range applied.Failures {
			id := idOf(failure.Info)
			i := slices.IndexFunc(n.Resources, func(res *sequencer.PlannedResource) bool {
				return res.ID.Kind == id.Kind && res.ID.Group == id.Group && res.ID.Name == id.Name &&
					(id.Namespace == "" || res.ID.Namespace == id.Namespace)
			})
			r := refusal{answer: failure.Err}
			if i >= 0 {
				r.resource = n.Resources[i]
			}
			list = append(list, r)
		}
		return list
	}
	answers := []error{err}
	var several *multierror.Error
	if errors.As(err, &several) {
		answers = several.Errors
	}
	var refused *refusedError
	errors.As(err, &refused)
	for _, answer := range answers {
		list = append(list, refusal{resource: refused.find(n, answer, len(answers)), answer: answer})
	}
	return list
}

// find tells which resource of a node an answer is about: the only one, or the
// one that it names.
func (e *refusedError) find(n *sequencer.Node, answer error, answers int) *sequencer.PlannedResource {
	var candidates []*sequencer.PlannedResource
	for _, res := range n.Resources {
		if e == nil || slices.Contains(e.resources, res.ID.String()) {
			candidates = append(candidates, res)
		}
	}
	if len(candidates) == 1 && answers == 1 {
		return candidates[0]
	}
	var named *sequencer.PlannedResource
	for _, res := range candidates {
		if strings.Contains(answer.Error(), strconv.Quote(res.ID.Name)) {
			if named != nil {
				return nil // two of one name: the answer does not tell
			}
			named = res
		}
	}
	return named
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
		if !r.slices[n].applied.IsZero() {
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
