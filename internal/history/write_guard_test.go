// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/orderrecord"
)

// fakeGuard is a WriteGuard that allows every write and counts the calls of Confirm.
type fakeGuard struct{ confirmed atomic.Int64 }

func (g *fakeGuard) Check() error                          { return nil }
func (g *fakeGuard) Confirm() error                        { g.confirmed.Add(1); return nil }
func (g *fakeGuard) Lost() error                           { return nil }
func (g *fakeGuard) RenewedLease() *orderrecord.Lease      { return &orderrecord.Lease{ID: "ours"} }
func (g *fakeGuard) BeforeFinalWrite(release.Info)         {}
func (g *fakeGuard) AfterWrite(time.Time)                  {}
func (g *fakeGuard) IsFinalStateStored(*release.Info) bool { return false }

// TestGuardIsRemoved removes the WriteGuard of a writer while it writes in the background. It
// checks that the lease is renewed before, but not afterwards.
func TestGuardIsRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, d := newRecordedWriter(t)
		if err := w.SetRecord(&chart.Chart{Metadata: &chart.Metadata{Name: "shop"}}, nil); err != nil {
			t.Fatal(err)
		}
		guard := &fakeGuard{}
		if ok, err := w.SetGuard(guard); !ok || err != nil {
			t.Fatal(ok, err)
		}
		w.Background.Start()
		defer w.Background.Stop()
		time.Sleep(RenewInterval)
		synctest.Wait()
		if got := guard.confirmed.Load(); got != 1 || d.Attempts() != 1 {
			t.Errorf("confirmed %d times and written %d times", got, d.Attempts())
		}
		if _, err := w.SetGuard(nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * RenewInterval)
		synctest.Wait()
		if got := guard.confirmed.Load(); got != 1 || d.Attempts() != 1 {
			t.Errorf("without the guard: confirmed %d times and written %d times", got, d.Attempts())
		}
	})
}
