// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TestPaceFollowsTheServer has a server refuse what is more than it bears: less is
// sent then, and all is taken in the end.
func TestPaceFollowsTheServer(t *testing.T) {
	for _, c := range []struct {
		name  string
		bears int
		// late is the most that may be under way when half is done.
		late int
	}{
		{"bears all", mostAtOnce, mostAtOnce},
		{"bears some", 6, 7},
		{"bears one", 1, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 600
				api := newFakeAPI(t)
				late, taken := 0, 0
				api.fault = func(call) error {
					now := api.underWay()
					api.mu.Lock()
					if taken > n/2 {
						late = max(late, now)
					}
					api.mu.Unlock()
					time.Sleep(10 * time.Millisecond)
					if now > c.bears {
						return apierrors.NewTooManyRequests("not so fast", 1)
					}
					api.mu.Lock()
					taken++
					api.mu.Unlock()
					return nil
				}
				if err := api.client().Create(t.Context(), objects(t, many(n, "a")...)); err != nil {
					t.Fatal(err)
				}
				if late > c.late {
					t.Errorf("%d were under way, want %d at most", late, c.late)
				}
				if c.bears == mostAtOnce && api.most != mostAtOnce {
					t.Errorf("%d were under way at most, want %d", api.most, mostAtOnce)
				}
			})
		})
	}
}

// TestPaceEndsWithTheContext: who waits for a place gives up with the context, and
// the places that were taken are free again.
func TestPaceEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := newFakeAPI(t)
		client := api.client()
		api.fault = func(asked call) error { <-asked.Context().Done(); return nil }
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- client.Create(ctx, objects(t, many(100, "a")...)) }()
		synctest.Wait()
		if got := api.underWay(); got != atOnce {
			t.Errorf("%d are under way, want %d", got, atOnce)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		api.fault = nil
		if err := client.Create(t.Context(), objects(t, many(100, "b")...)); err != nil {
			t.Error(err)
		}
		if p := client.pace; p.withheld != mostAtOnce-p.limit || !p.places.TryAcquire(int64(p.limit)) {
			t.Errorf("of %d places %d are withheld", p.limit, p.withheld)
		}
	})
}
