// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookrunner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/release"
)

// Runner does what running one hook needs. Its methods are called for several
// hooks at once, but never for one hook at once.
type Runner interface {
	// Prepare makes way for the hook by its delete policy. It ends with ctx.
	Prepare(ctx context.Context, h *release.Hook) error
	// Create creates the hook. So that it is known whether that is there, ctx goes
	// on for a while when the operation has ended.
	Create(ctx context.Context, h *release.Hook) error
	// Wait waits until the hook has completed. It ends with ctx.
	Wait(ctx context.Context, h *release.Hook) error
	// Logs writes the hook's logs if its log policy says so for the event.
	Logs(ctx context.Context, h *release.Hook, policy release.HookOutputLogPolicy) error
	// Delete deletes the hook if its delete policy says so for the event.
	Delete(ctx context.Context, h *release.Hook, policy release.HookDeletePolicy) error
	// Warn reports what went wrong in cleaning up after a failure, which must
	// not hide the failure.
	Warn(h *release.Hook, err error)
}

// Options say how hooks run.
type Options struct {
	// MaxParallel is how many hooks run at once; 0 is no limit.
	MaxParallel int
}

// Run runs the hooks of one event: bucket after bucket, stage after stage, the
// chains of a stage side by side. When all have completed they are cleaned up,
// the last ones first.
//
// After a failure, and once ctx is done, nothing more starts, and what runs goes
// on to its own end. Then every hook is cleaned up by its policies: those that
// have completed, and those that failed or were cut off. The error is a *RunError.
// Where all of it runs in Helm's order, what could not be created ends the run at
// once, as there. Cleaning up goes on when ctx is done, for ten seconds at most.
func Run(ctx context.Context, buckets []Bucket, r Runner, o Options) error {
	cleanUp, end := withGracePeriod(ctx, cleanUpTimeout)
	defer end()
	run := &run{
		Runner: r, buckets: buckets, maxParallel: o.MaxParallel,
		starts: map[*release.Hook]int{}, completed: map[*release.Hook]bool{},
	}
	if run.maxParallel <= 0 {
		run.maxParallel = -1 // none, to errgroup
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

// run is one call of Run.
type run struct {
	Runner
	buckets     []Bucket
	maxParallel int

	// mu guards what follows: how often each hook was begun, as an event may list
	// it twice, which have completed the last time, how many runs that were, and what
	// failed.
	mu          sync.Mutex
	starts      map[*release.Hook]int
	completed   map[*release.Hook]bool
	completions int
	failed      []Failure
}

// runStage runs the chains of a stage. What must be done even when ctx has ended is
// done under cleanUp.
func (r *run) runStage(ctx, cleanUp context.Context, s Stage) {
	var chains errgroup.Group
	chains.SetLimit(r.maxParallel)
	for _, c := range s.Chains {
		chains.Go(func() error {
			for _, h := range c {
				if !r.start(ctx, h) {
					break
				}
				r.runHook(ctx, cleanUp, h)
			}
			return nil
		})
	}
	_ = chains.Wait() // failures are kept by hook
}

// start reports whether the hook may start, which none may after a failure.
func (r *run) start(ctx context.Context, h *release.Hook) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failed) > 0 || ctx.Err() != nil {
		return false
	}
	r.starts[h]++
	r.completed[h] = false
	return true
}

// runHook runs a hook to its end.
func (r *run) runHook(ctx, cleanUp context.Context, h *release.Hook) {
	err := r.Prepare(ctx, h)
	if ctx.Err() != nil { // what was cut off before it was created was never begun
		r.mu.Lock()
		defer r.mu.Unlock()
		r.starts[h]--
		return
	}
	if err == nil {
		err = r.Create(cleanUp, h)
	}
	if err != nil {
		r.addFailure(Failure{Hook: h, Err: err})
		return
	}
	if err := r.Wait(ctx, h); err != nil {
		r.addFailure(Failure{Hook: h, Err: err, Created: true})
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

func (r *run) addFailure(f Failure) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = append(r.failed, f)
}

// result is what the run came to; nil if every hook has completed.
func (r *run) result(ctx context.Context) *RunError {
	e := &RunError{Failed: r.failed, cause: context.Cause(ctx)}
	place := map[*release.Hook]int{}
	for _, b := range r.buckets {
		for _, h := range b.Hooks() {
			if _, twice := place[h]; !twice {
				place[h] = len(place)
			}
			failed := slices.ContainsFunc(r.failed, func(f Failure) bool { return f.Hook == h })
			if r.starts[h]--; r.starts[h] < 0 && !failed {
				e.NotStarted = append(e.NotStarted, h)
			}
		}
	}
	slices.SortStableFunc(e.Failed, func(a, b Failure) int { return place[a.Hook] - place[b.Hook] })
	if len(e.Failed) == 0 && len(e.NotStarted) == 0 {
		return nil
	}
	return e
}
