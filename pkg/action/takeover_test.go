// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/holder"
	"github.com/ordered-helm/helm/internal/record"
	"github.com/ordered-helm/helm/pkg/sequencer"
)

// leased is a revision that a process holds which gave its last sign of life so long ago.
func leased(t *testing.T, version int, status release.Status, process holder.Process, ago time.Duration) *release.Release {
	t.Helper()
	rel := charted(version, status)
	rec := &record.Record{Revision: version, Root: &sequencer.Chart{Name: "shop"}, Lease: &record.Lease{
		Revision: version, ID: "first", Operation: "upgrade", Process: process, Renewed: time.Now().Add(-ago), Seconds: int(leaseDuration / time.Second),
	}}
	var err error
	if rel.Chart, err = record.Attach(rel.Chart, rec); err != nil {
		t.Fatal(err)
	}
	return rel
}

var elsewhere = holder.Process{Host: "elsewhere", PID: 7, Birth: "another machine"}

// dead is a process of this machine that is no more.
func dead() holder.Process {
	p := holder.Self()
	p.Birth += "0"
	return p
}

// TestInquiry finds out whether a release is free: for how long it is looked, and what
// comes of it.
func TestInquiry(t *testing.T) {
	self := holder.Self()
	if self.Birth == "" {
		t.Skip("the kernel does not tell processes apart")
	}
	type scene struct {
		name     string
		status   release.Status
		lease    *holder.Process // nil if there is none
		ago      time.Duration
		takeover Takeover
		dry      bool
		own      string
		// meanwhile happens after so long.
		meanwhile func(*testing.T, *Configuration)
		after     time.Duration
		// free, stale and held are what comes of it; looked is how long that takes at most.
		free, stale bool
		looked      time.Duration
	}
	const pending = release.StatusPendingUpgrade
	renews := func(t *testing.T, cfg *Configuration) {
		t.Helper()
		if err := cfg.Releases.Update(leased(t, 2, pending, elsewhere, 0)); err != nil {
			t.Fatal(err)
		}
	}
	ends := func(t *testing.T, cfg *Configuration) {
		t.Helper()
		if err := cfg.Releases.Update(charted(2, release.StatusDeployed)); err != nil {
			t.Fatal(err)
		}
	}
	removes := func(t *testing.T, cfg *Configuration) {
		t.Helper()
		if _, err := cfg.Releases.Delete("rel", 2); err != nil {
			t.Fatal(err)
		}
	}
	dead := dead()
	for _, tt := range []scene{
		{name: "nobody works on it", status: release.StatusFailed, free: true},
		{name: "a lease of what is over", status: release.StatusDeployed, lease: &elsewhere, free: true},
		{name: "stock Helm", status: pending},
		{name: "stock Helm, and never", status: pending, takeover: TakeoverNever},
		{name: "stock Helm, by force", status: pending, takeover: TakeoverForce, stale: true},
		{name: "stock Helm uninstalls, by force", status: release.StatusUninstalling, takeover: TakeoverForce, stale: true},
		{name: "dead on this machine", status: pending, lease: &dead, stale: true},
		{name: "dead on this machine, and never", status: pending, lease: &dead, takeover: TakeoverNever},
		{name: "dead on this machine, in a dry run", status: pending, lease: &dead, dry: true, stale: true},
		{name: "its own", status: pending, lease: &elsewhere, own: "first", stale: true},
		{name: "silent from now on", status: pending, lease: &elsewhere, stale: true, looked: leaseDuration},
		{name: "silent for a while", status: pending, lease: &elsewhere, ago: 20 * time.Second, stale: true, looked: leaseDuration - 20*time.Second},
		{name: "silent for long", status: pending, lease: &elsewhere, ago: time.Hour, stale: true, looked: shortestLook},
		{name: "silent for long, in a dry run", status: pending, lease: &elsewhere, ago: time.Hour, dry: true, stale: true},
		{name: "silent for a while, in a dry run", status: pending, lease: &elsewhere, ago: time.Second, dry: true},
		{name: "with a clock that is ahead", status: pending, lease: &elsewhere, ago: -time.Hour, stale: true, looked: leaseDuration},
		{name: "alive on this machine, but silent", status: pending, lease: &self, stale: true, looked: leaseDuration},
		{name: "alive, with a clock far behind", status: pending, lease: &elsewhere, ago: time.Hour, meanwhile: renews, after: renewInterval, looked: renewInterval + lookInterval},
		{name: "alive, by force", status: pending, lease: &elsewhere, takeover: TakeoverForce, meanwhile: renews, after: renewInterval, looked: renewInterval + lookInterval},
		{name: "over meanwhile", status: pending, lease: &elsewhere, meanwhile: ends, after: time.Second, free: true, looked: lookInterval},
		{name: "removed meanwhile", status: pending, lease: &elsewhere, meanwhile: removes, after: time.Second, free: true, looked: lookInterval},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				rel := charted(2, tt.status)
				if tt.lease != nil {
					rel = leased(t, 2, tt.status, *tt.lease, tt.ago)
				}
				cfg := storedWith(t, charted(1, release.StatusSuperseded), rel)
				if tt.meanwhile != nil {
					time.AfterFunc(tt.after, func() { tt.meanwhile(t, cfg) })
				}
				began := time.Now()
				q := &inquiry{cfg: cfg, events: newEvents(nil), name: "rel", takeover: tt.takeover, dry: tt.dry, own: tt.own, helm: noObjection}
				f, err := q.run(t.Context())
				if took := time.Since(began); took > tt.looked+lookInterval || took < tt.looked-lookInterval {
					t.Errorf("looked for %s, want %s", took, tt.looked)
				}
				var held *HeldError
				switch wants := tt.free || tt.stale; {
				case wants != (err == nil):
					t.Fatalf("got %v", err)
				case !wants && (!errors.As(err, &held) || held.Revision != 2 || (held.Holder == nil) != (tt.lease == nil)):
					t.Errorf("got %+v", err)
				case wants && (f.stale != nil) != tt.stale:
					t.Errorf("it is stale: %v", f.stale != nil)
				}
				if tt.stale {
					last := newest(f.history)
					if last.Info.Status != release.StatusFailed || leaseOf(last) != nil || !strings.HasPrefix(last.Info.Description, "Interrupted: ") || f.stale.Info.Status != tt.status {
						t.Errorf("it is taken for %+v", last.Info)
					}
				}
			})
		})
	}
}

// TestInquiryEnds with the operation's time, and while the storage cannot be read.
func TestInquiryEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := errors.New("its time is over")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, over)
		defer cancel()
		cfg := storedWith(t, leased(t, 1, release.StatusPendingInstall, elsewhere, 0))
		q := &inquiry{cfg: cfg, events: newEvents(nil), name: "rel", helm: noObjection}
		if _, err := q.run(ctx); !errors.Is(err, over) {
			t.Errorf("got %v", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		away := errors.New("the storage is away")
		cfg := storedWith(t, leased(t, 1, release.StatusPendingInstall, elsewhere, 0))
		cfg.Releases.Driver = &unreadable{Driver: cfg.Releases.Driver, err: away}
		q := &inquiry{cfg: cfg, events: newEvents(nil), name: "rel", helm: noObjection}
		if _, err := q.run(t.Context()); !errors.Is(err, away) {
			t.Errorf("got %v", err)
		}
	})
}

// TestTakeOver records what is taken over as failed, unless somebody was faster.
func TestTakeOver(t *testing.T) {
	op := func(cfg *Configuration) *operation { return &operation{cfg: cfg, events: newEvents(nil)} }
	stale := leased(t, 2, release.StatusPendingUpgrade, dead(), time.Minute)
	cfg := storedWith(t, charted(1, release.StatusDeployed), stale)
	taken, err := op(cfg).takeOver(&found{last: stale, stale: stale})
	if err != nil || taken.status != release.StatusPendingUpgrade {
		t.Fatalf("got %+v, %v", taken, err)
	}
	left, err := cfg.Releases.Get("rel", 2)
	if err != nil || left.Info.Status != release.StatusFailed || len(left.Chart.Files) != 0 {
		t.Errorf("left %+v, %v", left.Info, err)
	}
	var held *HeldError
	if _, err := op(cfg).takeOver(&found{last: stale, stale: stale}); !errors.As(err, &held) {
		t.Errorf("taken over twice: %v", err)
	}
	if taken, err := op(cfg).takeOver(&found{}); taken != nil || err != nil {
		t.Errorf("got %v, %v", taken, err)
	}
}

// TestBeAlone gives a revision up whose predecessor another operation works on, or has
// removed, but not where that was only forgotten.
func TestBeAlone(t *testing.T) {
	tests := []struct {
		name       string
		before     *release.Release // nil if it is gone
		oldest     bool
		maxHistory int
		alone      bool
	}{
		{name: "as it was", before: charted(2, release.StatusDeployed), alone: true},
		{name: "failed", before: charted(2, release.StatusFailed), alone: true},
		{name: "being removed", before: charted(2, release.StatusUninstalling)},
		{name: "removed with all others"},
		{name: "forgotten", oldest: true, alone: true},
		{name: "forgotten as the only one", maxHistory: 1, alone: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ours := charted(3, release.StatusPendingUpgrade)
			cfg := storedWith(t, ours)
			for _, rel := range []*release.Release{tt.before, map[bool]*release.Release{true: charted(1, release.StatusDeployed)}[tt.oldest]} {
				if rel != nil {
					if err := cfg.Releases.Create(rel); err != nil {
						t.Fatal(err)
					}
				}
			}
			cfg.Releases.MaxHistory = tt.maxHistory
			op := &operation{cfg: cfg, events: newEvents(nil)}
			err := op.beAlone(ours, charted(2, release.StatusDeployed))
			var held *HeldError
			if (err == nil) != tt.alone || err != nil && !errors.As(err, &held) {
				t.Errorf("got %v", err)
			}
			if _, missing := cfg.Releases.Get("rel", 3); (missing == nil) != tt.alone {
				t.Errorf("its own revision is there: %v", missing == nil)
			}
		})
	}
}
