// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookorder"
)

// randomWorld returns a world with random buckets. Each hook occurs once and has a unique
// name. Each step takes a random time, so that no two steps end at the same time.
func randomWorld(t *testing.T, r *rand.Rand, asHelm bool) *world {
	g := makeHooks(1+r.IntN(12), r.IntN)
	if asHelm {
		g.modes = nil
	}
	seen := map[*release.Hook]bool{}
	g.hooks = slices.DeleteFunc(g.hooks, func(h *release.Hook) bool {
		again := seen[h]
		seen[h] = true
		return again
	})
	w := newWorld(t, hookorder.Buckets(g.hooks, g.asModes()))
	for i, h := range g.hooks {
		h.Name = fmt.Sprintf("%s%d", h.Name, i)
		for _, step := range []string{"prepare", "create", "wait", "logs hook-succeeded", "logs hook-failed", "delete hook-succeeded", "delete hook-failed"} {
			w.takes[step+" "+h.Name] = 1 + time.Duration(r.Int64N(int64(2*time.Second)))
		}
	}
	return w
}

// trouble makes some random steps fail, and makes others ignore the end of the operation.
func (w *world) trouble(r *rand.Rand) {
	often := r.IntN(30)
	for _, key := range slices.Sorted(maps.Keys(w.takes)) {
		if r.IntN(100) < often {
			w.fails[key] = errors.New(key)
		}
		isCleanUp := strings.HasPrefix(key, "logs") || strings.HasPrefix(key, "delete")
		w.deaf[key] = !isCleanUp && r.IntN(6) == 0
	}
}

// TestRandomRuns runs random hooks in random modes with random failures and limits, and
// ends some runs at random times.
func TestRandomRuns(t *testing.T) {
	for seed := range uint64(2000) {
		synctest.Test(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 8))
			w := randomWorld(t, r, seed%5 == 0)
			w.trouble(r)
			limit, cancelAt := r.IntN(4), time.Duration(0)
			if r.IntN(3) == 0 {
				cancelAt = 1 + time.Duration(r.Int64N(int64(15*time.Second)))
			}
			err := w.run(limit, cancelAt)
			w.checkOrder(limit)
			outcome := w.outcome()
			w.checkError(err, outcome)
			if hookorder.IsHelmOrder(w.buckets) {
				w.checkCleanedAsHelm(outcome)
			} else {
				w.checkCleaned(outcome)
			}
			w.checkTime()
			if seed%50 == 0 {
				expectNoGoroutines(t)
			}
			if t.Failed() {
				t.Fatalf("seed %d, limit %d, ended at %s:\n%s\n%s", seed, limit, cancelAt, printed(w.buckets), w.log())
			}
		})
	}
}

// TestRandomRunsTakeAsLongAsTheyMust checks that, without a limit and without failures, all
// hooks that can run in parallel do so.
func TestRandomRunsTakeAsLongAsTheyMust(t *testing.T) {
	for seed := range uint64(500) {
		synctest.Test(t, func(t *testing.T) {
			w := randomWorld(t, rand.New(rand.NewPCG(seed, 9)), false)
			if err := w.run(0, 0); err != nil {
				t.Fatal(err)
			}
			at := time.Duration(0)
			for _, b := range w.buckets {
				for _, s := range b.Stages {
					begun := at
					for _, c := range s.Chains {
						ended := begun
						for _, h := range c {
							if got := w.find("prepare", h).begin; got != ended {
								t.Errorf("seed %d: %s began at %s and could at %s in\n%s", seed, h.Name, got, ended, printed(w.buckets))
							}
							ended += w.takes["prepare "+h.Name] + w.takes["create "+h.Name] + w.takes["wait "+h.Name]
						}
						at = max(at, ended)
					}
				}
			}
		})
	}
}

// TestLimitIsUsed checks that as many hooks run in parallel as the limit allows.
func TestLimitIsUsed(t *testing.T) {
	for limit := 1; limit <= 7; limit++ {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t, hookorder.Buckets(readAll(t, "a Job/1", "a Job/2", "a Job/3", "b Job/4", "b Job/5", "c Job/6", "c Job/7"), modes("a=true b=true c=otherChartsOnly")))
			for i := range 7 {
				w.takes[fmt.Sprintf("wait %d", i+1)] = time.Minute
				w.takes[fmt.Sprintf("delete hook-succeeded %d", i+1)] = time.Minute
			}
			if err := w.run(limit, 0); err != nil {
				t.Error(err)
			}
			for _, step := range []string{"wait", "delete hook-succeeded"} {
				if got := w.mostAtOnce(step); got != min(limit, 6) { // 6 and 7 are a chain
					t.Errorf("%s: %d at once with a limit of %d", step, got, limit)
				}
			}
		})
	}
}
