// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/history/historytest"
	"github.com/ordered-helm/helm/internal/httpretry"
)

// acquired is a lease that is stored in a revision, with the writer that stores it.
type acquired struct {
	*Lease
	writer *history.Writer
	ctx    context.Context
}

// acquire stores rel with a lease.
func acquire(t *testing.T, releases *storage.Storage, rel *release.Release) *acquired {
	t.Helper()
	w := history.NewStore(releases, t.Logf).NewWriter(rel)
	if err := w.SetStoredRecord(nil); err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancelCause(t.Context())
	t.Cleanup(func() { end(nil) })
	l, err := Acquire(w, "upgrade", rel.Info.Status, end)
	if err != nil {
		t.Fatal(err)
	}
	if err := releases.Create(history.Copy(rel)); err != nil {
		t.Fatal(err)
	}
	return &acquired{l, w, ctx}
}

// ended returns the cause with which the lease has ended the operation, or nil if it has
// not.
func (a *acquired) ended() error {
	if a.ctx.Err() == nil {
		return nil
	}
	return context.Cause(a.ctx)
}

// heartbeats lets the background writer renew the lease several times.
func (a *acquired) heartbeats(times int) {
	a.writer.Background.Start()
	defer a.writer.Background.Stop()
	time.Sleep(time.Duration(times) * history.RenewInterval)
	synctest.Wait()
}

// TestLease checks that the lease is stored with the first write, renewed while the
// operation runs, and removed with the last write. The stored release is then as if it had
// never been locked.
func TestLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		releases := historytest.MemoryStorage(t, historytest.RevisionWithChart(1, release.StatusDeployed))
		l := acquire(t, releases, historytest.RevisionWithChart(2, release.StatusPendingUpgrade))
		first := historytest.Lease(t, releases, 2)
		if first == nil || first.Operation != "upgrade" || first.Duration() != leaseDuration || first.HasExited() {
			t.Fatalf("the lease is %+v", first)
		}
		l.writer.Background.Start()
		for range 3 {
			before := historytest.Lease(t, releases, 2)
			time.Sleep(history.RenewInterval)
			synctest.Wait()
			if now := historytest.Lease(t, releases, 2); now.ID != first.ID || !now.RenewedAt.After(before.RenewedAt) {
				t.Errorf("renewed from %+v to %+v", before, now)
			}
		}
		l.writer.Background.Stop()
		if err := l.writer.Write(func(rel *release.Release) { rel.SetStatus(release.StatusDeployed, "done") }); err != nil {
			t.Fatal(err)
		}
		if last := historytest.Get(t, releases, 2); len(last.Chart.Files) != 0 {
			t.Errorf("stored with %v", last.Chart.Files)
		}
		if err := l.ended(); err != nil {
			t.Errorf("the operation was ended: %v", err)
		}
	})
}

// TestLostLease checks that an operation ends if others change its revision. It notices this
// at its next heartbeat or, after it was suspended, at its next change or write. It writes
// nothing more.
func TestLostLease(t *testing.T) {
	tests := []struct {
		name   string
		change func(*testing.T, *storage.Storage)
		by     string
	}{
		{"recorded as failed", func(t *testing.T, releases *storage.Storage) {
			t.Helper()
			if err := releases.Update(historytest.RevisionWithChart(2, release.StatusFailed)); err != nil {
				t.Fatal(err)
			}
		}, "another operation"},
		{"deleted", func(t *testing.T, releases *storage.Storage) {
			t.Helper()
			if _, err := releases.Delete(historytest.ReleaseName, 2); err != nil {
				t.Fatal(err)
			}
		}, "record"},
		{"another revision", func(t *testing.T, releases *storage.Storage) {
			t.Helper()
			acquire(t, releases, historytest.RevisionWithChart(3, release.StatusPendingRollback))
		}, "helm upgrade on "},
		{"another lease", func(t *testing.T, releases *storage.Storage) {
			t.Helper()
			if _, err := releases.Delete(historytest.ReleaseName, 2); err != nil {
				t.Fatal(err)
			}
			acquire(t, releases, historytest.RevisionWithChart(2, release.StatusPendingUpgrade))
		}, "helm upgrade on "},
	}
	for _, tt := range tests {
		for name, use := range map[string]func(*acquired) error{
			"heartbeat": func(l *acquired) error { l.heartbeats(1); return l.Lost() },
			"change":    func(l *acquired) error { time.Sleep(leaseDuration); return l.MayChange() },
			"write":     func(l *acquired) error { time.Sleep(leaseDuration); return l.writer.Write(nil) },
		} {
			t.Run(tt.name+", "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					releases := historytest.MemoryStorage(t, historytest.RevisionWithChart(1, release.StatusDeployed))
					l := acquire(t, releases, historytest.RevisionWithChart(2, release.StatusPendingUpgrade))
					tt.change(t, releases)
					var lost *LostError
					if err := use(l); !errors.As(err, &lost) || !strings.Contains(err.Error(), tt.by) {
						t.Errorf("got %v", err)
					}
					if !errors.As(l.ended(), &lost) {
						t.Errorf("the operation ended with %v", l.ended())
					}
					for _, again := range []func() error{func() error { return l.writer.Write(nil) }, l.MayChange} {
						if err := again(); !errors.As(err, &lost) {
							t.Errorf("it goes on: %v", err)
						}
					}
				})
			})
		}
	}
}

// TestNewerRevision checks that an operation records its own revision as failed if stock
// Helm creates a newer revision without checking the lock.
func TestNewerRevision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		releases := historytest.MemoryStorage(t, historytest.RevisionWithChart(1, release.StatusDeployed))
		l := acquire(t, releases, historytest.RevisionWithChart(2, release.StatusPendingUpgrade))
		if err := l.MayConclude(); err != nil {
			t.Errorf("got %v without a newer revision", err)
		}
		if err := releases.Create(historytest.RevisionWithChart(3, release.StatusDeployed)); err != nil {
			t.Fatal(err)
		}
		var lost *LostError
		if err := l.MayConclude(); !errors.As(err, &lost) || !errors.As(l.ended(), &lost) {
			t.Errorf("got %v, and the operation ended with %v", err, l.ended())
		}
		left := historytest.Get(t, releases, 2)
		if left.Info.Status != release.StatusFailed || left.Info.Description != "Interrupted: revision 3 was created in the meantime" || leaseOf(left) != nil {
			t.Errorf("it is stored as %+v, with the lease %+v", left.Info, leaseOf(left))
		}
	})
}

// TestMayChangeTrustsRecentHeartbeat checks that MayChange does not read the storage while
// no other operation can have taken over the release. After that, it reads the storage, and
// fails if the storage cannot be read.
func TestMayChangeTrustsRecentHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		releases := historytest.MemoryStorage(t, historytest.RevisionWithChart(1, release.StatusDeployed))
		l := acquire(t, releases, historytest.RevisionWithChart(2, release.StatusPendingUpgrade))
		unavailable := errors.New("the storage is unavailable")
		d := &historytest.GetErrorDriver{Driver: releases.Driver, Err: unavailable}
		releases.Driver = d
		time.Sleep(confirmedDuration - time.Second)
		if err := l.MayChange(); err != nil || d.Gets > 0 {
			t.Errorf("got %v, read %d times", err, d.Gets)
		}
		time.Sleep(time.Second)
		if err := l.MayChange(); !errors.Is(err, unavailable) || d.Gets != 1 {
			t.Errorf("got %v, read %d times", err, d.Gets)
		}
		d.Err = nil
		if err := l.MayChange(); err != nil {
			t.Errorf("got %v when the storage is available again", err)
		}
	})
}

// TestWriteOnlyAccount checks that an account can renew the lease if it is allowed to
// create and update releases but not to read them. After the operation was suspended, it
// changes nothing.
func TestWriteOnlyAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		releases := historytest.MemoryStorage(t, historytest.RevisionWithChart(1, release.StatusDeployed))
		l := acquire(t, releases, historytest.RevisionWithChart(2, release.StatusPendingInstall))
		forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "rel", nil)
		d := &historytest.GetErrorDriver{Driver: releases.Driver, Err: forbidden}
		releases.Driver = d
		l.heartbeats(10)
		time.Sleep(history.RenewInterval)
		if err := l.MayChange(); err != nil {
			t.Errorf("got %v", err)
		}
		d.Err = nil
		if age := time.Since(historytest.Lease(t, releases, 2).RenewedAt); age != history.RenewInterval {
			t.Errorf("the last heartbeat was %s ago", age)
		}
		d.Err = forbidden
		time.Sleep(leaseDuration)
		if err := l.MayChange(); !apierrors.IsForbidden(err) {
			t.Errorf("got %v after it was suspended", err)
		}
	})
}

// TestWriteTimeouts checks that writes to which the server does not respond are retried,
// until another operation may have taken over the release.
func TestWriteTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		releases := historytest.MemoryStorage(t, historytest.RevisionWithChart(1, release.StatusDeployed))
		l := acquire(t, releases, historytest.RevisionWithChart(2, release.StatusPendingUpgrade))
		memory := releases.Driver
		timeouts := func(attempts int) *historytest.RecordingDriver {
			d := &historytest.RecordingDriver{Driver: memory, BeforeUpdate: func(attempt int) error {
				time.Sleep(8 * time.Second)
				if attempt <= attempts {
					return fmt.Errorf("update: %w", &httpretry.ReleaseUpdateTimeoutError{Err: errors.New("no answer")})
				}
				return nil
			}}
			releases.Driver = d
			return d
		}
		d := timeouts(2)
		if err := l.writer.Write(nil); err != nil || d.Attempts() != 3 {
			t.Errorf("got %v after %d attempts", err, d.Attempts())
		}
		d = timeouts(1000)
		var gaveUp *httpretry.ReleaseUpdateTimeoutError
		if err := l.writer.Write(nil); !errors.As(err, &gaveUp) || d.Attempts() > 7 {
			t.Errorf("got %v after %d attempts", err, d.Attempts())
		}
		time.Sleep(leaseDuration)
		if err := releases.Create(historytest.RevisionWithChart(3, release.StatusPendingUpgrade)); err != nil {
			t.Fatal(err)
		}
		d = &historytest.RecordingDriver{Driver: memory}
		releases.Driver = d
		var lost *LostError
		if err := l.writer.Write(nil); !errors.As(err, &lost) || d.Attempts() != 1 { // the write that records the revision as failed
			t.Errorf("got %v after %d attempts", err, d.Attempts())
		}
	})
}

// TestLostResponseToLastWrite loses the response to the last write of an operation. The
// server has stored the result of the operation, or something else. The test checks that
// the operation recognizes only its own result.
func TestLostResponseToLastWrite(t *testing.T) {
	finish := func(rel *release.Release) {
		rel.Info.Status, rel.Info.Description = release.StatusDeployed, "Upgrade complete"
	}
	for _, tt := range []struct {
		name     string
		stored   func(*release.Release) // changes the stored revision before the server answers again; nil for no change
		newer    bool                   // whether a newer revision exists by then
		attempts int
		lost     bool
	}{
		{name: "own result", stored: finish, attempts: 2},
		{name: "own result, and a newer revision", stored: finish, newer: true, attempts: 2},
		{name: "result of others", stored: func(rel *release.Release) { finish(rel); rel.Info.Description = "Interrupted" }, attempts: 2, lost: true},
		{name: "nothing", attempts: 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				releases := historytest.MemoryStorage(t, historytest.RevisionWithChart(1, release.StatusDeployed))
				l := acquire(t, releases, historytest.RevisionWithChart(2, release.StatusPendingUpgrade))
				memory := releases.Driver
				d := &historytest.RecordingDriver{Driver: memory, BeforeUpdate: func(attempt int) error {
					if attempt > 2 {
						return nil
					}
					time.Sleep(8 * time.Second)
					if attempt == 1 && tt.stored != nil {
						rel := historytest.RevisionWithChart(2, release.StatusPendingUpgrade)
						tt.stored(rel)
						if err := memory.Update(historytest.Key(2), rel); err != nil {
							t.Error(err)
						}
					}
					if attempt == 1 && tt.newer {
						if err := memory.Create(historytest.Key(3), historytest.RevisionWithChart(3, release.StatusPendingUpgrade)); err != nil {
							t.Error(err)
						}
					}
					return &httpretry.ReleaseUpdateTimeoutError{Err: errors.New("no answer")}
				}}
				releases.Driver = d
				err := l.writer.Write(finish)
				var lost *LostError
				if errors.As(err, &lost) != tt.lost || (err != nil) != tt.lost || d.Attempts() != tt.attempts || (l.ended() != nil) != tt.lost {
					t.Errorf("got %v after %d attempts", err, d.Attempts())
				}
			})
		})
	}
}

// TestTrustDuration compares constants: a lock holder must check its lock before other
// operations can consider it no longer alive, but need not check it between two heartbeats.
func TestTrustDuration(t *testing.T) {
	if confirmedDuration >= minWatchDuration || confirmedDuration <= history.RenewInterval {
		t.Errorf("it does not ask for %s, is watched for %s, and sends heartbeats every %s", confirmedDuration, minWatchDuration, history.RenewInterval)
	}
	if historytest.LeaseDuration != leaseDuration {
		t.Errorf("historytest has a lease duration of %s, want %s", historytest.LeaseDuration, leaseDuration)
	}
}

// TestAcquireWithoutChart checks that a release without a chart, which cannot contain a
// lease, is written without a lock.
func TestAcquireWithoutChart(t *testing.T) {
	releases := historytest.MemoryStorage(t, historytest.Revision(1, release.StatusDeployed))
	w := history.NewStore(releases, t.Logf).NewWriter(historytest.Revision(1, release.StatusUninstalling))
	if err := w.SetStoredRecord(nil); err != nil {
		t.Fatal(err)
	}
	l, err := Acquire(w, "uninstall", release.StatusUninstalling, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(nil); err != nil || l.ID() != "" || l.MayChange() != nil {
		t.Errorf("got %v", err)
	}
}
