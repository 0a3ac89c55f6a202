// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookrunner

import (
	"context"
	"slices"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/release"
)

// cleanUpTimeout is how long requests of the cleanup can still be sent after the operation
// was cancelled or timed out.
const cleanUpTimeout = 10 * time.Second

// withGracePeriod returns a context that ends the given time after ctx, with the same
// cause. The caller must call the returned function.
func withGracePeriod(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	over := time.AfterFunc(by, func() { cancel(context.Cause(ctx)) })
	over.Stop()
	stop := context.AfterFunc(ctx, func() { over.Reset(by) })
	return longer, func() {
		stop()
		over.Stop()
		cancel(nil)
	}
}

// cleanUpAsHelm reads the logs of completed hooks and deletes the hooks, according to their
// policies, in the way Helm does. It is for hooks that ran in Helm's order. failure is the
// result of the run, or nil if all hooks completed. After a failure it deletes the hooks
// that completed before the failed one, starting with the first, without reading logs. If a
// hook could not be created, it deletes nothing. If all hooks completed, it deletes them,
// starting with the last, until one cannot be deleted.
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

// cleanUpAll reads the logs of completed hooks and deletes the hooks, according to their
// policies. It is for hooks of which some ran in parallel. It begins with the last stage.
// In each stage it reads the logs one after the other, and then deletes the hooks of
// different chains in parallel. It returns the hooks that could not be deleted.
func (r *run) cleanUpAll(ctx context.Context) []Failure {
	var failed []Failure
	for _, b := range slices.Backward(r.buckets) {
		for _, s := range slices.Backward(b.Stages) {
			failed = append(failed, r.cleanUpStage(ctx, s)...)
		}
	}
	return failed
}

// completedHooks returns the hooks of a chain that completed, the last one first. A hook
// that ran twice occurs once.
func (r *run) completedHooks(c Chain) []*release.Hook {
	var hooks []*release.Hook
	for _, h := range slices.Backward(c) {
		if r.completed[h] && !slices.Contains(hooks, h) {
			hooks = append(hooks, h)
		}
	}
	return hooks
}

func (r *run) cleanUpStage(ctx context.Context, s Stage) []Failure {
	for _, c := range slices.Backward(s.Chains) {
		for _, h := range r.completedHooks(c) {
			if err := r.Logs(ctx, h, release.HookOutputOnSucceeded); err != nil {
				r.Warn(h, err)
			}
		}
	}
	var mu sync.Mutex
	var failed []Failure
	backward := slices.Clone(s.Chains)
	slices.Reverse(backward)
	r.inParallel(backward, func(c Chain) {
		for _, h := range r.completedHooks(c) {
			if err := r.Delete(ctx, h, release.HookSucceeded); err != nil {
				mu.Lock()
				failed = append(failed, Failure{Hook: h, Err: err, Created: true})
				mu.Unlock()
			}
		}
	})
	place := slices.Concat(s.Chains...)
	slices.SortStableFunc(failed, func(a, b Failure) int { return slices.Index(place, a.Hook) - slices.Index(place, b.Hook) })
	return failed
}
