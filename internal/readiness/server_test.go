// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// serve starts an API on a real port, the given one or any.
func serve(t *testing.T, api *fakeAPI, address string) *httptest.Server {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(api)
	_ = server.Listener.Close()
	server.Listener = listener
	server.Start()
	return server
}

// expectNoGoroutines fails if goroutines of trackers or their watches stay.
func expectNoGoroutines(t *testing.T) {
	t.Helper()
	stacks := make([]byte, 1<<22)
	var left []string
	for range 100 {
		left = nil
		for _, stack := range strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
			if strings.Contains(stack, "readiness.(*stream)") || strings.Contains(stack, "watch.(*StreamWatcher)") {
				left = append(left, stack)
			}
		}
		if left == nil {
			return
		}
		time.Sleep(10 * time.Millisecond) // a watcher may still be on its last lines
	}
	t.Errorf("goroutines stay:\n%s", strings.Join(left, "\n\n"))
}

// TestRealConnections follows objects of many groups over TCP while the API
// restarts, forgets its history and cuts its watches.
func TestRealConnections(t *testing.T) {
	b := &bench{T: t, api: newFakeAPI(t), notices: &journal[Notice]{}}
	server := serve(t, b.api, "127.0.0.1:0")
	carrier := &http.Transport{}
	defer carrier.CloseIdleConnections()
	b.tracker = NewTracker(t.Context(), Config{Client: clientFor(t, server.URL, carrier), Notify: b.notices.add})
	defer b.tracker.Close()

	var all []*waiting
	for n := range 40 {
		obj := b.deployment(fmt.Sprintf("d%d", n), false)
		obj.SetNamespace(fmt.Sprintf("n%d", n%4))
		g := b.tracker.Expect(targetOf(deployments, obj))
		b.write(g, deployments, obj)
		all = append(all, b.wait(g))
	}
	shake := []func(){
		b.api.cutWatches,
		func() { b.api.compact(); b.api.cutWatches() },
		func() {
			address := server.Listener.Addr().String()
			b.api.cutWatches()
			server.CloseClientConnections()
			server.Close()
			server = serve(t, b.api, address)
		},
		func() {},
	}
	defer func() { server.Close() }()
	for part, disturb := range shake {
		disturb()
		var wg sync.WaitGroup
		for n := part * 10; n < part*10+10; n++ {
			wg.Go(func() {
				obj := b.deployment(fmt.Sprintf("d%d", n), true)
				obj.SetNamespace(fmt.Sprintf("n%d", n%4))
				b.api.put(deployments, obj)
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
	b.tracker.Close()
	expectNoGoroutines(t)
}

// TestCloseWhileTheAPIIsAway ends with everything stopped, too.
func TestCloseWhileTheAPIIsAway(t *testing.T) {
	b := &bench{T: t, api: newFakeAPI(t), notices: &journal[Notice]{}}
	server := serve(t, b.api, "127.0.0.1:0")
	url := server.URL
	server.Close()
	carrier := &http.Transport{}
	defer carrier.CloseIdleConnections()
	down := make(chan struct{})
	b.tracker = NewTracker(t.Context(), Config{
		Client: clientFor(t, url, carrier), Notify: func(Notice) { close(down) },
	})
	obj := b.deployment("a", false)
	g := b.tracker.Expect(targetOf(deployments, obj))
	b.write(g, deployments, obj)
	w := b.wait(g)
	<-down
	b.tracker.Close()
	<-w.done
	if !strings.Contains(w.err.Error(), "refused") {
		t.Errorf("got error %v", w.err)
	}
	expectNoGoroutines(t)
}
