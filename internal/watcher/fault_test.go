// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/watcher/notice"
)

func (b *fixture) expectNotices(want ...notice.Kind) {
	b.Helper()
	synctest.Wait()
	var got []notice.Kind
	for _, n := range b.notices.all() {
		got = append(got, n.Kind)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		b.Errorf("got notices %v, want %v", b.notices.all(), want)
	}
}

func TestWatchThatEndsGoesOnWhereItWas(t *testing.T) {
	runTest(t, func(b *fixture) {
		w := b.expectOne("a")
		b.api.SendBookmark(deployments, namespace)
		b.expectWaiting(w)
		bookmark := fmt.Sprint(b.api.Version())
		b.api.CloseWatches()
		b.api.Put(deployments, b.deployment("a", true))
		b.expectOver(w, nil)
		b.expectRequests("watch deployments", "watch deployments")
		if got := b.api.WatchedFrom()[1]; got != bookmark {
			b.Errorf("went on from %s, want the bookmark at %s", got, bookmark)
		}
		b.expectNotices()
	})
}

func TestWatchThatEndsAtOnceIsNotHammered(t *testing.T) {
	runTest(t, func(b *fixture) {
		w := b.expectOne("a")
		began := time.Now()
		for time.Since(began) < time.Minute {
			b.api.CloseWatches()
			time.Sleep(10 * time.Millisecond)
		}
		if n := b.api.Count("watch deployments"); n > 60 {
			b.Errorf("%d watches in a minute", n)
		}
		b.api.Put(deployments, b.deployment("a", true))
		<-w.done
		b.expectOver(w, nil)
	})
}

func TestExpiredVersionLeadsToOneList(t *testing.T) {
	for name, expire := range map[string]func(b *fixture){
		"told by the answer": func(b *fixture) {
			b.api.CloseWatches()
		},
		"told by an event": func(b *fixture) {
			b.api.SendError(deployments, namespace, http.StatusGone)
		},
	} {
		t.Run(name, func(t *testing.T) {
			runTest(t, func(b *fixture) {
				w := b.expectOne("a")
				gone := b.expectOne("gone")
				watch, list := b.api.Block("watch deployments"), b.api.Block("list deployments")
				b.api.Put(deployments, b.deployment("a", false)) // so that the watch counts as healthy
				b.expectWaiting(w)
				expire(b)
				synctest.Wait()
				b.api.Put(deployments, b.deployment("a", true))
				b.api.Delete(deployments, namespace, "gone")
				b.api.Compact()
				close(watch)
				close(list)
				b.expectOver(w, nil)
				b.expectWaiting(gone)
				b.expectChanges(gone, "gone InProgress LessAvailable", "gone Missing Deleted")
				if got := b.api.Count("list deployments"); got != 1 {
					b.Errorf("%d lists, want 1", got)
				}
				b.api.Put(deployments, b.deployment("gone", true))
				b.expectOver(gone, nil)
				if !gone.reports[0].Replaced {
					b.Error("the object was created anew, and the report does not say so")
				}
				if got := b.api.Count("list deployments"); got != 1 {
					b.Errorf("%d lists, want 1", got)
				}
			})
		})
	}
}

func TestAPIThatIsAwayForAWhile(t *testing.T) {
	runTest(t, func(b *fixture) {
		w := b.expectOne("a")
		other := b.expectOne("other")
		b.transport.RefuseConnections(true)
		b.api.CloseWatches()
		time.Sleep(time.Minute)
		b.expectWaiting(w)
		b.expectNotices(notice.Unreachable)
		b.api.Put(deployments, b.deployment("a", true))
		b.transport.RefuseConnections(false)
		<-w.done
		b.expectOver(w, nil)
		b.expectNotices(notice.Unreachable, notice.Reachable)
		if got := w.reports[0].Unobserved; got < time.Minute || got > time.Minute+2*maxRetryInterval {
			b.Errorf("unobserved for %s, want a minute", got)
		}
		if got := b.notices.all()[0].String(); !strings.Contains(got, "refused") || !strings.Contains(got, `deployments.apps in namespace "shop"`) {
			b.Errorf("got notice %q", got)
		}
		b.watcher.Close()
		b.expectOver(other, ErrClosed)
	})
}

// TestConnectionsThatAreDroppedAreNoWatches checks connections that are closed without a
// response, for example by a load balancer whose server is unavailable. To the client, they
// look like a watch that ended.
func TestConnectionsThatAreDroppedAreNoWatches(t *testing.T) {
	runTest(t, func(b *fixture) {
		began := time.Now()
		w := b.expectLimited("a")
		b.transport.DropConnections(true)
		b.api.CloseWatches()
		time.Sleep(time.Minute)
		b.expectWaiting(w)
		b.expectNotices(notice.Unreachable)
		b.transport.DropConnections(false)
		b.expectTimeout(w, began, 70*time.Second)
		b.expectNotices(notice.Unreachable, notice.Reachable)
	})
}

// TestOneWatchForWhatWasWrittenTogether checks that the first wait starts the watch early
// enough for the others.
func TestOneWatchForWhatWasWrittenTogether(t *testing.T) {
	runTest(t, func(b *fixture) {
		var groups []*TargetGroup
		for n := range 20 {
			obj := b.deployment(fmt.Sprintf("d%d", n), false)
			g := b.watcher.ExpectReady(targetOf(deployments, obj))
			b.write(g, deployments, obj)
			groups = append(groups, g)
		}
		for n := len(groups) - 1; n >= 0; n-- {
			b.expectWaiting(b.wait(groups[n]))
		}
		if got := b.api.Count("watch deployments"); got != 1 {
			b.Errorf("%d watches, want 1", got)
		}
		b.watcher.Close()
	})
}

func TestTroubleIsPartOfTheError(t *testing.T) {
	runTest(t, func(b *fixture) {
		w := b.expectOne("a")
		b.api.Fail("watch", http.StatusInternalServerError)
		b.api.Fail("get", http.StatusInternalServerError)
		b.api.CloseWatches()
		time.Sleep(time.Second)
		b.watcher.Close()
		b.expectOver(w, ErrClosed)
		if !strings.Contains(w.err.Error(), "currently cannot be observed: watching: ") {
			b.Errorf("got %v", w.err)
		}
	})
}

func TestForbiddenWatchIsReplacedByReading(t *testing.T) {
	for _, status := range []int{http.StatusForbidden, http.StatusMethodNotAllowed} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			runTest(t, func(b *fixture) {
				b.api.Fail("watch deployments", status)
				w := b.expectOne("a")
				b.expectRequests("watch deployments", "get deployments")
				time.Sleep(10 * time.Second)
				b.api.Put(deployments, b.deployment("a", true))
				time.Sleep(pollInterval)
				b.expectOver(w, nil)
				later := b.expectOne("b")
				b.api.Delete(deployments, namespace, "b")
				time.Sleep(pollInterval)
				b.expectWaiting(later)
				b.expectChanges(later, "b InProgress LessAvailable", "b Missing Deleted")
				b.api.Put(deployments, b.deployment("b", true))
				time.Sleep(pollInterval)
				b.expectOver(later, nil)
				b.expectNotices(notice.Polling)
				if n := b.api.Count("watch deployments"); n != 1 {
					b.Errorf("%d watches were tried", n)
				}
				if got := b.notices.all()[0].String(); !strings.Contains(got, `cannot watch deployments.apps in namespace "shop", reading every 2s`) {
					b.Errorf("got notice %q", got)
				}
			})
		})
	}
}

func TestManyObjectsAreReadByList(t *testing.T) {
	for name, listAllowed := range map[string]bool{"list allowed": true, "list forbidden": false} {
		t.Run(name, func(t *testing.T) {
			runTest(t, func(b *fixture) {
				b.api.Fail("watch", http.StatusForbidden)
				if !listAllowed {
					b.api.Fail("list", http.StatusForbidden)
				}
				var targets []Target
				for n := range 20 {
					targets = append(targets, targetOf(deployments, b.deployment(fmt.Sprintf("d%d", n), false)))
				}
				g := b.watcher.ExpectReady(targets...)
				for n := range 20 {
					b.write(g, deployments, b.deployment(fmt.Sprintf("d%d", n), false))
				}
				w := b.wait(g)
				b.expectWaiting(w)
				for n := range 20 {
					b.api.Put(deployments, b.deployment(fmt.Sprintf("d%d", n), true))
				}
				time.Sleep(pollInterval)
				b.expectOver(w, nil)
				wantLists, wantGets := 2, 0
				if !listAllowed {
					wantLists, wantGets = 1, 40
				}
				if lists, gets := b.api.Count("list deployments"), b.api.Count("get deployments"); lists != wantLists || gets != wantGets {
					b.Errorf("%d lists and %d gets, want %d and %d", lists, gets, wantLists, wantGets)
				}
			})
		})
	}
}

func TestNothingIsAllowed(t *testing.T) {
	runTest(t, func(b *fixture) {
		b.api.Fail("watch", http.StatusForbidden)
		b.api.Fail("list", http.StatusForbidden)
		b.api.Fail("get", http.StatusForbidden)
		a := b.deployment("a", false)
		g := b.watcher.ExpectReady(targetOf(deployments, a))
		b.write(g, deployments, a)
		w := b.wait(g)
		if denied := b.expectDenied(w); denied.Verb != "get" || denied.Name != "a" || denied.Resource.Resource != "deployments" {
			b.Errorf("got %#v", denied)
		}
		if want := `no permission to get deployments.apps in namespace "shop"`; !strings.Contains(w.err.Error(), want) {
			b.Errorf("got error %q, want it to say %q", w.err, want)
		}
		// Objects that were not written are read first.
		if denied := b.expectDenied(b.wait(b.watcher.ExpectReady(targetOf(deployments, a)))); denied.Name != "a" {
			b.Errorf("got %#v", denied)
		}
	})
}

func TestForbiddenListAfterExpiry(t *testing.T) {
	runTest(t, func(b *fixture) {
		b.api.Fail("list", http.StatusForbidden)
		written := b.api.Put(deployments, b.deployment("a", false))
		b.api.SendBookmark(deployments, namespace)
		b.api.Compact()
		g := b.watcher.ExpectReady(targetOf(deployments, written))
		b.applied(g, written)
		w := b.wait(g)
		b.expectWaiting(w)
		b.expectRequests("watch deployments", "list deployments", "get deployments")
		b.api.Put(deployments, b.deployment("a", true))
		time.Sleep(pollInterval)
		b.expectOver(w, nil)
		b.expectNotices(notice.Polling)
	})
}

func TestPollingOutlivesAnOutage(t *testing.T) {
	runTest(t, func(b *fixture) {
		b.api.Fail("watch", http.StatusForbidden)
		w := b.expectOne("a")
		b.transport.RefuseConnections(true)
		time.Sleep(time.Minute)
		b.api.Put(deployments, b.deployment("a", true))
		b.transport.RefuseConnections(false)
		<-w.done
		b.expectOver(w, nil)
		b.expectNotices(notice.Polling, notice.Unreachable, notice.Reachable)
	})
}

func TestResourceThatIsNotServedYet(t *testing.T) {
	runTest(t, func(b *fixture) {
		b.api.Fail("watch things", http.StatusNotFound)
		b.api.Fail("list things", http.StatusNotFound)
		thing := fakeapi.Object(b.T, `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a, namespace: shop},
			status: {conditions: [{type: Ready, status: "False", reason: R}]}}`)
		g := b.watcher.ExpectReady(targetOf(things, thing))
		written := b.api.Put(things, thing)
		b.applied(g, written)
		w := b.wait(g)
		time.Sleep(10 * time.Second)
		b.expectWaiting(w)
		b.expectChanges(w, "a InProgress R", "a Missing Deleted")
		b.api.Fail("watch things", 0)
		b.api.Fail("list things", 0)
		time.Sleep(10 * time.Second)
		b.expectWaiting(w)
		b.expectChanges(w, "a InProgress R", "a Missing Deleted", "a InProgress R")
		b.api.Put(things, fakeapi.Object(b.T, `{apiVersion: x.example/v1, kind: Thing, metadata: {name: a, namespace: shop},
			status: {conditions: [{type: Ready, status: "True"}]}}`))
		b.expectOver(w, nil)
	})
}

func TestIdleStreamStopsAndStartsAgain(t *testing.T) {
	runTest(t, func(b *fixture) {
		w := b.expectOne("a")
		b.api.Put(deployments, b.deployment("a", true))
		b.expectOver(w, nil)
		b.api.CloseWatches()
		time.Sleep(time.Hour)
		synctest.Wait()
		b.expectRequests("watch deployments")
		w = b.expectOne("b")
		b.api.Put(deployments, b.deployment("b", true))
		b.expectOver(w, nil)
		b.expectRequests("watch deployments", "watch deployments")
		if got := w.reports[0].Unobserved; got != 0 {
			b.Errorf("unobserved for %s, though the API was there all the time", got)
		}
	})
}

func TestEndOfTheOperationIsNoOutage(t *testing.T) {
	runTest(t, func(b *fixture) {
		ctx, cancel := context.WithCancel(b.Context())
		watcher := New(ctx, Config{Client: b.client, Notify: b.notices.add})
		defer watcher.Close()
		a := b.deployment("a", false)
		g := watcher.ExpectReady(targetOf(deployments, a))
		b.write(g, deployments, a)
		w := b.wait(g)
		b.expectWaiting(w)
		cancel()
		b.expectOver(w, ErrClosed)
		b.expectNotices()
	})
}
