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
	"github.com/ordered-helm/helm/internal/watcher/notice"
)

var (
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	jobs        = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	pods        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	things      = schema.GroupVersionResource{Group: "x.example", Version: "v1", Resource: "things"}
	claims      = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
)

// fixture has a Watcher with a fake API server.
type fixture struct {
	*testing.T
	api       *fakeapi.Server
	transport *fakeapi.Transport
	client    dynamic.Interface
	watcher   *Watcher
	notices   *recorder[notice.Notice]
}

// recorder records the arguments of callbacks.
type recorder[T any] struct {
	mu      sync.Mutex
	entries []T
}

func (j *recorder[T]) add(entry T) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, entry)
}

func (j *recorder[T]) all() []T {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]T(nil), j.entries...)
}

// runTest runs a test with a Watcher and a fake API server, in fake time.
func runTest(t *testing.T, test func(b *fixture)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		api := fakeapi.NewServer(t)
		b := &fixture{T: t, api: api, transport: &fakeapi.Transport{Handler: api}, notices: &recorder[notice.Notice]{}}
		b.client = fakeapi.Client(t, "http://127.0.0.1", b.transport)
		b.watcher = New(t.Context(), Config{Client: b.client, Notify: b.notices.add})
		defer b.watcher.Close()
		test(b)
		b.watcher.Close()
		synctest.Wait()
		if n := api.OpenWatches(); n != 0 {
			t.Errorf("%d watches are open after Close", n)
		}
	})
}
