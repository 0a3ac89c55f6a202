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

	"github.com/ordered-helm/helm/internal/process"
	"github.com/ordered-helm/helm/internal/releaserecord"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// leased is a revision that a process holds which gave its last sign of life so long ago.
func leased(t *testing.T, version int, status release.Status, process process.Process, ago time.Duration) *release.Release {
	t.Helper()
	rel := charted(version, status)
	rec := &releaserecord.Record{Revision: version, Charts: &sequencer.Chart{Name: "shop"}, Lease: &releaserecord.Lease{
		Revision: version, ID: "first", Operation: "upgrade", Process: process, RenewedAt: time.Now().Add(-ago), Seconds: int(leaseDuration / time.Second),
	}}
	var err error
	if rel.Chart, err = releaserecord.WithRecord(rel.Chart, rec); err != nil {
		t.Fatal(err)
	}
	return rel
}

var elsewhere = process.Process{Host: "elsewhere", PID: 7, StartID: "another machine"}

// dead is a process of this machine that is no more.
func dead() process.Process {
	p := process.Current()
	p.StartID += "0"
	return p
}

// TestInquiry finds out whether a release is free: for how long it is looked, and what
// comes of it.
func TestInquiry(t *testing.T) {
	self := process.Current()
	if self.StartID == "" {
		t.Skip("the kernel does not tell processes apart")
	}
	type scene struct {
		name     string
		status   release.Status
		lease    *process.Process // nil if there is none
		ago      time.Duration
		takeover Takeover
		dry      bool
		undoes   *undone
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
		{name: "its own", status: pending, lease: &elsewhere, undoes: &undone{revision: 2, lease: "first"}, stale: true},
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
				q := &inquiry{cfg: cfg, events: newEvents(nil), name: "rel", takeover: tt.takeover, dry: tt.dry, undoes: tt.undoes, helm: noObjection}
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

// TestInquiryOfWhatIsUndone: an operation that failed undoes nothing where others have
// begun on the release since.
func TestInquiryOfWhatIsUndone(t *testing.T) {
	for _, tt := range []struct {
		name string
		last *release.Release
		may  bool
	}{
		{name: "it was recorded", last: charted(2, release.StatusFailed), may: true},
		{name: "it could not be recorded", last: leased(t, 2, release.StatusPendingUpgrade, elsewhere, 0), may: true},
		{name: "others have upgraded the release", last: charted(3, release.StatusDeployed)},
		{name: "others upgrade the release", last: leased(t, 3, release.StatusPendingUpgrade, elsewhere, 0)},
		{name: "others have removed the release", last: charted(2, release.StatusUninstalled)},
		{name: "others remove the release", last: leased(t, 2, release.StatusUninstalling, elsewhere, 0)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			undoes := &undone{revision: 2, lease: "first"}
			if strings.HasPrefix(tt.name, "others remove ") {
				undoes.lease = "another"
			}
			q := &inquiry{cfg: storedWith(t, tt.last), events: newEvents(nil), name: "rel", undoes: undoes, helm: noObjection}
			_, err := q.run(t.Context())
			var taken *TakenOverError
			if tt.may != (err == nil) || err != nil && !errors.As(err, &taken) {
				t.Errorf("got %v", err)
			}
		})
	}
}
