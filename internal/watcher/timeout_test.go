// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/podwatch"
	"github.com/ordered-helm/helm/internal/waitlimit"
)

// expectLimited starts to wait for one Deployment that is not ready, with a timeout of ten
// seconds.
func (b *fixture) expectLimited(name string) *waiting {
	b.Helper()
	obj := b.deployment(name, false)
	g := b.watcher.ExpectReady(within(targetOf(deployments, obj), 10*time.Second))
	b.write(g, deployments, obj)
	g.SetOptions(WaitOptions{Start: time.Now()})
	w := b.wait(g)
	b.expectWaiting(w)
	return w
}

func within(t Target, limit time.Duration) Target {
	t.Limit = waitlimit.NewFixed(limit)
	return t
}

func (b *fixture) expectTimeout(w *waiting, began time.Time, took time.Duration) {
	b.Helper()
	<-w.done
	var timeout *waitlimit.TimeoutError
	var notReady *NotReadyError
	if !errors.As(w.err, &timeout) || timeout.Timeout != 10*time.Second || !errors.As(w.err, &notReady) || len(notReady.Reports) != 1 {
		b.Fatalf("got %v", w.err)
	}
	if got := time.Since(began); got < took || got > took+4*time.Second {
		b.Errorf("it took %s, want %s", got, took)
	}
}

func TestLimit(t *testing.T) {
	runTest(t, func(b *fixture) {
		began := time.Now()
		w := b.expectLimited("a")
		time.Sleep(10*time.Second - 1)
		b.expectWaiting(w)
		b.expectTimeout(w, began, 10*time.Second)
	})
}

func TestLimitCountsFromItsBeginning(t *testing.T) {
	runTest(t, func(b *fixture) {
		obj := b.deployment("a", false)
		g := b.watcher.ExpectReady(within(targetOf(deployments, obj), 10*time.Second))
		b.write(g, deployments, obj)
		g.SetOptions(WaitOptions{Start: time.Now().Add(-11 * time.Second)})
		b.expectTimeout(b.wait(g), time.Now(), 0)
	})
}

// TestReadyAtTheLastMoment checks that a ready object does not time out.
func TestReadyAtTheLastMoment(t *testing.T) {
	runTest(t, func(b *fixture) {
		obj := b.deployment("a", true)
		g := b.watcher.ExpectReady(within(targetOf(deployments, obj), time.Second))
		b.write(g, deployments, obj)
		g.SetOptions(WaitOptions{Start: time.Now().Add(-time.Hour)})
		b.expectOver(b.wait(g), nil)
	})
}

func TestTimeWithoutTheAPIDoesNotCount(t *testing.T) {
	for _, c := range []struct {
		name string
		away func(b *fixture, away bool)
	}{
		{"nobody answers", func(b *fixture, away bool) { b.transport.RefuseConnections(away) }},
		{"only errors are answered", func(b *fixture, away bool) {
			status := http.StatusServiceUnavailable
			if !away {
				status = 0
			}
			b.api.Fail("watch", status)
			b.api.Fail("list", status)
			b.api.Fail("get", status)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			runTest(t, func(b *fixture) {
				began := time.Now()
				w := b.expectLimited("a")
				time.Sleep(9 * time.Second)
				c.away(b, true)
				b.api.CloseWatches()
				time.Sleep(time.Minute)
				b.expectWaiting(w)
				c.away(b, false)
				b.expectTimeout(w, began, 70*time.Second)
			})
		})
	}
}

// TestStandstillWithoutTheAPI checks a limit that is not fixed: time without the API does not
// count, and progress during that time does.
func TestStandstillWithoutTheAPI(t *testing.T) {
	for _, progress := range []bool{false, true} {
		runTest(t, func(b *fixture) {
			pods := podwatch.New(b.Context(), b.client)
			defer pods.Close()
			obj := b.deployment("a", false)
			target := targetOf(deployments, obj)
			target.Limit = waitlimit.NewStandstill(waitlimit.StandstillConfig{Limit: 10 * time.Second, Pods: pods, Failure: &waitlimit.FirstFailure{}})
			g := b.watcher.ExpectReady(target)
			b.write(g, deployments, obj)
			began, want := time.Now(), 70*time.Second
			g.SetOptions(WaitOptions{Start: began})
			w := b.wait(g)
			b.expectWaiting(w)
			time.Sleep(9 * time.Second)
			b.transport.RefuseConnections(true)
			b.api.CloseWatches()
			time.Sleep(time.Minute)
			b.expectWaiting(w)
			if progress {
				want += 9 * time.Second
				more := b.deployment("a", false)
				if err := unstructured.SetNestedField(more.Object, int64(2), "status", "updatedReplicas"); err != nil {
					t.Fatal(err)
				}
				b.api.Put(deployments, more)
			}
			b.transport.RefuseConnections(false)
			<-w.done
			var stoodStill *waitlimit.StandstillError
			if !errors.As(w.err, &stoodStill) {
				b.Errorf("got %v", w.err)
			}
			if got := time.Since(began); got < want || got > want+4*time.Second {
				b.Errorf("it took %s, want %s", got, want)
			}
		})
	}
}

// TestUnlimitedAfterFailure checks that a failure ends the wait for another target of the group
// that has no limit.
func TestUnlimitedAfterFailure(t *testing.T) {
	runTest(t, func(b *fixture) {
		failure := &waitlimit.FirstFailure{}
		unlimited := targetOf(jobs, b.job("unlimited", jobRuns))
		unlimited.Limit = waitlimit.NewStandstill(waitlimit.StandstillConfig{Failure: failure})
		g := b.watcher.ExpectReady(targetOf(jobs, b.job("failing", jobRuns)), unlimited)
		b.write(g, jobs, b.job("failing", jobRuns))
		b.write(g, jobs, b.job("unlimited", jobRuns))
		g.SetOptions(WaitOptions{Start: time.Now(), WaitForAll: true, OnFailure: failure.Record})
		w := b.wait(g)
		time.Sleep(time.Hour)
		b.expectWaiting(w)
		b.api.Put(jobs, b.job("failing", jobFailed))
		time.Sleep(9 * time.Second)
		b.expectWaiting(w)
		time.Sleep(4 * time.Second)
		<-w.done
		if !errors.Is(w.err, ErrFailed) || !errors.Is(w.reports[1].TimedOut, waitlimit.ErrOtherFailure) || w.reports[0].TimedOut != nil {
			b.Errorf("got %v, %+v", w.err, w.reports)
		}
	})
}

// TestReadyWhileTheAPIWasAway checks that changes during an outage arrive before the
// timeout, even if almost no time is left.
func TestReadyWhileTheAPIWasAway(t *testing.T) {
	runTest(t, func(b *fixture) {
		w := b.expectLimited("a")
		time.Sleep(10*time.Second - time.Millisecond)
		b.transport.RefuseConnections(true)
		b.api.CloseWatches()
		time.Sleep(time.Minute)
		b.api.Put(deployments, b.deployment("a", true))
		b.transport.RefuseConnections(false)
		<-w.done
		b.expectOver(w, nil)
	})
}

// TestKindThatIsNotServedRunsOutOfTime checks that a kind that is not served is not an
// outage, because the API responds.
func TestKindThatIsNotServedRunsOutOfTime(t *testing.T) {
	runTest(t, func(b *fixture) {
		b.api.Fail("watch deployments", http.StatusNotFound)
		b.api.Fail("list deployments", http.StatusNotFound)
		b.expectTimeout(b.expectLimited("a"), time.Now(), 10*time.Second)
	})
}

// pair waits for two Deployments. The first one has a timeout of ten seconds.
func (b *fixture) pair(options WaitOptions) (*TargetGroup, *waiting) {
	b.Helper()
	one, two := b.deployment("one", false), b.deployment("two", false)
	g := b.watcher.ExpectReady(within(targetOf(deployments, one), 10*time.Second), targetOf(deployments, two))
	b.write(g, deployments, one)
	b.write(g, deployments, two)
	options.Start = time.Now()
	g.SetOptions(options)
	w := b.wait(g)
	b.expectWaiting(w)
	return g, w
}

// TestOthersAreFollowedToTheirOwnEnd checks that an object that has timed out remains so,
// and that the wait for the others continues.
func TestOthersAreFollowedToTheirOwnEnd(t *testing.T) {
	runTest(t, func(b *fixture) {
		_, w := b.pair(WaitOptions{WaitForAll: true})
		time.Sleep(11 * time.Second)
		b.api.Put(deployments, b.deployment("one", true))
		b.expectWaiting(w)
		b.api.Put(deployments, b.deployment("two", true))
		<-w.done
		var late *NotReadyError
		if !errors.As(w.err, &late) || len(late.Reports) != 1 || late.Reports[0].Target.Name != "one" || late.Reports[0].TimedOut == nil {
			b.Errorf("got %v", w.err)
		}
	})
}

// TestWhatIsNotReadyAnyMoreHasItsTimeAgain checks that the timeout starts again when an
// object becomes unready, while the wait for all objects continues.
func TestWhatIsNotReadyAnyMoreHasItsTimeAgain(t *testing.T) {
	runTest(t, func(b *fixture) {
		_, w := b.pair(WaitOptions{WaitForAll: true})
		time.Sleep(time.Second)
		b.api.Put(deployments, b.deployment("one", true))
		time.Sleep(20 * time.Second)
		b.api.Put(deployments, b.deployment("one", false))
		b.api.Put(deployments, b.deployment("two", true))
		time.Sleep(9 * time.Second)
		b.expectWaiting(w)
		b.api.Put(deployments, b.deployment("one", true))
		b.expectOver(w, nil)
	})
}

// TestHeldUntil checks that all objects must be ready when the channel is closed.
func TestHeldUntil(t *testing.T) {
	runTest(t, func(b *fixture) {
		hold := make(chan struct{})
		_, w := b.pair(WaitOptions{StayReadyUntil: hold})
		b.api.Put(deployments, b.deployment("one", true))
		b.api.Put(deployments, b.deployment("two", true))
		b.expectWaiting(w)
		b.api.Delete(deployments, namespace, "two")
		b.expectWaiting(w)
		close(hold)
		b.expectWaiting(w)
		b.api.Put(deployments, b.deployment("two", true))
		b.expectOver(w, nil)
	})
}

// TestLetGoAtAnyMoment closes the channel at different moments while the group evaluates
// its objects, and checks that the group always notices it.
func TestLetGoAtAnyMoment(t *testing.T) {
	runTest(t, func(b *fixture) {
		for round := range 5000 {
			hold := make(chan struct{})
			one := b.api.Put(deployments, b.deployment("one", true))
			g := b.watcher.ExpectReady(targetOf(deployments, one))
			b.applied(g, one)
			g.SetOptions(WaitOptions{Start: time.Now(), StayReadyUntil: hold})
			looked := make(chan struct{})
			w := b.background(func(func(Report)) ([]Report, error) {
				return g.Wait(b.Context(), func(Report) { close(looked) })
			})
			<-looked
			for range round % 500 { // a few microseconds, which do not count as time in the bubble
				b.api.OpenWatches()
			}
			close(hold)
			b.expectOver(w, nil)
		}
	})
}

// TestWhatMayNotBeReadHoldsUpNothingElse checks that the wait for other objects continues,
// and that only the object without permission is reported.
func TestWhatMayNotBeReadHoldsUpNothingElse(t *testing.T) {
	runTest(t, func(b *fixture) {
		for _, verb := range []string{"watch", "list", "get"} {
			b.api.Fail(verb+" deployments", http.StatusForbidden)
		}
		hidden, other := b.deployment("hidden", false), b.job("other", jobRuns)
		g := b.watcher.ExpectReady(targetOf(deployments, hidden), targetOf(jobs, other))
		b.write(g, deployments, hidden)
		b.write(g, jobs, other)
		g.SetOptions(WaitOptions{WaitForAll: true})
		w := b.wait(g)
		b.expectWaiting(w)
		b.api.Put(jobs, b.job("other", jobComplete))
		if forbidden := b.expectDenied(w); forbidden.Name != "hidden" {
			b.Errorf("got %v", forbidden)
		}
		var late *NotReadyError
		if !errors.As(w.err, &late) || len(late.Reports) != 1 || late.Reports[0].Forbidden == nil {
			b.Errorf("got %+v", w.err)
		}
	})
}
