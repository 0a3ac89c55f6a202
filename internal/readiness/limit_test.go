// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"errors"
	"net/http"
	"testing"
	"time"
)

// expectLimited starts to wait for one Deployment that is not ready, for ten
// seconds at most.
func (b *bench) expectLimited(name string) *waiting {
	b.Helper()
	obj := b.deployment(name, false)
	g := b.tracker.Expect(targetOf(deployments, obj))
	b.write(g, deployments, obj)
	g.Within(Limit{Within: 10 * time.Second, Since: time.Now()})
	w := b.wait(g)
	b.expectWaiting(w)
	return w
}

func (b *bench) expectTimeout(w *waiting, began time.Time, took time.Duration) {
	b.Helper()
	<-w.done
	var timeout *TimeoutError
	var notReady *NotReadyError
	if !errors.As(w.err, &timeout) || timeout.Within != 10*time.Second || !errors.As(w.err, &notReady) || len(notReady.Reports) != 1 {
		b.Fatalf("got %v", w.err)
	}
	if got := time.Since(began); got < took || got > took+4*time.Second {
		b.Errorf("it took %s, want %s", got, took)
	}
}

func TestLimit(t *testing.T) {
	inBubble(t, func(b *bench) {
		began := time.Now()
		w := b.expectLimited("a")
		time.Sleep(10*time.Second - 1)
		b.expectWaiting(w)
		b.expectTimeout(w, began, 10*time.Second)
	})
}

func TestLimitCountsFromItsBeginning(t *testing.T) {
	inBubble(t, func(b *bench) {
		obj := b.deployment("a", false)
		g := b.tracker.Expect(targetOf(deployments, obj))
		b.write(g, deployments, obj)
		g.Within(Limit{Within: 10 * time.Second, Since: time.Now().Add(-11 * time.Second)})
		b.expectTimeout(b.wait(g), time.Now(), 0)
	})
}

// TestReadyAtTheLastMoment: what is ready is never out of time.
func TestReadyAtTheLastMoment(t *testing.T) {
	inBubble(t, func(b *bench) {
		obj := b.deployment("a", true)
		g := b.tracker.Expect(targetOf(deployments, obj))
		b.write(g, deployments, obj)
		g.Within(Limit{Within: time.Second, Since: time.Now().Add(-time.Hour)})
		b.expectOver(b.wait(g), nil)
	})
}

func TestTimeWithoutTheAPIDoesNotCount(t *testing.T) {
	for _, c := range []struct {
		name string
		away func(b *bench, away bool)
	}{
		{"nobody answers", func(b *bench, away bool) { b.transport.refuse(away) }},
		{"only errors are answered", func(b *bench, away bool) {
			status := http.StatusServiceUnavailable
			if !away {
				status = 0
			}
			b.api.refuse("watch", status)
			b.api.refuse("list", status)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(b *bench) {
				began := time.Now()
				w := b.expectLimited("a")
				time.Sleep(9 * time.Second)
				c.away(b, true)
				b.api.cutWatches()
				time.Sleep(time.Minute)
				b.expectWaiting(w)
				c.away(b, false)
				b.expectTimeout(w, began, 70*time.Second)
			})
		})
	}
}

// TestReadyWhileTheAPIWasAway: what happened meanwhile arrives before the time
// is over, even if there was next to none left.
func TestReadyWhileTheAPIWasAway(t *testing.T) {
	inBubble(t, func(b *bench) {
		w := b.expectLimited("a")
		time.Sleep(10*time.Second - time.Millisecond)
		b.transport.refuse(true)
		b.api.cutWatches()
		time.Sleep(time.Minute)
		b.api.put(deployments, b.deployment("a", true))
		b.transport.refuse(false)
		<-w.done
		b.expectOver(w, nil)
	})
}

// TestKindThatIsNotServedRunsOutOfTime: that answer comes from an API that is
// there.
func TestKindThatIsNotServedRunsOutOfTime(t *testing.T) {
	inBubble(t, func(b *bench) {
		b.api.refuse("watch deployments", http.StatusNotFound)
		b.api.refuse("list deployments", http.StatusNotFound)
		b.expectTimeout(b.expectLimited("a"), time.Now(), 10*time.Second)
	})
}
