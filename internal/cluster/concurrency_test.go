// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/fakeapi"
)

// createAll creates objects in parallel.
func createAll(ctx context.Context, c *Connection, list kube.ResourceList) error {
	client, err := c.Dynamic()
	if err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(MaxConcurrency)
	for _, info := range list {
		g.Go(func() error {
			_, err := client.Resource(info.Mapping.Resource).Namespace(info.Namespace).
				Create(ctx, info.Object.(*unstructured.Unstructured), metav1.CreateOptions{})
			return err
		})
	}
	return g.Wait()
}

// TestConcurrencyAdapts checks that the client sends fewer requests at the same time if the
// server rejects some because there are too many, and that all are accepted eventually.
func TestConcurrencyAdapts(t *testing.T) {
	for _, c := range []struct {
		name     string
		capacity int
		// maxLate is the maximum number of pending requests after half of them are done. It
		// is two more than the capacity: the limit is raised by one to try whether there is
		// more, and once again if one request ends in the instant in which another begins,
		// because the server then sees one request where the limiter counts two.
		maxLate int
	}{
		{"handles all", MaxConcurrency, MaxConcurrency},
		{"handles some", 6, 8},
		{"handles one", 1, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const n = 600
				api := fakeapi.NewWritableAPI(t)
				var mu sync.Mutex
				late, accepted := 0, 0
				api.Fault = func(fakeapi.ReceivedCall) error {
					now := api.Pending()
					mu.Lock()
					if accepted > n/2 {
						late = max(late, now)
					}
					mu.Unlock()
					time.Sleep(10 * time.Millisecond)
					if now > c.capacity {
						return apierrors.NewTooManyRequests("not so fast", 1)
					}
					mu.Lock()
					accepted++
					mu.Unlock()
					return nil
				}
				if err := createAll(t.Context(), newConnection(t, api), fakeapi.Infos(t, fakeapi.ConfigMaps(n, "a")...)); err != nil {
					t.Fatal(err)
				}
				if late > c.maxLate {
					t.Errorf("%d were pending, want %d at most", late, c.maxLate)
				}
				if c.capacity == MaxConcurrency && api.MaxPending() != MaxConcurrency {
					t.Errorf("%d were pending at most, want %d", api.MaxPending(), MaxConcurrency)
				}
			})
		})
	}
}

// TestConcurrencyAfterCancel cancels requests that wait for a slot, and checks that all
// slots are free afterwards.
func TestConcurrencyAfterCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.NewWritableAPI(t)
		client := newConnection(t, api)
		api.Fault = func(asked fakeapi.ReceivedCall) error { <-asked.Context().Done(); return nil }
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- createAll(ctx, client, fakeapi.Infos(t, fakeapi.ConfigMaps(100, "a")...)) }()
		synctest.Wait()
		if got := api.Pending(); got != InitialConcurrency {
			t.Errorf("%d are pending, want %d", got, InitialConcurrency)
		}
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		api.Fault = nil
		if err := createAll(t.Context(), client, fakeapi.Infos(t, fakeapi.ConfigMaps(100, "b")...)); err != nil {
			t.Error(err)
		}
		if l := client.limiter; l.withheld != MaxConcurrency-l.limit || !l.slots.TryAcquire(int64(l.limit)) {
			t.Errorf("of %d slots %d are withheld", l.limit, l.withheld)
		}
	})
}
