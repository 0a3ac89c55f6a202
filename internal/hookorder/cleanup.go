// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder

import (
	"context"
	"slices"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/release"
)

// cleanUpTimeout is how long the cleanup can still send requests after the operation was
// canceled or timed out.
const cleanUpTimeout = 10 * time.Second

// withGracePeriod returns a context that ends when period has passed after the end of ctx,
// with the same cause. The caller must call the returned function.
func withGracePeriod(ctx context.Context, period time.Duration) (context.Context, context.CancelFunc) {
	extended, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	timer := time.AfterFunc(period, func() { cancel(context.Cause(ctx)) })
	timer.Stop()
	stop := context.AfterFunc(ctx, func() { timer.Reset(period) })
	return extended, func() {
		stop()
		timer.Stop()
		cancel(nil)
	}
}

// cleanUpAsHelm cleans up hooks that ran in Helm's order, in the way Helm does. It prints
// the logs of hooks and deletes hooks if their policies say so. failure is the result of
// the run, or nil if all hooks completed.
//
// If all hooks completed, cleanUpAsHelm prints the logs of each hook and then deletes it,
// starting with the last hook, until one cannot be deleted. If a hook failed, it deletes
// the hooks that completed before, starting with the first, and prints no logs. If a hook
// could not be created, it deletes nothing.
func (r *run) cleanUpAsHelm(ctx context.Context, failure *RunError) error {
	var all Chain
	for _, b := range r.buckets {
		all = append(all, b.Hooks()...)
	}
	if failure != nil {
		if len(failure.Failed) > 0 && !failure.Failed[0].Created {
			return failure
		}
		for _, h := range all[:r.completions] {
			if err := r.Delete(ctx, h, release.HookSucceeded); err != nil {
				r.Warn(h, err)
			}
		}
		return failure
	}
	for _, h := range slices.Backward(all) {
		if err := r.Logs(ctx, h, release.HookOutputOnSucceeded); err != nil {
			r.Warn(h, err)
		}
		if err := r.Delete(ctx, h, release.HookSucceeded); err != nil {
			return err
		}
	}
	return nil
}

// cleanUpAll cleans up hooks of which some ran in parallel. It prints the logs of
// completed hooks and deletes these hooks if their policies say so. It begins with the
// last stage. In each stage, it first prints all logs sequentially, and then deletes the
// hooks of different chains in parallel. It returns the hooks that could not be deleted.
func (r *run) cleanUpAll(ctx context.Context) []HookFailure {
	var failed []HookFailure
	for _, b := range slices.Backward(r.buckets) {
		for _, s := range slices.Backward(b.Stages) {
			failed = append(failed, r.cleanUpStage(ctx, s)...)
		}
	}
	return failed
}

// completedHooks returns the hooks of a chain that completed, the last one first. A hook
// that ran twice is returned once.
func (r *run) completedHooks(c Chain) []*release.Hook {
	var hooks []*release.Hook
	for _, h := range slices.Backward(c) {
		if r.completed[h] && !slices.Contains(hooks, h) {
			hooks = append(hooks, h)
		}
	}
	return hooks
}

func (r *run) cleanUpStage(ctx context.Context, s Stage) []HookFailure {
	for _, c := range slices.Backward(s.Chains) {
		for _, h := range r.completedHooks(c) {
			if err := r.Logs(ctx, h, release.HookOutputOnSucceeded); err != nil {
				r.Warn(h, err)
			}
		}
	}
	var mu sync.Mutex
	var failed []HookFailure
	backward := slices.Clone(s.Chains)
	slices.Reverse(backward)
	r.inParallel(backward, func(c Chain) {
		for _, h := range r.completedHooks(c) {
			if err := r.Delete(ctx, h, release.HookSucceeded); err != nil {
				mu.Lock()
				failed = append(failed, HookFailure{Hook: h, Err: err, Created: true})
				mu.Unlock()
			}
		}
	})
	place := slices.Concat(s.Chains...)
	slices.SortStableFunc(failed, func(a, b HookFailure) int { return slices.Index(place, a.Hook) - slices.Index(place, b.Hook) })
	return failed
}
