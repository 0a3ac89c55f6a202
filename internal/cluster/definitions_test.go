// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// announcing is a cluster that announces a kind when it was asked anew that often.
type announcing struct {
	fakeGetter
	kind        schema.GroupVersionKind
	after       int
	invalidated int
	broken      error
}

func (a *announcing) ToDiscoveryClient() (discovery.CachedDiscoveryInterface, error) {
	return &announced{announcing: a}, a.broken
}

func (a *announcing) ToRESTMapper() (meta.RESTMapper, error) {
	mapper := meta.NewDefaultRESTMapper(nil)
	if a.invalidated >= a.after {
		mapper.Add(a.kind, meta.RESTScopeNamespace)
	}
	return mapper, nil
}

type announced struct {
	discovery.CachedDiscoveryInterface
	*announcing
}

func (a *announced) Invalidate() { a.invalidated++ }

func TestAwaitKinds(t *testing.T) {
	widget := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Widget"}
	broken := errors.New("broken")
	for _, c := range []struct {
		name   string
		api    announcing
		none   bool
		cancel time.Duration
		asked  int
		took   time.Duration
		err    error
	}{
		{name: "at once", api: announcing{after: 1}, asked: 1},
		{name: "nothing to wait for", api: announcing{after: 9}, none: true, asked: 1},
		{name: "at the fourth look", api: announcing{after: 4}, asked: 4, took: 350 * time.Millisecond},
		{name: "never", api: announcing{after: 1000}, asked: 14, took: announcedWithin},
		{name: "cancelled", api: announcing{after: 1000}, cancel: 120 * time.Millisecond, asked: 2, took: 120 * time.Millisecond, err: context.Canceled},
		{name: "no answer", api: announcing{broken: broken}, err: broken},
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
				err := New(&kube.Client{}, &c.api, t.Logf).AwaitKinds(ctx, kinds)
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

func TestDefinedKinds(t *testing.T) {
	list := objects(t,
		`{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: widgets.example.com}, spec: {
			group: example.com, names: {kind: Widget}, versions: [{name: v1, served: true}, {name: v0, served: false}, {name: v2, served: true}, odd]}}`,
		settings("a", "x: i"),
		"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: empty}}",
	)
	want := []schema.GroupVersionKind{
		{Group: "example.com", Version: "v1", Kind: "Widget"},
		{Group: "example.com", Version: "v2", Kind: "Widget"},
	}
	if got := DefinedKinds(list); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
