// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/fakeapi"
	"github.com/ordered-helm/helm/internal/watcher/objectreader"
)

// streamOf returns the stream that observes a resource.
func (b *fixture) streamOf(gvr schema.GroupVersionResource) *stream {
	b.Helper()
	b.watcher.mu.Lock()
	defer b.watcher.mu.Unlock()
	s := b.watcher.streams[streamKey{gvr, namespace}]
	if s == nil {
		b.Fatalf("nothing observes %s", gvr.Resource)
	}
	return s
}

func TestSilentWatchIsSupplementedByReading(t *testing.T) {
	runTest(t, func(b *fixture) {
		b.api.PauseWatches(true)
		w := b.expectOne("a")
		b.api.Put(deployments, b.deployment("a", true))
		time.Sleep(maxSilence - time.Second)
		b.expectWaiting(w)
		time.Sleep(time.Second)
		b.expectOver(w, nil)
		b.expectObserved(w)
		b.expectRequests("watch deployments", "get deployments")
	})
}

func TestOneReadForEachSilence(t *testing.T) {
	for _, c := range []struct {
		name   string
		events time.Duration // the time between two events, or 0 for none
		reads  int
	}{
		{"silent", 0, 4},
		{"bookmarks", 10 * time.Second, 0},
		{"seldom bookmarks", 20 * time.Second, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			runTest(t, func(b *fixture) {
				w := b.expectOne("a")
				for began := time.Now(); time.Since(began) < time.Minute; {
					if c.events == 0 {
						time.Sleep(time.Minute)
						break
					}
					time.Sleep(c.events)
					b.api.SendBookmark(deployments, namespace)
				}
				b.expectWaiting(w)
				if got := b.api.Count("get deployments"); got != c.reads {
					b.Errorf("%d reads in a minute, want %d", got, c.reads)
				}
				if got := b.api.Count("watch deployments"); got != 1 {
					b.Errorf("%d watches", got)
				}
				b.watcher.Close()
				b.expectOver(w, ErrClosed)
			})
		})
	}
}

func TestNothingIsReadForNobody(t *testing.T) {
	runTest(t, func(b *fixture) {
		w := b.expectOne("a")
		b.api.Put(deployments, b.deployment("a", true))
		b.expectOver(w, nil)
		time.Sleep(time.Hour)
		b.expectRequests("watch deployments")
	})
}

// TestFailedReadOfASilentWatchChangesNothing checks that a failed read has no effect while
// the watch is open. A client that is allowed to watch may not have permission to get.
func TestFailedReadOfASilentWatchChangesNothing(t *testing.T) {
	for name, obstruct := range map[string]func(b *fixture){
		"denied":   func(b *fixture) { b.api.Fail("get", http.StatusForbidden) },
		"error":    func(b *fixture) { b.api.Fail("get", http.StatusInternalServerError) },
		"no reply": func(b *fixture) { b.api.Block("get deployments") },
	} {
		t.Run(name, func(t *testing.T) {
			runTest(t, func(b *fixture) {
				obstruct(b)
				w := b.expectOne("a")
				time.Sleep(time.Minute)
				b.expectWaiting(w)
				if b.api.Count("get deployments") == 0 {
					b.Error("nothing was read")
				}
				b.api.Put(deployments, b.deployment("a", true))
				time.Sleep(responseTimeout)
				b.expectOver(w, nil)
				b.expectObserved(w)
				b.expectChanges(w, "a InProgress LessAvailable", "a Ready Ready")
				if got := b.api.Count("watch deployments"); got != 1 {
					b.Errorf("%d watches", got)
				}
			})
		})
	}
}

func TestLookCountsWhatIsNewer(t *testing.T) {
	for _, versions := range []string{"%d", "v-%d"} {
		t.Run(versions, func(t *testing.T) {
			runTest(t, func(b *fixture) {
				b.api.FormatVersion = func(v int64) string { return fmt.Sprintf(versions, v) }
				b.api.PauseWatches(true)
				w := b.expectOne("a")
				s := b.streamOf(deployments)
				s.readNow(b.Context(), []string{"a", "unknown"})
				s.readNow(b.Context(), []string{"unknown"})
				b.expectWaiting(w)
				b.expectChanges(w, "a InProgress LessAvailable")
				b.api.Put(deployments, b.deployment("a", true))
				s.readNow(b.Context(), []string{"a"})
				b.expectOver(w, nil)
				if got := b.api.Count("get deployments"); got != 3 {
					b.Errorf("%d reads: what nobody waits for has to be read with others only", got)
				}
			})
		})
	}
}

// lateGets delays responses to single reads until the channel is closed. They contain the
// state at the time of the request.
func (b *fixture) lateGets() chan struct{} {
	gate := make(chan struct{})
	b.transport.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !fakeapi.IsGet(r) {
			b.api.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		b.api.ServeHTTP(answer, r)
		select {
		case <-gate:
		case <-r.Context().Done():
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})
	return gate
}

// TestLookThatWasOvertakenDoesNotCount checks a read during which the watch reports a newer
// state.
func TestLookThatWasOvertakenDoesNotCount(t *testing.T) {
	created, gone := "a InProgress LessAvailable", "a Missing Deleted"
	for _, c := range []struct {
		name           string
		first, overtly func(b *fixture)
		changes        []string
	}{
		{
			"an absence", func(b *fixture) { b.api.Delete(deployments, namespace, "a") },
			func(b *fixture) { b.api.Put(deployments, b.deployment("a", false)) },
			[]string{created, gone, created},
		},
		{
			"a state", func(b *fixture) { b.api.Put(deployments, b.deployment("a", true)) },
			func(b *fixture) {
				b.api.Put(deployments, b.deployment("a", false))
				b.api.Delete(deployments, namespace, "a")
			},
			[]string{created, gone},
		},
	} {
		for _, versions := range []string{"%d", "v-%d"} {
			t.Run(c.name+" "+versions, func(t *testing.T) {
				runTest(t, func(b *fixture) {
					b.api.FormatVersion = func(v int64) string { return fmt.Sprintf(versions, v) }
					gate := b.lateGets()
					w := b.expectOne("a")
					b.api.PauseWatches(true)
					from := b.api.Version()
					c.first(b)
					if c.name == "a state" { // only the read sees this state
						b.api.DropEventsAfterVersion(from)
					}
					looked := make(chan struct{})
					go func() {
						defer close(looked)
						b.streamOf(deployments).readNow(b.Context(), []string{"a"})
					}()
					synctest.Wait()
					c.overtly(b)
					b.api.PauseWatches(false)
					synctest.Wait()
					close(gate)
					<-looked
					b.expectWaiting(w)
					b.expectChanges(w, c.changes...)
					b.watcher.Close()
					b.expectOver(w, ErrClosed)
				})
			})
		}
	}
}

// TestAbsenceThatIsReadHidesNoCompletion checks that later events of the watch from before
// the read still count.
func TestAbsenceThatIsReadHidesNoCompletion(t *testing.T) {
	for name, others := range map[string]int{"one by one": 0, "by list": objectreader.MaxSingleReads} {
		t.Run(name, func(t *testing.T) {
			runTest(t, func(b *fixture) {
				job := b.job("j", jobRuns)
				g := b.watcher.ExpectReady(targetOf(jobs, job))
				b.write(g, jobs, job)
				w := b.wait(g)
				b.expectWaiting(w)
				b.api.PauseWatches(true)
				b.api.Put(jobs, b.job("j", jobComplete))
				b.api.Delete(jobs, namespace, "j")
				names := []string{"j"}
				for n := range others {
					names = append(names, fmt.Sprintf("other%d", n))
				}
				b.streamOf(jobs).readNow(b.Context(), names)
				b.expectWaiting(w)
				b.expectChanges(w, "j InProgress JobRunning", "j Missing Deleted")
				b.api.PauseWatches(false)
				b.expectOver(w, nil)
			})
		})
	}
}

func TestLookEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(b *fixture, cancel context.CancelFunc)
		took time.Duration
	}{
		{"with the watcher", func(b *fixture, _ context.CancelFunc) { b.watcher.Close() }, 0},
		{"with its context", func(_ *fixture, cancel context.CancelFunc) { cancel() }, 0},
		{"by itself", func(*fixture, context.CancelFunc) {}, responseTimeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			runTest(t, func(b *fixture) {
				b.api.Block("get deployments")
				w := b.expectOne("a")
				ctx, cancel := context.WithCancel(b.Context())
				defer cancel()
				began, looked := time.Now(), make(chan struct{})
				go func() {
					defer close(looked)
					b.streamOf(deployments).readNow(ctx, []string{"a"})
				}()
				synctest.Wait()
				c.end(b, cancel)
				<-looked
				if took := time.Since(began); took != c.took {
					b.Errorf("it took %s, want %s", took, c.took)
				}
				b.expectNotices()
				b.watcher.Close()
				b.expectOver(w, ErrClosed)
			})
		})
	}
}
