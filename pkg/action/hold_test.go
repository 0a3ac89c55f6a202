// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/httpretry"
	"github.com/ordered-helm/helm/internal/releaserecord"
)

// charted is a revision with a chart, so that it can have a record.
func charted(version int, status release.Status) *release.Release {
	rel := revision(version, status)
	rel.Chart = &chart.Chart{Metadata: &chart.Metadata{Name: "shop", Version: "1.0.0"}}
	return rel
}

// storedWith is a configuration whose storage has these revisions.
func storedWith(t *testing.T, revisions ...*release.Release) *Configuration {
	t.Helper()
	cfg := &Configuration{Releases: storage.Init(driver.NewMemory()), Log: t.Logf}
	for _, rel := range revisions {
		if err := cfg.Releases.Create(rel); err != nil {
			t.Fatal(err)
		}
	}
	return cfg
}

// holding is a ledger that holds a stored revision, and why its operation was ended.
func holding(t *testing.T, cfg *Configuration, rel *release.Release) (*ledger, func() error) {
	t.Helper()
	l := newLedger(cfg, rel)
	if err := l.keepOnly(nil); err != nil {
		t.Fatal(err)
	}
	ctx, lose := context.WithCancelCause(t.Context())
	t.Cleanup(func() { lose(nil) })
	if err := l.hold("upgrade", rel.Info.Status, lose); err != nil {
		t.Fatal(err)
	}
	if err := cfg.Releases.Create(ownRelease(rel)); err != nil {
		t.Fatal(err)
	}
	return l, func() error {
		if ctx.Err() == nil {
			return nil
		}
		return context.Cause(ctx)
	}
}

func storedLease(t *testing.T, cfg *Configuration, version int) *releaserecord.Lease {
	t.Helper()
	rel, err := cfg.Releases.Get("rel", version)
	if err != nil {
		t.Fatal(err)
	}
	return leaseOf(rel)
}

// TestLease is there from the first write, renewed while the operation lives, and gone
// with the last one: the release is then stored as it would be without.
func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := storedWith(t, charted(1, release.StatusDeployed))
		rel := charted(2, release.StatusPendingUpgrade)
		l, ended := holding(t, cfg, rel)
		first := storedLease(t, cfg, 2)
		if first == nil || first.Operation != "upgrade" || first.Duration() != leaseDuration || first.HasExited() {
			t.Fatalf("the lease is %+v", first)
		}
		l.begin()
		for range 3 {
			before := storedLease(t, cfg, 2)
			time.Sleep(renewInterval)
			synctest.Wait()
			if now := storedLease(t, cfg, 2); now.ID != first.ID || !now.RenewedAt.After(before.RenewedAt) {
				t.Errorf("renewed from %+v to %+v", before, now)
			}
		}
		l.pause()
		if err := l.store(func(rel *release.Release) { rel.SetStatus(release.StatusDeployed, "done") }); err != nil {
			t.Fatal(err)
		}
		last, err := cfg.Releases.Get("rel", 2)
		if err != nil || len(last.Chart.Files) != 0 {
			t.Errorf("stored with %v, %v", last.Chart.Files, err)
		}
		if err := ended(); err != nil {
			t.Errorf("the operation was ended: %v", err)
		}
	})
}

// TestLostLease: what others do to a revision ends the operation that held it, at the
// next sign of life or the next write after it was away; nothing is written then.
func TestLostLease(t *testing.T) {
	tests := []struct {
		name string
		do   func(*testing.T, *Configuration)
		by   string
	}{
		{"recorded as failed", func(t *testing.T, cfg *Configuration) {
			t.Helper()
			if err := cfg.Releases.Update(charted(2, release.StatusFailed)); err != nil {
				t.Fatal(err)
			}
		}, "another operation"},
		{"removed", func(t *testing.T, cfg *Configuration) {
			t.Helper()
			if _, err := cfg.Releases.Delete("rel", 2); err != nil {
				t.Fatal(err)
			}
		}, "record"},
		{"another revision", func(t *testing.T, cfg *Configuration) {
			t.Helper()
			holding(t, cfg, charted(3, release.StatusPendingRollback))
		}, "helm upgrade on "},
		{"another lease", func(t *testing.T, cfg *Configuration) {
			t.Helper()
			if _, err := cfg.Releases.Delete("rel", 2); err != nil {
				t.Fatal(err)
			}
			holding(t, cfg, charted(2, release.StatusPendingUpgrade))
		}, "helm upgrade on "},
	}
	for _, tt := range tests {
		for name, ask := range map[string]func(*ledger) error{
			"a sign of life": func(l *ledger) error { l.renew(); return l.lostTo() },
			"a change":       func(l *ledger) error { time.Sleep(leaseDuration); return l.mayChange() },
			"a write":        func(l *ledger) error { time.Sleep(leaseDuration); return l.store(nil) },
		} {
			t.Run(tt.name+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					cfg := storedWith(t, charted(1, release.StatusDeployed))
					l, ended := holding(t, cfg, charted(2, release.StatusPendingUpgrade))
					tt.do(t, cfg)
					var taken *TakenOverError
					if err := ask(l); !errors.As(err, &taken) || !strings.Contains(err.Error(), tt.by) {
						t.Errorf("got %v", err)
					}
					if !errors.As(ended(), &taken) {
						t.Errorf("the operation ended with %v", ended())
					}
					for _, write := range []func() error{func() error { return l.store(nil) }, l.mayChange} {
						if err := write(); !errors.As(err, &taken) {
							t.Errorf("it goes on: %v", err)
						}
					}
				})
			})
		}
	}
}

// TestNewerRevision: an operation is not concluded where a Helm of another make has made a
// newer revision, and leaves its own one as failed.
func TestNewerRevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := storedWith(t, charted(1, release.StatusDeployed))
		l, ended := holding(t, cfg, charted(2, release.StatusPendingUpgrade))
		if err := l.mayConclude(); err != nil {
			t.Errorf("got %v, where there is none", err)
		}
		if err := cfg.Releases.Create(charted(3, release.StatusDeployed)); err != nil {
			t.Fatal(err)
		}
		var taken *TakenOverError
		if err := l.mayConclude(); !errors.As(err, &taken) || !errors.As(ended(), &taken) {
			t.Errorf("got %v, and the operation ended with %v", err, ended())
		}
		left, err := cfg.Releases.Get("rel", 2)
		if err != nil || left.Info.Status != release.StatusFailed || left.Info.Description != "Interrupted: revision 3 was made meanwhile" || leaseOf(left) != nil {
			t.Errorf("it is left as %+v, with the lease %+v, %v", left.Info, leaseOf(left), err)
		}
	})
}

// TestSureLease asks nothing while nobody can have taken the release over, nor where the
// storage cannot be asked for long.
func TestSureLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := storedWith(t, charted(1, release.StatusDeployed))
		l, _ := holding(t, cfg, charted(2, release.StatusPendingUpgrade))
		away := errors.New("the storage is away")
		deaf := &unreadable{Driver: cfg.Releases.Driver, err: away}
		cfg.Releases.Driver = deaf
		time.Sleep(trustDuration - time.Second)
		if err := l.mayChange(); err != nil || deaf.asked > 0 {
			t.Errorf("got %v, asked %d times", err, deaf.asked)
		}
		time.Sleep(time.Second)
		if err := l.mayChange(); !errors.Is(err, away) || deaf.asked != 1 {
			t.Errorf("got %v, asked %d times", err, deaf.asked)
		}
		deaf.err = nil
		if err := l.mayChange(); err != nil {
			t.Errorf("got %v, when the storage is back", err)
		}
	})
}

// TestLeaseOfWhoMayOnlyWrite is renewed although nobody may read it, as accounts are that
// may only create and update; but after it was away it changes nothing.
func TestLeaseOfWhoMayOnlyWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := storedWith(t, charted(1, release.StatusDeployed))
		l, _ := holding(t, cfg, charted(2, release.StatusPendingInstall))
		blind := &unreadable{Driver: cfg.Releases.Driver, err: apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "rel", nil)}
		cfg.Releases.Driver = blind
		for range 10 {
			time.Sleep(renewInterval)
			l.renew()
		}
		time.Sleep(renewInterval)
		if err := l.mayChange(); err != nil {
			t.Errorf("got %v", err)
		}
		blind.err = nil
		if age := time.Since(storedLease(t, cfg, 2).RenewedAt); age != renewInterval {
			t.Errorf("the last sign of life was %s ago", age)
		}
		blind.err = apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "rel", nil)
		time.Sleep(leaseDuration)
		if err := l.mayChange(); !apierrors.IsForbidden(err) {
			t.Errorf("got %v, when it was away", err)
		}
	})
}

// TestWritesThatTakeLong are tried again, but not once others may have taken the release
// over.
func TestWritesThatTakeLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := storedWith(t, charted(1, release.StatusDeployed))
		l, _ := holding(t, cfg, charted(2, release.StatusPendingUpgrade))
		w := &witness{Driver: cfg.Releases.Driver}
		cfg.Releases.Driver = w
		late := func(lates int) func(int) error {
			return func(try int) error {
				time.Sleep(8 * time.Second)
				if try <= lates {
					return fmt.Errorf("update: %w", &httpretry.RecordTimeoutError{Err: errors.New("no answer")})
				}
				return nil
			}
		}
		w.before = late(2)
		if err := l.store(nil); err != nil || w.tries != 3 {
			t.Errorf("got %v after %d tries", err, w.tries)
		}
		w.tries, w.before = 0, late(1000)
		var gaveUp *httpretry.RecordTimeoutError
		if err := l.store(nil); !errors.As(err, &gaveUp) || w.tries > 7 {
			t.Errorf("got %v after %d tries", err, w.tries)
		}
		time.Sleep(leaseDuration)
		if err := cfg.Releases.Create(charted(3, release.StatusPendingUpgrade)); err != nil {
			t.Fatal(err)
		}
		w.tries, w.before = 0, nil
		var taken *TakenOverError
		if err := l.store(nil); !errors.As(err, &taken) || w.tries != 1 { // which ends it as failed
			t.Errorf("got %v after %d tries", err, w.tries)
		}
	})
}

// TestEndThatIsStored is taken for our own though the answer to it was lost, and not for what
// others have made of the release.
func TestEndThatIsStored(t *testing.T) {
	finished := func(rel *release.Release) {
		rel.Info.Status, rel.Info.Description = release.StatusDeployed, "Upgrade complete"
	}
	for _, tt := range []struct {
		name   string
		stored func(*release.Release) // what is in the storage when it answers again
		newer  bool
		tries  int
		taken  bool
	}{
		{name: "by us", stored: finished, tries: 2},
		{name: "by us, and somebody has gone on", stored: finished, newer: true, tries: 2},
		{name: "not by us", stored: func(rel *release.Release) { finished(rel); rel.Info.Description = "Interrupted" }, tries: 2, taken: true},
		{name: "not at all", tries: 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := storedWith(t, charted(1, release.StatusDeployed))
				l, why := holding(t, cfg, charted(2, release.StatusPendingUpgrade))
				storage := cfg.Releases.Driver
				w := &witness{Driver: storage, before: func(try int) error {
					if try > 2 {
						return nil
					}
					time.Sleep(8 * time.Second)
					if try == 1 && tt.stored != nil {
						ended := charted(2, release.StatusPendingUpgrade)
						tt.stored(ended)
						if err := storage.Update("sh.helm.release.v1.rel.v2", ended); err != nil {
							t.Error(err)
						}
					}
					if try == 1 && tt.newer {
						if err := storage.Create("sh.helm.release.v1.rel.v3", charted(3, release.StatusPendingUpgrade)); err != nil {
							t.Error(err)
						}
					}
					return &httpretry.RecordTimeoutError{Err: errors.New("no answer")}
				}}
				cfg.Releases.Driver = w
				err := l.store(finished)
				var taken *TakenOverError
				if errors.As(err, &taken) != tt.taken || (err != nil) != tt.taken || w.tries != tt.tries || (why() != nil) != tt.taken {
					t.Errorf("got %v after %d tries", err, w.tries)
				}
			})
		})
	}
}

// TestTrust: a holder no longer trusts itself before anybody can take it for dead.
func TestTrust(t *testing.T) {
	if trustDuration >= shortestLook || trustDuration <= renewInterval {
		t.Errorf("it trusts itself for %s, is looked at for %s, and renews every %s", trustDuration, shortestLook, renewInterval)
	}
}

// unreadable is a driver that cannot read, if it has an error.
type unreadable struct {
	driver.Driver
	err   error
	asked int
}

func (u *unreadable) Get(key string) (*release.Release, error) {
	u.asked++
	if u.err != nil {
		return nil, u.err
	}
	return u.Driver.Get(key)
}

// TestNoLease: a ledger that has no chart to carry a record holds nothing, and writes all
// the same.
func TestNoLease(t *testing.T) {
	cfg := storedWith(t, revision(1, release.StatusDeployed))
	l := newLedger(cfg, revision(1, release.StatusUninstalling))
	if err := l.keepOnly(nil); err != nil {
		t.Fatal(err)
	}
	if err := l.hold("uninstall", release.StatusUninstalling, nil); err != nil {
		t.Fatal(err)
	}
	if err := l.store(nil); err != nil || l.leaseID() != "" || l.mayChange() != nil {
		t.Errorf("got %v", err)
	}
}
