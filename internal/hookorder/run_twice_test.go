// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookorder"
)

// failsLater implements HookActions. The second Wait of a hook fails.
type failsLater struct {
	*world
	waits map[string]int
}

func (f *failsLater) Wait(ctx context.Context, h *release.Hook) error {
	err := f.world.Wait(ctx, h)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.waits[h.Name]++; f.waits[h.Name] == 2 {
		return errors.New("the second time")
	}
	return err
}

// TestRunTwice runs hooks that an event lists twice.
func TestRunTwice(t *testing.T) {
	run := func(t *testing.T, fails bool) *world {
		t.Helper()
		a := hook("a", 0)
		w := newWorld(t, hookorder.Buckets([]*release.Hook{a, a}, modes("shop=true")))
		w.operation = t.Context()
		var r hookorder.HookActions = w
		if fails {
			r = &failsLater{w, map[string]int{}}
		}
		if err := hookorder.Run(t.Context(), w.buckets, r, 0); (err != nil) != fails {
			t.Errorf("got %v", err)
		}
		for step, want := range map[string]int{"create": 2, "delete hook-succeeded": onceIf(!fails), "delete hook-failed": onceIf(fails)} {
			if got := w.times(step, a); got != want {
				t.Errorf("%s: %d times, want %d", step, got, want)
			}
		}
		return w
	}
	t.Run("cleaned up once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { run(t, false) })
	})
	t.Run("what failed the second time has failed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { run(t, true) })
	})
	t.Run("failures in the order of the bucket", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			a, b := hook("a", 0), hook("b", 0)
			w := newWorld(t, hookorder.Buckets([]*release.Hook{a, a, b}, modes("shop=true")))
			w.takes["wait a"], w.takes["wait b"] = 2*time.Second, time.Second
			w.fails = map[string]error{"wait a": errors.New("A"), "wait b": errors.New("B")}
			var failure *hookorder.RunError
			err := w.run(0, 0)
			if !errors.As(err, &failure) || failedNames(failure.Failed) != "a b" || len(failure.NotStarted) != 0 {
				t.Errorf("got %v", err)
			}
		})
	})
}

// onceIf returns 1 if the argument is true, otherwise 0.
func onceIf(is bool) int {
	if is {
		return 1
	}
	return 0
}
