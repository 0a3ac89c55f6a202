// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package hookrunner decides in what order hooks run, and runs them over an
// injected Runner that knows the cluster (docs/reference.md, "Hooks").
package hookrunner

import (
	"cmp"
	"context"
	"slices"
	"time"

	"helm.sh/helm/v3/pkg/release"
)

// Runner does what running one hook needs.
type Runner interface {
	// Create makes way for the hook by its delete policy and creates it.
	Create(ctx context.Context, h *release.Hook) error
	// Wait waits until the hook has completed.
	Wait(ctx context.Context, h *release.Hook) error
	// Logs writes the hook's logs if its log policy says so for the event.
	Logs(ctx context.Context, h *release.Hook, policy release.HookOutputLogPolicy) error
	// Delete deletes the hook if its delete policy says so for the event.
	Delete(ctx context.Context, h *release.Hook, policy release.HookDeletePolicy) error
	// Warn reports what went wrong in cleaning up after a failure, which must
	// not hide the failure.
	Warn(h *release.Hook, err error)
}

// ForEvent lists the hooks of an event in the order in which they run: by
// weight, then by name. A hook that lists an event twice runs twice.
func ForEvent(hooks []*release.Hook, event release.HookEvent) []*release.Hook {
	var selected []*release.Hook
	for _, h := range hooks {
		for _, e := range h.Events {
			if e == event {
				selected = append(selected, h)
			}
		}
	}
	slices.SortStableFunc(selected, func(a, b *release.Hook) int {
		return cmp.Or(cmp.Compare(a.Weight, b.Weight), cmp.Compare(a.Name, b.Name))
	})
	return selected
}

// Run runs the hooks one after the other. When all have completed they are
// cleaned up, the last one first. After a failure, and once ctx is done,
// nothing more starts; the hook that failed and those before it are cleaned up
// by their policies. What could not be created ends the run at once. Cleaning
// up goes on when ctx is done, for ten seconds at most.
func Run(ctx context.Context, hooks []*release.Hook, r Runner) error {
	cleanUp, end := outlive(ctx, grace)
	defer end()
	for i, h := range hooks {
		if err := context.Cause(ctx); err != nil {
			cleanUpBefore(cleanUp, hooks[:i], r)
			return err
		}
		if err := r.Create(ctx, h); err != nil {
			return err
		}
		if err := r.Wait(ctx, h); err != nil {
			failed(cleanUp, h, r)
			cleanUpBefore(cleanUp, hooks[:i], r)
			return err
		}
	}
	for _, h := range slices.Backward(hooks) {
		if err := r.Logs(cleanUp, h, release.HookOutputOnSucceeded); err != nil {
			r.Warn(h, err)
		}
		if err := r.Delete(cleanUp, h, release.HookSucceeded); err != nil {
			return err
		}
	}
	return nil
}

// grace is how long cleaning up may take when nobody waits for it any more.
const grace = 10 * time.Second

// outlive returns a context that ends, of itself, some time after ctx does.
func outlive(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
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

// failed cleans up the hook that failed. What goes wrong in that must not hide
// the failure.
func failed(ctx context.Context, h *release.Hook, r Runner) {
	if err := r.Logs(ctx, h, release.HookOutputOnFailed); err != nil {
		r.Warn(h, err)
	}
	if err := r.Delete(ctx, h, release.HookFailed); err != nil {
		r.Warn(h, err)
	}
}

// cleanUpBefore cleans up the hooks that completed before the end came.
func cleanUpBefore(ctx context.Context, hooks []*release.Hook, r Runner) {
	for _, h := range hooks {
		if err := r.Delete(ctx, h, release.HookSucceeded); err != nil {
			r.Warn(h, err)
		}
	}
}
