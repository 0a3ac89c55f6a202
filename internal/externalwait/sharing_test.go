// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package externalwait

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ordered-helm/helm/internal/failure"
)

// TestAtTheSameTime checks that a need that is no longer ready is waited for again.
//   - "All must be ready at the same time"
func TestAtTheSameTime(t *testing.T) {
	runTest(t, func(b *fixture) {
		b.put(secrets, secret(namespace, "a"))
		w := b.wait(b.Context(), 0, "Secret/a", "release:kafka")
		b.expectWaiting(w, time.Minute)
		b.api.Delete(secrets, namespace, "a")
		b.put(secrets, revision(namespace, "kafka", "1", "deployed"))
		b.expectWaiting(w, time.Minute)
		b.put(secrets, secret(namespace, "a"))
		b.expectReady(w, 0)
	})
}

// TestManyObjects checks that waits for objects of the same kind and namespace share one watch.
//   - "there is one watch for each kind and namespace, in all of the operation"
func TestManyObjects(t *testing.T) {
	const count = 200
	name := func(i int) (ns, name string) { return []string{"infra", namespace}[i%2], fmt.Sprintf("s%d", i) }
	for _, parallel := range []bool{false, true} {
		t.Run(fmt.Sprintf("parallel %v", parallel), func(t *testing.T) {
			runTest(t, func(b *fixture) {
				var texts []string
				for i := range count {
					ns, name := name(i)
					texts = append(texts, "Secret/"+ns+"/"+name)
				}
				var waits []*waiting
				if parallel {
					for _, text := range texts {
						waits = append(waits, b.wait(b.Context(), time.Hour, text))
					}
				} else {
					waits = append(waits, b.wait(b.Context(), time.Hour, texts...))
				}
				b.expectWaiting(waits[0], time.Second)
				for i := range count {
					b.put(secrets, secret(name(i)))
				}
				for _, w := range waits {
					b.expectReady(w, time.Second)
				}
				if got := b.api.Count("watch secrets"); got != 2 {
					t.Errorf("%d watches were opened, want one for each of two namespaces", got)
				}
				if got := b.api.Count("list secrets"); got > 6 {
					t.Errorf("%d lists were read", got)
				}
			})
		})
	}
}

// TestLaterWaits checks that a later wait uses the watch of an earlier one.
func TestLaterWaits(t *testing.T) {
	runTest(t, func(b *fixture) {
		for _, name := range []string{"a", "b", "c"} {
			w := b.wait(b.Context(), 0, "Secret/"+name)
			b.expectWaiting(w, 5*time.Second)
			b.put(secrets, secret(namespace, name))
			b.expectReady(w, 0)
		}
		if got := b.api.Count("watch secrets"); got != 1 {
			t.Errorf("%d watches were opened", got)
		}
	})
}

// TestDiscoveryInterval checks how often many waits for unknown kinds repeat the discovery.
//   - "and looks for it every three seconds"
func TestDiscoveryInterval(t *testing.T) {
	runTest(t, func(b *fixture) {
		var waits []*waiting
		for i := range 20 {
			waits = append(waits, b.wait(b.Context(), 30*time.Second, fmt.Sprintf("Widget%d/a", i%3)))
		}
		for _, w := range waits {
			_ = b.expectUnmet(w, time.Minute)
		}
		if got := b.kinds.reads; got < 30/3 || got > 30/3+2 {
			t.Errorf("the discovery was read %d times in 30 seconds", got)
		}
	})
}

// TestReadIntervals checks how often several waits read a release, and an object that may not be watched.
//   - "It is looked for with the storage driver of the operation, every two seconds"
//   - "if the account is not allowed to list and watch them, they are read every two seconds"
func TestReadIntervals(t *testing.T) {
	runTest(t, func(b *fixture) {
		b.api.Fail("watch deployments", http.StatusForbidden)
		b.api.Fail("list deployments", http.StatusForbidden)
		waits := []*waiting{b.wait(b.Context(), 20*time.Second, "release:kafka", "Deployment/web"), b.wait(b.Context(), 20*time.Second, "release:kafka")}
		for _, w := range waits {
			_ = b.expectUnmet(w, time.Minute)
		}
		for _, request := range []string{"list secrets", "get deployments"} {
			if got := b.api.Count(request); got < 20/2 || got > 20/2+3 {
				t.Errorf("%s: sent %d times in 20 seconds", request, got)
			}
		}
	})
}

// TestEnds checks that a wait ends when its context ends or the Waiter is closed.
//   - "otherwise, only --timeout does"
func TestEnds(t *testing.T) {
	needs := []string{"Secret/a", "release:kafka", "Widget/a"}
	t.Run("operation cancelled", func(t *testing.T) {
		runTest(t, func(b *fixture) {
			ctx, cancel := context.WithCancel(b.Context())
			w := b.wait(ctx, 0, needs...)
			b.expectWaiting(w, time.Second)
			cancel()
			unmet := b.expectUnmet(w, 0)
			if len(unmet.Unmet) != 3 || !errors.Is(unmet, context.Canceled) || !strings.Contains(unmet.Resources()[0].Error(), "when the operation was cancelled") {
				t.Errorf("got %v", unmet)
			}
		})
	})
	t.Run("operation timed out", func(t *testing.T) {
		runTest(t, func(b *fixture) {
			limit := &failure.TimeoutError{Limit: 10 * time.Second}
			ctx, cancel := context.WithTimeoutCause(b.Context(), limit.Limit, limit)
			defer cancel()
			f := b.expectUnmet(b.wait(ctx, time.Minute, needs...), 11*time.Second).Resources()[0]
			if !strings.Contains(f.Error(), "when the operation timed out after 10s") || f.Remedy != "to allow more time, increase --timeout" {
				t.Errorf("got %v, %s", f, f.Remedy)
			}
		})
	})
	t.Run("closed", func(t *testing.T) {
		runTest(t, func(b *fixture) {
			w := b.wait(b.Context(), 0, needs...)
			b.expectWaiting(w, time.Second)
			b.waiter.Close()
			if unmet := b.expectUnmet(w, 0); !errors.Is(unmet, ErrClosed) {
				t.Errorf("got %v", unmet.Cause)
			}
			if err := b.waiter.Wait(b.Context(), b.needs("Secret/a"), 0); !errors.Is(err, ErrClosed) {
				t.Errorf("got %v", err)
			}
		})
	})
}

// TestMissedEvent checks that an object is read once more when the timeout expires.
func TestMissedEvent(t *testing.T) {
	runTest(t, func(b *fixture) {
		w := b.wait(b.Context(), 10*time.Second, "Secret/a")
		b.expectWaiting(w, time.Second)
		b.api.PauseWatches(true)
		b.put(secrets, secret(namespace, "a"))
		b.expectReady(w, 11*time.Second)
		b.api.PauseWatches(false)
	})
}

// TestCauses checks that the causes of an object that is not ready are found.
func TestCauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newFixture(t, func(c *Config) {
			c.WithoutTimeout = func(do func(context.Context)) { do(t.Context()) }
		})
		defer b.waiter.Close()
		b.put(pods, `{apiVersion: v1, kind: Pod, metadata: {name: db, namespace: shop}, spec: {containers: [{name: db, image: x}]},
			status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: no node has enough memory}]}}`)
		unmet := b.expectUnmet(b.wait(t.Context(), 10*time.Second, "Pod/db", "Secret/a"), time.Minute)
		if causes := unmet.Unmet[0].Causes; len(causes) == 0 || causes[0].Reason != "Unschedulable" {
			t.Errorf("got %+v", causes)
		}
	})
}
