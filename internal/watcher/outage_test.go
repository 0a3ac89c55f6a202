// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/watcher/notice"
	"github.com/ordered-helm/helm/internal/watcher/objectreader"
)

// expectObserved fails the test if observing was interrupted during a finished wait.
func (b *fixture) expectObserved(w *waiting) {
	b.Helper()
	b.expectNotices()
	for _, r := range w.reports {
		if r.Unobserved != 0 || r.ObserveError != nil {
			b.Errorf("%s: unobserved for %s, trouble %v", r.Target.Name, r.Unobserved, r.ObserveError)
		}
	}
}

// obstacles are ways in which watches fail while single objects can be read.
var obstacles = map[string]func(b *fixture){
	"watches are never answered": func(b *fixture) { b.api.Block("watch deployments") },
	"watches are dropped":        func(b *fixture) { b.transport.DropWatches(true) },
	"watches end at once": func(b *fixture) {
		b.transport.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Get("watch") == "" {
				b.api.ServeHTTP(w, r)
			}
		})
	},
	"watch and list are answered with errors": func(b *fixture) {
		b.api.Fail("watch", http.StatusInternalServerError)
		b.api.Fail("list", http.StatusInternalServerError)
	},
}

func TestReadingStandsInForTheWatch(t *testing.T) {
	for name, obstruct := range obstacles {
		for _, versions := range []string{"%d", "v-%d"} {
			t.Run(name+" "+versions, func(t *testing.T) {
				runTest(t, func(b *fixture) {
					b.api.FormatVersion = func(v int64) string { return fmt.Sprintf(versions, v) }
					obstruct(b)
					w := b.expectOne("a")
					time.Sleep(time.Minute)
					b.expectWaiting(w)
					b.api.Put(deployments, b.deployment("a", true))
					time.Sleep(10 * time.Second)
					b.expectOver(w, nil)
					if got := w.reports[0].ObserveError; got != nil {
						b.Errorf("got trouble %v", got)
					}
					b.expectObserved(w)
				})
			})
		}
	}
}

// TestReadingDoesNotStopTheClock checks that objects time out if they can be read but are
// not ready.
func TestReadingDoesNotStopTheClock(t *testing.T) {
	for name, obstruct := range obstacles {
		t.Run(name, func(t *testing.T) {
			runTest(t, func(b *fixture) {
				obstruct(b)
				began := time.Now()
				w := b.expectLimited("a")
				b.expectTimeout(w, began, 10*time.Second)
				b.expectObserved(w)
			})
		})
	}
}

func TestManyAreReadOneByOneWhenTheListFails(t *testing.T) {
	for name, n := range map[string]int{"some": 20, "more than are read at once": 3 * objectreader.MaxPartialReads} {
		t.Run(name, func(t *testing.T) {
			runTest(t, func(b *fixture) {
				obstacles["watch and list are answered with errors"](b)
				var targets []Target
				for n := range n {
					targets = append(targets, targetOf(deployments, b.deployment(fmt.Sprintf("d%d", n), false)))
				}
				g := b.watcher.ExpectReady(targets...)
				for n := range n {
					b.write(g, deployments, b.deployment(fmt.Sprintf("d%d", n), false))
				}
				w := b.wait(g)
				b.expectWaiting(w)
				if got := b.api.Count("get deployments"); got != min(n, objectreader.MaxPartialReads) {
					b.Errorf("%d reads at once", got)
				}
				for n := range n {
					b.api.Put(deployments, b.deployment(fmt.Sprintf("d%d", n), true))
				}
				<-w.done
				b.expectOver(w, nil)
				b.expectObserved(w)
			})
		})
	}
}

func TestNeitherWatchNorReadingIsTrouble(t *testing.T) {
	for name, c := range map[string]struct {
		obstruct func(b *fixture)
		want     string
	}{
		"never answered": {func(b *fixture) {
			b.api.Block("watch deployments")
			b.api.Block("get deployments")
		}, "does not respond"},
		"answered with errors": {func(b *fixture) {
			b.api.Fail("watch", http.StatusInternalServerError)
			b.api.Fail("get", http.StatusInternalServerError)
		}, "watching: "},
		"reading is not allowed": {func(b *fixture) {
			b.api.Fail("watch", http.StatusInternalServerError)
			b.api.Fail("get", http.StatusForbidden)
		}, "watching: "},
	} {
		t.Run(name, func(t *testing.T) {
			runTest(t, func(b *fixture) {
				c.obstruct(b)
				w := b.expectOne("a")
				time.Sleep(time.Minute)
				b.expectWaiting(w)
				b.expectNotices(notice.Unreachable)
				b.watcher.Close()
				b.expectOver(w, ErrClosed)
				if r := w.reports[0]; r.Unobserved < 50*time.Second || r.ObserveError == nil || !strings.Contains(r.ObserveError.Error(), c.want) {
					b.Errorf("unobserved for %s, trouble %v", r.Unobserved, r.ObserveError)
				}
			})
		})
	}
}

// TestReadingEndsAnOutage checks that the time before a successful read counts as
// unobserved, and the time after it does not.
func TestReadingEndsAnOutage(t *testing.T) {
	runTest(t, func(b *fixture) {
		w := b.expectOne("a")
		b.transport.DropWatches(true)
		b.transport.RefuseConnections(true)
		b.api.CloseWatches()
		time.Sleep(time.Minute)
		b.transport.RefuseConnections(false)
		time.Sleep(time.Minute)
		b.expectNotices(notice.Unreachable, notice.Reachable)
		b.api.Put(deployments, b.deployment("a", true))
		<-w.done
		b.expectOver(w, nil)
		if got := w.reports[0].Unobserved; got < time.Minute || got > time.Minute+2*maxRetryInterval {
			b.Errorf("unobserved for %s, want a minute", got)
		}
	})
}

func TestBlockedWatchEndsWithTheWatcher(t *testing.T) {
	for name, after := range map[string]time.Duration{
		"while it opens": time.Second, "while something is read instead": responseTimeout + time.Second,
	} {
		t.Run(name, func(t *testing.T) {
			runTest(t, func(b *fixture) {
				b.api.Block("watch deployments")
				b.api.Block("get deployments")
				w := b.expectOne("a")
				time.Sleep(after)
				began := time.Now()
				b.watcher.Close()
				b.expectOver(w, ErrClosed)
				if took := time.Since(began); took != 0 {
					b.Errorf("Close took %s", took)
				}
				b.expectNotices()
			})
		})
	}
}

// TestWatchIsTriedAgain checks that reads replace a watch only as long as necessary.
func TestWatchIsTriedAgain(t *testing.T) {
	runTest(t, func(b *fixture) {
		b.api.Fail("watch", http.StatusInternalServerError)
		w := b.expectOne("a")
		time.Sleep(time.Minute)
		b.api.Fail("watch", 0)
		time.Sleep(2 * maxRetryInterval)
		reads := b.api.Count("get deployments")
		b.api.Put(deployments, b.deployment("a", true))
		b.expectOver(w, nil)
		if got := b.api.Count("get deployments"); reads == 0 || got != reads {
			b.Errorf("got requests %q", b.api.Requests())
		}
	})
}

func TestFirstReadCountsAsTrouble(t *testing.T) {
	runTest(t, func(b *fixture) {
		healthy := b.expectOne("a")
		b.api.Fail("get jobs", http.StatusInternalServerError)
		w := b.wait(b.watcher.ExpectReady(targetOf(jobs, b.job("j", jobRuns))))
		b.api.Put(jobs, b.job("j", jobComplete))
		b.expectNotices(notice.Unreachable)
		b.api.CloseWatches()
		time.Sleep(time.Minute)
		b.expectNotices(notice.Unreachable)
		b.api.Fail("get jobs", 0)
		<-w.done
		b.expectOver(w, nil)
		b.expectNotices(notice.Unreachable, notice.Reachable)
		b.watcher.Close()
		b.expectOver(healthy, ErrClosed)
	})
}

// TestOneStreamInTrouble checks that notice.Reachable is not sent while another stream is
// still unreachable.
func TestOneStreamInTrouble(t *testing.T) {
	runTest(t, func(b *fixture) {
		job := b.job("j", jobRuns)
		g := b.watcher.ExpectReady(targetOf(jobs, job))
		b.write(g, jobs, job)
		broken, healthy := b.wait(g), b.expectOne("a")
		afflict := func(resource string, status int) {
			b.api.Fail("watch "+resource, status)
			b.api.Fail("get "+resource, status)
			b.api.CloseWatches()
			time.Sleep(time.Minute)
		}
		afflict("jobs", http.StatusInternalServerError)
		b.expectNotices(notice.Unreachable)
		afflict("deployments", http.StatusInternalServerError)
		afflict("deployments", 0)
		b.expectNotices(notice.Unreachable)
		afflict("jobs", 0)
		b.expectNotices(notice.Unreachable, notice.Reachable)
		afflict("deployments", http.StatusInternalServerError)
		b.expectNotices(notice.Unreachable, notice.Reachable, notice.Unreachable)
		b.watcher.Close()
		b.expectOver(broken, ErrClosed)
		b.expectOver(healthy, ErrClosed)
	})
}

// TestTimeOfAReadingInVainIsUnobserved checks that the time of failed reads counts as
// unobserved since the watch ended.
func TestTimeOfAReadingInVainIsUnobserved(t *testing.T) {
	runTest(t, func(b *fixture) {
		w := b.expectOne("a")
		time.Sleep(time.Second) // the watch has been opened
		b.api.Block("watch deployments")
		b.api.Block("get deployments")
		b.api.SendError(deployments, namespace, http.StatusInternalServerError)
		time.Sleep(time.Minute)
		b.watcher.Close()
		b.expectOver(w, ErrClosed)
		if got := w.reports[0].Unobserved; got != time.Minute {
			b.Errorf("unobserved for %s, want a minute", got)
		}
	})
}

// TestVersionsWithoutOrderAreListedAfterAReading checks that an earlier watch is not
// continued after a read, because it could report outdated versions as new ones.
func TestVersionsWithoutOrderAreListedAfterAReading(t *testing.T) {
	runTest(t, func(b *fixture) {
		b.api.FormatVersion = func(v int64) string { return fmt.Sprintf("v-%d", v) }
		w := b.expectOne("a")
		b.api.Fail("watch", http.StatusInternalServerError)
		b.api.CloseWatches()
		b.api.Put(deployments, b.deployment("other", true))
		time.Sleep(time.Minute)
		b.api.Fail("watch", 0)
		time.Sleep(2 * maxRetryInterval)
		b.expectWaiting(w)
		from, newest := b.api.WatchedFrom()[len(b.api.WatchedFrom())-1], b.api.FormatVersion(b.api.Version())
		if from != newest {
			b.Errorf("watched from %s, want %s", from, newest)
		}
		b.watcher.Close()
		b.expectOver(w, ErrClosed)
	})
}
