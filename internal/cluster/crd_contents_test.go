// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/ordered-helm/helm/internal/fakeapi"
)

// delayedDiscovery is a Getter whose discovery returns a kind only after it was invalidated a
// number of times.
type delayedDiscovery struct {
	fakeapi.Getter
	kind        schema.GroupVersionKind
	after       int
	invalidated int
	broken      error
}

func (a *delayedDiscovery) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return &delayedClient{delayedDiscovery: a}, a.broken
}

func (a *delayedDiscovery) ToRESTMapper() (meta.RESTMapper, error) {
	mapper := meta.NewDefaultRESTMapper(nil)
	if a.invalidated >= a.after {
		mapper.Add(a.kind, meta.RESTScopeNamespace)
	}
	return mapper, nil
}

type delayedClient struct {
	discovery.CachedDiscoveryInterface
	*delayedDiscovery
}

func (a *delayedClient) Invalidate() { a.invalidated++ }

func TestAwaitKinds(t *testing.T) {
	widget := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	broken := errors.New("broken")
	for _, c := range []struct {
		name   string
		api    delayedDiscovery
		none   bool
		cancel time.Duration
		asked  int
		took   time.Duration
		err    error
	}{
		{name: "at once", api: delayedDiscovery{after: 1}, asked: 1},
		{name: "nothing to wait for", api: delayedDiscovery{after: 9}, none: true, asked: 1},
		{name: "at the fourth attempt", api: delayedDiscovery{after: 4}, asked: 4, took: 350 * time.Millisecond},
		{name: "never", api: delayedDiscovery{after: 1000}, asked: 14, took: discoveryTimeout},
		{name: "cancelled", api: delayedDiscovery{after: 1000}, cancel: 120 * time.Millisecond, asked: 2, took: 120 * time.Millisecond, err: context.Canceled},
		{name: "no response", api: delayedDiscovery{broken: broken}, err: broken},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.api.kind = widget
				kinds := []schema.GroupVersionKind{widget}
				if c.none {
					kinds = nil
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if c.cancel > 0 {
					time.AfterFunc(c.cancel, cancel)
				}
				began := time.Now()
				err := Connect(&c.api, t.Logf).AwaitKinds(ctx, kinds)
				if !errors.Is(err, c.err) {
					t.Errorf("error %v, want %v", err, c.err)
				}
				if c.api.invalidated != c.asked || time.Since(began) != c.took {
					t.Errorf("asked %d times in %s, want %d times in %s", c.api.invalidated, time.Since(began), c.asked, c.took)
				}
			})
		})
	}
}
