// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"

	"github.com/ordered-helm/helm/internal/hooks"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// runStep waits for external dependencies, or runs the hooks of a chart.
func (o *orderedStrategy) runStep(ctx context.Context, s *sequencer.Step) error {
	if err := o.waiter.CheckLeaves(); err != nil {
		return err // a node without dependents has failed in the background
	}
	if len(s.External) > 0 {
		return o.awaitExternal(ctx, s)
	}
	return o.runChartHooks(ctx, s)
}

// runChartHooks runs the hooks of a chart.
func (o *orderedStrategy) runChartHooks(ctx context.Context, s *sequencer.Step) error {
	r := o.run
	if r.options.Hooks.Limit > 0 {
		o.hookSteps.Lock()
		defer o.hookSteps.Unlock()
	}
	err := r.op.Hooks(r.hooksOf(s.Chart)).Run(ctx, r.writer, s.HookEvent)
	if err == nil {
		return context.Cause(ctx)
	}
	if cause := hooks.StoppedBy(ctx, err); cause != nil {
		return cause
	}
	o.waiter.RecordFailure()
	return hooks.StepError(s, err)
}

// hooksOf returns the options for the hooks whose scope is the chart with the path scope, or those that run before
// and after everything in the release if scope is empty.
func (r *Run) hooksOf(scope string) hooks.Options { return r.options.Hooks.OfScope(r.plan, scope) }
