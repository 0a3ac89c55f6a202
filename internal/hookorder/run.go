// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/release"
)

// HookActions prepares, creates, observes and deletes the hooks that Run runs. Its methods are
// called in parallel for different hooks, but sequentially for each hook.
type HookActions interface {
	// Prepare deletes the object that an earlier run of the hook left, if the delete
	// policy of the hook says so. It returns early when ctx is done.
	Prepare(ctx context.Context, h *release.Hook) error
	// Create creates the object of the hook. Its ctx ends ten seconds after the context
	// that Run received, so that a request in progress can still finish.
	Create(ctx context.Context, h *release.Hook) error
	// Wait waits until the hook has completed, and returns an error if it fails or ctx is
	// done.
	Wait(ctx context.Context, h *release.Hook) error
	// Logs prints the logs of the hook, if policy is one of its log policies.
	Logs(ctx context.Context, h *release.Hook, policy release.HookOutputLogPolicy) error
	// Delete deletes the object of the hook, if policy is one of its delete policies.
	Delete(ctx context.Context, h *release.Hook, policy release.HookDeletePolicy) error
	// Warn tells the user about an error of the cleanup that Run does not return, because
	// another error is more important.
	Warn(h *release.Hook, err error)
}

// Run runs the hooks of one event: buckets and stages sequentially, and the chains of a
// stage in parallel. When all hooks have completed, it cleans them up, the last one first:
// it prints their logs and deletes them, if their policies say so. maxParallel limits how
// many hooks run in parallel; 0 means no limit.
//
// After a failure, or when ctx is done, Run starts no further hooks, and waits for the
// running ones. Then it cleans up all hooks that completed, failed or were interrupted,
// and returns a *RunError. There is one exception, as in Helm: if all hooks run in Helm's
// order and one cannot be created, Run does not clean up. The cleanup ends at most ten
// seconds after ctx is done.
func Run(ctx context.Context, buckets []Bucket, r HookActions, maxParallel int) error {
	cleanUp, end := withGracePeriod(ctx, cleanUpTimeout)
	defer end()
	run := &run{
		HookActions: r, buckets: buckets, maxParallel: maxParallel,
		starts: map[*release.Hook]int{}, completed: map[*release.Hook]bool{},
	}
	for _, b := range buckets {
		for _, s := range b.Stages {
			run.runStage(ctx, cleanUp, s)
		}
	}
	failure := run.result(ctx)
	switch {
	case IsHelmOrder(buckets):
		return run.cleanUpAsHelm(cleanUp, failure)
	case failure != nil:
		for _, f := range run.cleanUpAll(cleanUp) {
			r.Warn(f.Hook, f.Err)
		}
		return failure
	}
	var errs []error
	for _, f := range run.cleanUpAll(cleanUp) {
		errs = append(errs, fmt.Errorf("clean up the hook %s (%s): %w", Title(f.Hook), f.Hook.Path, f.Err))
	}
	return errors.Join(errs...)
}

// run is the state of one call of Run.
type run struct {
	HookActions
	buckets     []Bucket
	maxParallel int

	// mu guards the fields below. starts counts how often each hook was started, because
	// an event can list a hook twice. completed reports whether the last run of a hook
	// completed. completions counts all completed runs.
	mu          sync.Mutex
	starts      map[*release.Hook]int
	completed   map[*release.Hook]bool
	completions int
	failed      []HookFailure
}

// runStage runs the chains of a stage. The context cleanUp, which ends after ctx, is for
// requests that must be sent even if ctx is done.
func (r *run) runStage(ctx, cleanUp context.Context, s Stage) {
	r.inParallel(s.Chains, func(c Chain) {
		for _, h := range c {
			if !r.markStarted(ctx, h) {
				break
			}
			r.runHook(ctx, cleanUp, h)
		}
	})
}

// inParallel calls do for each chain, up to r.maxParallel at the same time, and returns
// when all calls have returned.
func (r *run) inParallel(chains []Chain, do func(Chain)) {
	var group errgroup.Group
	if r.maxParallel > 0 {
		group.SetLimit(r.maxParallel)
	}
	for _, c := range chains {
		group.Go(func() error {
			do(c)
			return nil
		})
	}
	_ = group.Wait() // no call returns an error
}

// markStarted reports whether h can start: no hook has failed, and ctx is not done. If so,
// it counts h as started.
func (r *run) markStarted(ctx context.Context, h *release.Hook) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failed) > 0 || ctx.Err() != nil {
		return false
	}
	r.starts[h]++
	r.completed[h] = false
	return true
}

// runHook prepares and creates a hook, waits for it, and records the result. If the hook
// fails after its creation, runHook also cleans it up.
func (r *run) runHook(ctx, cleanUp context.Context, h *release.Hook) {
	err := r.Prepare(ctx, h)
	if ctx.Err() != nil { // a hook that was not created does not count as started
		r.mu.Lock()
		defer r.mu.Unlock()
		r.starts[h]--
		return
	}
	if err == nil {
		err = r.Create(cleanUp, h)
	}
	if err != nil {
		r.addFailure(HookFailure{Hook: h, Err: err})
		return
	}
	if err := r.Wait(ctx, h); err != nil {
		r.addFailure(HookFailure{Hook: h, Err: err, Created: true})
		if err := r.Logs(cleanUp, h, release.HookOutputOnFailed); err != nil {
			r.Warn(h, err)
		}
		if err := r.Delete(cleanUp, h, release.HookFailed); err != nil {
			r.Warn(h, err)
		}
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.completed[h] = true
	r.completions++
}

func (r *run) addFailure(f HookFailure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, f)
}

// result returns an error that lists the hooks that failed or were not started, or nil if
// all hooks have completed.
func (r *run) result(ctx context.Context) *RunError {
	e := &RunError{Failed: r.failed, Cause: context.Cause(ctx)}
	place := map[*release.Hook]int{}
	for _, b := range r.buckets {
		for _, h := range b.Hooks() {
			if _, twice := place[h]; !twice {
				place[h] = len(place)
			}
			failed := slices.ContainsFunc(r.failed, func(f HookFailure) bool { return f.Hook == h })
			if r.starts[h]--; r.starts[h] < 0 && !failed {
				e.NotStarted = append(e.NotStarted, h)
			}
		}
	}
	slices.SortStableFunc(e.Failed, func(a, b HookFailure) int { return place[a.Hook] - place[b.Hook] })
	if len(e.Failed) == 0 && len(e.NotStarted) == 0 {
		return nil
	}
	return e
}
