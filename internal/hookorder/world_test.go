// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder_test

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookorder"
)

// call is one call of a method of HookActions. Its times are relative to the creation of the
// world.
type call struct {
	step       string // as in "wait" or "delete hook-failed"
	hook       *release.Hook
	begin, end time.Duration
	first      int // first and last number its begin and end among those of all calls
	last       int
	err        error
	// live says whether the context of the call was still open when the call began. ended
	// says whether the context of the operation was done when the call ended.
	live, ended bool
	ctx         context.Context
}

// world implements HookActions. Its steps take time and fail as the test says. It runs in a
// synctest bubble.
type world struct {
	*testing.T
	buckets []hookorder.Bucket
	begun   time.Time
	// takes and fails are by step and name, as in "wait a". deaf are the steps that ignore
	// the end of their context.
	takes map[string]time.Duration
	fails map[string]error
	deaf  map[string]bool

	operation  context.Context
	start      time.Duration
	ended      time.Duration
	cancelled  time.Duration // 0 if the run was not cancelled
	wasRunning int           // number of unfinished calls when Run returned

	mu       sync.Mutex
	calls    []*call
	count    int
	running  int
	warnings []string
}

func newWorld(t *testing.T, buckets []hookorder.Bucket) *world {
	return &world{
		T: t, buckets: buckets, begun: time.Now(),
		takes: map[string]time.Duration{}, fails: map[string]error{}, deaf: map[string]bool{},
	}
}

func (w *world) now() time.Duration { return time.Since(w.begun) }

func (w *world) do(ctx context.Context, step string, h *release.Hook) error {
	w.mu.Lock()
	c := &call{step: step, hook: h, begin: w.now(), first: w.count, live: ctx.Err() == nil, ctx: ctx}
	w.calls = append(w.calls, c)
	w.count++
	w.running++
	for _, other := range w.calls {
		if other != c && other.hook == h && other.last == 0 {
			w.Errorf("%s of %s during %s", step, h.Name, other.step)
		}
	}
	w.mu.Unlock()

	key := step + " " + h.Name
	err := w.fails[key]
	if takes := w.takes[key]; w.deaf[key] {
		time.Sleep(takes)
	} else {
		select {
		case <-time.After(takes):
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count++
	w.running--
	c.end, c.last, c.err, c.ended = w.now(), w.count, err, w.operation.Err() != nil
	return err
}

func (w *world) Prepare(ctx context.Context, h *release.Hook) error { return w.do(ctx, "prepare", h) }

func (w *world) Create(ctx context.Context, h *release.Hook) error { return w.do(ctx, "create", h) }

func (w *world) Wait(ctx context.Context, h *release.Hook) error { return w.do(ctx, "wait", h) }

func (w *world) Logs(ctx context.Context, h *release.Hook, policy release.HookOutputLogPolicy) error {
	return w.do(ctx, "logs "+string(policy), h)
}

func (w *world) Delete(ctx context.Context, h *release.Hook, policy release.HookDeletePolicy) error {
	return w.do(ctx, "delete "+string(policy), h)
}

func (w *world) Warn(h *release.Hook, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.warnings = append(w.warnings, h.Name+": "+err.Error())
}

// run runs all hooks, and cancels the operation after cancelAt if it is above 0. It fails
// the test if anything still runs when Run returns.
func (w *world) run(maxParallel int, cancelAt time.Duration) error {
	w.Helper()
	ctx, cancel := context.WithCancelCause(w.Context())
	defer cancel(nil)
	w.operation, w.start = ctx, w.now()
	if cancelAt > 0 {
		stop := time.AfterFunc(cancelAt, func() {
			w.cancelled = w.now()
			cancel(errInterrupted)
		})
		defer stop.Stop()
	}
	err := hookorder.Run(ctx, w.buckets, w, maxParallel)
	w.ended = w.now()
	w.mu.Lock()
	calls := len(w.calls)
	w.wasRunning = w.running
	w.mu.Unlock()
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wasRunning > 0 || len(w.calls) > calls {
		w.Errorf("%d calls go on and %d begin when all should be over", w.wasRunning, len(w.calls)-calls)
	}
	for _, c := range w.calls {
		if ofOperation := c.step == "prepare" || c.step == "wait"; !ofOperation && c.ctx.Err() == nil {
			w.Errorf("the context of %s is still open", c.step)
		}
	}
	return err
}

// expectNoGoroutines fails the test if goroutines of a run are left.
func expectNoGoroutines(t *testing.T) {
	t.Helper()
	synctest.Wait()
	stacks := make([]byte, 1<<20)
	for _, stack := range strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(stack, "hookorder.Run") || strings.Contains(stack, "hookorder.(*run)") || strings.Contains(stack, "hookorder.outlive") {
			t.Errorf("a goroutine stays:\n%s", stack)
		}
	}
}

// of lists the names of the hooks for which a step was called, in the order of the buckets.
// A hook is listed once for each call.
func (w *world) of(step string) string {
	var found []*release.Hook
	for _, b := range w.buckets {
		for _, h := range b.Hooks() {
			for _, c := range w.calls {
				if c.hook == h && c.step == step {
					found = append(found, h)
				}
			}
		}
	}
	return names(found)
}

func (w *world) steps() []string {
	all := make([]string, len(w.calls))
	for i, c := range w.calls {
		all[i] = c.step + " " + c.hook.Name
	}
	return all
}

// find returns the call of a step of a hook; nil if there was none.
func (w *world) find(step string, h *release.Hook) *call {
	i := slices.IndexFunc(w.calls, func(c *call) bool { return c.hook == h && c.step == step })
	if i < 0 {
		return nil
	}
	return w.calls[i]
}
