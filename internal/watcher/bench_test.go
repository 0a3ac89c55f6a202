// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"sync"
	"testing"
	"testing/synctest"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/internal/fakeapi"
)

var (
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	jobs        = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	pods        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	things      = schema.GroupVersionResource{Group: "x.example", Version: "v1", Resource: "things"}
	claims      = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
)

// bench is what a tracker test works with.
type bench struct {
	*testing.T
	api       *fakeapi.Server
	transport *fakeapi.Transport
	client    dynamic.Interface
	tracker   *Watcher
	notices   *journal[Notice]
}

// journal collects what callbacks are told.
type journal[T any] struct {
	mu      sync.Mutex
	entries []T
}

func (j *journal[T]) add(entry T) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, entry)
}

func (j *journal[T]) all() []T {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]T(nil), j.entries...)
}

// inBubble runs a test with a tracker on a fake API, in fake time.
func inBubble(t *testing.T, test func(b *bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.New(t)
		b := &bench{T: t, api: api, transport: &fakeapi.Transport{Handler: api}, notices: &journal[Notice]{}}
		b.client = fakeapi.Client(t, "http://127.0.0.1", b.transport)
		b.tracker = New(t.Context(), Config{Client: b.client, Notify: b.notices.add})
		defer b.tracker.Close()
		test(b)
		b.tracker.Close()
		synctest.Wait()
		if n := api.OpenWatches(); n != 0 {
			t.Errorf("%d watches are open after Close", n)
		}
	})
}
