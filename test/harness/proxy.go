// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"net/http"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ordered-helm/helm/test/fault"
)

// UseProxy makes helm reach the API server through a proxy, which it returns.
func (h *Helm) UseProxy(tb testing.TB) *fault.Proxy {
	tb.Helper()
	p := fault.New(tb, h.Cluster.Config())
	path := filepath.Join(tb.TempDir(), "kubeconfig")
	NoError(tb, p.WriteKubeconfig(path, h.Namespace))
	h.Env = append(h.Env, "KUBECONFIG="+path)
	return p
}

// HoldRequests makes a proxy delay matching requests of helm until pass is called. The channel
// held is closed when the first of them is received.
func (h *Helm) HoldRequests(tb testing.TB, matches func(fault.Request) bool) (held <-chan struct{}, pass func()) {
	tb.Helper()
	reached, released := make(chan struct{}), make(chan struct{})
	reach := sync.OnceFunc(func() { close(reached) })
	h.UseProxy(tb).Intercept(func(_ http.ResponseWriter, r *http.Request, what fault.Request) bool {
		if matches(what) {
			reach()
			select {
			case <-released:
			case <-r.Context().Done():
			}
		}
		return false
	})
	return reached, sync.OnceFunc(func() { close(released) })
}
