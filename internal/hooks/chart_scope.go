// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"errors"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// OfScope returns o for those hooks whose scope is the chart with the path scope, or those that run before and
// after everything in the release if scope is empty. plan can be nil.
func (o Options) OfScope(plan *sequencer.Plan, scope string) Options {
	if plan == nil || len(plan.Steps) == 0 {
		return o
	}
	isSelected, chartOf := o.Filter, o.Modes.ChartOf
	o.Filter = func(h *release.Hook) bool {
		return plan.HookScope(chartOf(h)) == scope && (isSelected == nil || isSelected(h))
	}
	return o
}

// StoppedBy returns the cause of the cancellation of ctx if err, the error of hooks, is only that; otherwise nil. If the
// operation timed out, err says for which hook it waited.
func StoppedBy(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if _, isTimeout := errors.AsType[*failure.TimeoutError](cause); cause == nil || isTimeout || !errors.Is(err, cause) {
		return nil
	}
	return cause
}

// StepError returns the error of a step whose hooks failed with err: a *failure.HookError whose hooks name the
// step, or a failure.Resources.
func StepError(s *sequencer.Step, err error) error {
	if hook, is := errors.AsType[*failure.HookError](err); is {
		for _, f := range hook.Hooks {
			f.Node, f.Title = s.ID(), s.Title()
		}
		return hook
	}
	return failure.Resources{{
		Node: s.ID(), Title: s.Title(), State: string(readiness.Failed), Reason: "HookFailed", Message: err.Error(), Err: err, Outcome: "failed",
	}}
}
