// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// observe waits for objects that the operation does not write.
func (b *fixture) observe(names ...string) *waiting {
	b.Helper()
	var targets []Target
	for _, name := range names {
		targets = append(targets, targetOf(deployments, b.deployment(name, true)))
	}
	return b.wait(b.watcher.ObserveReady(targets...))
}

// TestObserveReady checks waits for objects that the operation does not write: how many requests
// they send, and what they report.
func TestObserveReady(t *testing.T) {
	for _, c := range []struct {
		name                string
		before, after       func(b *fixture)
		gets, lists, opened int
		changes             []string
	}{
		{
			name: "ready", before: func(b *fixture) { b.api.Put(deployments, b.deployment("a", true)) },
			gets: 1, changes: []string{"a Ready Ready"},
		},
		{
			name: "appears", after: func(b *fixture) { b.api.Put(deployments, b.deployment("a", true)) },
			gets: 1, lists: 1, opened: 1, changes: []string{"a Missing NotFound", "a Ready Ready"},
		},
		{
			name: "becomes ready", before: func(b *fixture) { b.api.Put(deployments, b.deployment("a", false)) },
			after: func(b *fixture) { b.api.Put(deployments, b.deployment("a", true)) },
			gets:  1, lists: 1, opened: 1, changes: []string{"a InProgress LessAvailable", "a Ready Ready"},
		},
		{
			name: "too old for a watch",
			before: func(b *fixture) {
				b.api.Put(deployments, b.deployment("a", false))
				b.api.Put(deployments, b.deployment("b", false))
				b.api.Compact()
			},
			after: func(b *fixture) { b.api.Put(deployments, b.deployment("a", true)) },
			gets:  1, lists: 1, opened: 1, changes: []string{"a InProgress LessAvailable", "a Ready Ready"},
		},
		{
			name:   "deleted and created again",
			before: func(b *fixture) { b.api.Put(deployments, b.deployment("a", false)) },
			after: func(b *fixture) {
				b.api.Delete(deployments, namespace, "a")
				synctest.Wait()
				b.api.Put(deployments, b.deployment("a", true))
			},
			gets: 1, lists: 1, opened: 1, changes: []string{"a InProgress LessAvailable", "a Missing Deleted", "a Ready Ready"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			runTest(t, func(b *fixture) {
				if c.before != nil {
					c.before(b)
				}
				w := b.observe("a")
				if c.after != nil {
					time.Sleep(5 * time.Second)
					synctest.Wait()
					c.after(b)
				}
				b.expectOver(w, nil)
				for request, want := range map[string]int{"get deployments": c.gets, "list deployments": c.lists, "watch deployments": c.opened} {
					if got := b.api.Count(request); got != want {
						t.Errorf("%s: got %d requests, want %d", request, got, want)
					}
				}
				if got := w.changes.all(); !slices.Equal(got, c.changes) {
					t.Errorf("got  %q\nwant %q", got, c.changes)
				}
			})
		})
	}
}

// TestObserveInParallel checks that groups which start at random times while the objects change
// share one watch, and miss no change.
func TestObserveInParallel(t *testing.T) {
	for seed := range uint64(20) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			runTest(t, func(b *fixture) {
				random := rand.New(rand.NewPCG(seed, seed))
				const count = 40
				var waits []*waiting
				started := make(chan struct{})
				for n := range count {
					name := fmt.Sprintf("d%d", n)
					pause, create := time.Duration(random.IntN(20))*time.Millisecond, time.Duration(random.IntN(20))*time.Millisecond
					if random.IntN(3) == 0 {
						b.api.Put(deployments, b.deployment(name, false))
					}
					w := &waiting{done: make(chan struct{})}
					waits = append(waits, w)
					go func() {
						<-started
						time.Sleep(pause)
						inner := b.observe(name)
						<-inner.done
						w.err = inner.err
						close(w.done)
					}()
					go func() {
						<-started
						time.Sleep(create)
						b.api.Put(deployments, b.deployment(name, true))
					}()
				}
				late := b.observe("late") // keeps the stream running
				synctest.Wait()
				close(started)
				time.Sleep(time.Second)
				synctest.Wait()
				for _, w := range waits {
					b.expectOver(w, nil)
				}
				b.api.Put(deployments, b.deployment("late", true))
				b.expectOver(late, nil)
				if got := b.api.Count("watch deployments"); got != 1 {
					t.Errorf("%d watches were opened", got)
				}
			})
		})
	}
}

// TestObserveWhileListing checks that groups which start while the list of another one is in
// progress need no other list.
func TestObserveWhileListing(t *testing.T) {
	runTest(t, func(b *fixture) {
		gate := b.api.Block("list deployments")
		first := b.observe("a")
		synctest.Wait()
		second := b.observe("b")
		synctest.Wait()
		close(gate)
		synctest.Wait()
		b.api.Put(deployments, b.deployment("a", true))
		b.api.Put(deployments, b.deployment("b", true))
		b.expectOver(first, nil)
		b.expectOver(second, nil)
		if got := b.api.Count("list deployments"); got != 1 {
			t.Errorf("got %d lists", got)
		}
	})
}

// TestObserveDuringList checks that an object which a list delivers while it is read is not lost.
func TestObserveDuringList(t *testing.T) {
	runTest(t, func(b *fixture) {
		get := b.api.Block("get deployments")
		slow := b.observe("a")
		synctest.Wait()
		first := b.observe("b", "c", "d", "e", "f", "g", "h", "i", "j") // reads with a list
		time.Sleep(time.Second)
		synctest.Wait()
		close(get)
		synctest.Wait()
		b.api.Put(deployments, b.deployment("a", true))
		b.expectOver(slow, nil)
		for name := 'b'; name <= 'j'; name++ {
			b.api.Put(deployments, b.deployment(string(name), true))
		}
		b.expectOver(first, nil)
		if got := b.api.Count("watch deployments"); got != 1 {
			t.Errorf("%d watches were opened", got)
		}
	})
}

func TestObserveForbidden(t *testing.T) {
	t.Run("get", func(t *testing.T) {
		runTest(t, func(b *fixture) {
			b.api.Fail("get deployments", http.StatusForbidden)
			if e := b.expectDenied(b.observe("a")); e.Verb != "get" || e.Namespace != namespace {
				t.Errorf("got %v", e)
			}
		})
	})
	t.Run("list and watch", func(t *testing.T) {
		runTest(t, func(b *fixture) {
			b.api.Fail("list", http.StatusForbidden)
			b.api.Fail("watch", http.StatusForbidden)
			w := b.observe("a")
			time.Sleep(time.Minute)
			b.api.Put(deployments, b.deployment("a", true))
			time.Sleep(pollInterval)
			b.expectOver(w, nil)
		})
	})
}
