// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/watcher/notice"
)

// host serves an API on its own port. It can stop, closing all connections, and start again
// on another port, where the transport of carrier finds it.
type host struct {
	t      *testing.T
	api    *fakeapi.Server
	served sync.WaitGroup

	mu      sync.Mutex
	server  *http.Server
	address string
}

func (h *host) start() {
	h.t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(h.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	server := &http.Server{Handler: h.api, ReadHeaderTimeout: time.Minute}
	h.mu.Lock()
	h.server, h.address = server, listener.Addr().String()
	h.mu.Unlock()
	h.served.Go(func() { _ = server.Serve(listener) })
}

func (h *host) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	_ = h.server.Close()
	h.served.Wait()
}

// carrier returns a transport that dials the current or last address of the API.
func (h *host) carrier() *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		h.mu.Lock()
		address := h.address
		h.mu.Unlock()
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
}

// expectNoGoroutines fails the test if goroutines of watchers or watches are still running.
func expectNoGoroutines(t *testing.T) {
	t.Helper()
	stacks := make([]byte, 1<<22)
	var left []string
	for range 100 {
		left = nil
		for _, stack := range strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			if strings.Contains(stack, "watcher.(*stream)") || strings.Contains(stack, "watch.(*StreamWatcher)") {
				left = append(left, stack)
			}
		}
		if left == nil {
			return
		}
		time.Sleep(10 * time.Millisecond) // a watcher may still be finishing
	}
	t.Errorf("goroutines stay:\n%s", strings.Join(left, "\n\n"))
}

// TestRealConnections observes objects of many groups over TCP, while the API restarts,
// compacts its history and closes its watches.
func TestRealConnections(t *testing.T) {
	b := &fixture{T: t, api: fakeapi.NewServer(t), notices: &recorder[notice.Notice]{}}
	h := &host{t: t, api: b.api}
	h.start()
	defer h.stop()
	carrier := h.carrier()
	defer carrier.CloseIdleConnections()
	b.watcher = New(t.Context(), Config{Client: fakeapi.Client(t, "http://api", carrier), Notify: b.notices.add})
	defer b.watcher.Close()

	var all []*waiting
	for n := range 40 {
		obj := b.deployment(fmt.Sprintf("d%d", n), false)
		obj.SetNamespace(fmt.Sprintf("n%d", n%4))
		g := b.watcher.ExpectReady(targetOf(deployments, obj))
		b.write(g, deployments, obj)
		all = append(all, b.wait(g))
	}
	shake := []func(){
		b.api.CloseWatches,
		func() { b.api.Compact(); b.api.CloseWatches() },
		func() { h.stop(); h.start() },
		func() {},
	}
	for part, disturb := range shake {
		disturb()
		var wg sync.WaitGroup
		for n := part * 10; n < part*10+10; n++ {
			wg.Go(func() {
				obj := b.deployment(fmt.Sprintf("d%d", n), true)
				obj.SetNamespace(fmt.Sprintf("n%d", n%4))
				b.api.Put(deployments, obj)
			})
		}
		wg.Wait()
		for _, w := range all[part*10 : part*10+10] {
			<-w.done
			if w.err != nil {
				t.Errorf("part %d: %v", part, w.err)
			}
		}
	}
	b.watcher.Close()
	expectNoGoroutines(t)
}

// TestCloseWhileTheAPIIsAway checks that Close stops everything even if the API is
// unavailable.
func TestCloseWhileTheAPIIsAway(t *testing.T) {
	b := &fixture{T: t, api: fakeapi.NewServer(t), notices: &recorder[notice.Notice]{}}
	h := &host{t: t, api: b.api}
	h.start()
	h.stop()
	carrier := h.carrier()
	defer carrier.CloseIdleConnections()
	down := make(chan struct{})
	b.watcher = New(t.Context(), Config{
		Client: fakeapi.Client(t, "http://api", carrier), Notify: func(notice.Notice) { close(down) },
	})
	obj := b.deployment("a", false)
	g := b.watcher.ExpectReady(targetOf(deployments, obj))
	b.write(g, deployments, obj)
	w := b.wait(g)
	<-down
	b.watcher.Close()
	<-w.done
	if !strings.Contains(w.err.Error(), "refused") {
		t.Errorf("got error %v", w.err)
	}
	expectNoGoroutines(t)
}
