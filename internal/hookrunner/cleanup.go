// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookrunner

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/release"
)

// cleanUpTimeout is how long cleaning up may take when nobody waits for it any more.
const cleanUpTimeout = 10 * time.Second

// withGracePeriod returns a context that ends, of itself, some time after ctx does.
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

// cleanUpAsHelm cleans up hooks that ran in Helm's order, in the ways of Helm:
// after a failure those before it from the first on, without their logs; after
// what could not be created nothing; else all, from the last on, until one cannot
// be deleted.
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

// cleanUpAll cleans up the hooks that have completed, the last stage first: their
// logs one after the other, then chain beside chain. It returns what failed.
func (r *run) cleanUpAll(ctx context.Context) []Failure {
	var failed []Failure
	for _, b := range slices.Backward(r.buckets) {
		for _, s := range slices.Backward(b.Stages) {
			failed = append(failed, r.cleanUpStage(ctx, s)...)
		}
	}
	return failed
}

// completedHooks lists the hooks of a chain that have completed, the last one first,
// each once.
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
	var chains errgroup.Group
	chains.SetLimit(r.maxParallel)
	for _, c := range slices.Backward(s.Chains) {
		chains.Go(func() error {
			for _, h := range r.completedHooks(c) {
				if err := r.Delete(ctx, h, release.HookSucceeded); err != nil {
					mu.Lock()
					failed = append(failed, Failure{Hook: h, Err: err, Created: true})
					mu.Unlock()
				}
			}
			return nil
		})
	}
	_ = chains.Wait() // failures are kept by hook
	place := slices.Concat(s.Chains...)
	slices.SortStableFunc(failed, func(a, b Failure) int { return slices.Index(place, a.Hook) - slices.Index(place, b.Hook) })
	return failed
}
