// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/fakeapi"
)

// randomObject is one object that is written and becomes ready some time later.
type randomObject struct {
	name    string
	mu      sync.Mutex
	isReady bool // the version that was written has become ready
}

// TestRandomFaults writes and changes objects and makes them ready in random order, with
// several groups, while watches are closed, history is compacted and the API fails. No
// group may wait forever, and none may return before the objects that it wrote are ready.
func TestRandomFaults(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			runTest(t, func(b *fixture) {
				random := rand.New(rand.NewPCG(seed, 1))
				if seed%10 == 9 {
					b.api.FormatVersion = func(v int64) string { return fmt.Sprintf("v-%d", v) }
				}
				var wg sync.WaitGroup
				for n := range 8 {
					b.startChanging(&wg, n, rand.New(rand.NewPCG(seed, uint64(n)+2)))
				}
				stop := make(chan struct{})
				disturbed := make(chan struct{})
				go func() {
					defer close(disturbed)
					b.disturb(random, stop)
				}()
				wg.Wait()
				close(stop)
				<-disturbed
			})
		})
	}
}

func (b *fixture) startChanging(wg *sync.WaitGroup, n int, random *rand.Rand) {
	r := &randomObject{name: fmt.Sprintf("t%d", n)}
	wg.Go(func() {
		pause := func() { time.Sleep(time.Duration(random.IntN(2000)) * time.Millisecond) }
		for release := 1; release <= 4; release++ {
			pause()
			g := b.watcher.ExpectReady(targetOf(things, b.randomThing(r.name, release, false)))
			if release > 1 && random.IntN(2) == 0 { // a last change of the previous release
				b.api.Put(things, b.randomThing(r.name, release-1, true))
			}
			r.set(false)
			written := b.api.Put(things, b.randomThing(r.name, release, false))
			finish := sync.OnceFunc(func() {
				r.set(true)
				b.api.Put(things, b.randomThing(r.name, release, true))
			})
			if random.IntN(3) == 0 { // ready before Applied is called
				finish()
			}
			if random.IntN(2) == 0 {
				pause()
			}
			b.applied(g, written)
			w := b.wait(g)
			pause()
			finish()
			<-w.done
			if w.err != nil || !r.get() {
				b.Errorf("%s, release %d: error %v, ready: %v", r.name, release, w.err, r.get())
			}
		}
	})
}

func (b *fixture) randomThing(name string, release int, isReady bool) *unstructured.Unstructured {
	status := map[bool]string{true: "True", false: "False"}[isReady]
	return fakeapi.Object(b.T, fmt.Sprintf(`{apiVersion: x.example/v1, kind: Thing, metadata: {name: %s, namespace: shop, labels: {release: "%d"}},
		status: {conditions: [{type: Ready, status: %q, reason: R}]}}`, name, release, status))
}

func (r *randomObject) set(isReady bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.isReady = isReady
}

func (r *randomObject) get() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.isReady
}

// disturb causes random faults until it is stopped. Afterwards the API works.
func (b *fixture) disturb(random *rand.Rand, stop chan struct{}) {
	defer b.transport.RefuseConnections(false)
	for {
		select {
		case <-stop:
			return
		case <-time.After(time.Duration(random.IntN(700)) * time.Millisecond):
		}
		switch random.IntN(8) {
		case 0, 1:
			b.api.CloseWatches()
		case 2:
			b.api.Compact()
		case 3:
			b.api.Compact()
			b.api.CloseWatches()
		case 4:
			b.api.SendError(things, namespace, http.StatusGone)
		case 5:
			b.transport.RefuseConnections(true)
			b.api.CloseWatches()
			time.Sleep(time.Duration(random.IntN(5000)) * time.Millisecond)
			b.transport.RefuseConnections(false)
		case 6:
			b.api.Fail("list", http.StatusInternalServerError)
			time.Sleep(time.Duration(random.IntN(1000)) * time.Millisecond)
			b.api.Fail("list", 0)
		case 7:
			b.api.SendBookmark(things, namespace)
		}
	}
}
