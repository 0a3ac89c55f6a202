// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	helmaction "helm.sh/helm/v3/pkg/action"
	kubefake "helm.sh/helm/v3/pkg/kube/fake"
	"helm.sh/helm/v3/pkg/release"
	helmtime "helm.sh/helm/v3/pkg/time"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/history/historytest"
	"github.com/ordered-helm/helm/internal/httpretry"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/operation"
)

// newConfiguration returns a configuration without a cluster, whose storage contains these
// revisions.
func newConfiguration(t *testing.T, revisions ...*release.Release) *helmaction.Configuration {
	return &helmaction.Configuration{Releases: historytest.MemoryStorage(t, revisions...), Log: t.Logf}
}

// newTestRun returns the uninstall of a stored release that is about to begin, and the
// driver that records its writes. beforeUpdate can make a write fail.
func newTestRun(t *testing.T, cfg *helmaction.Configuration, beforeUpdate func(attempt int) error) (*Run, *historytest.RecordingDriver) {
	t.Helper()
	op, _, end := operation.Start(t.Context(), cfg, operation.StartOptions{Bounded: true})
	t.Cleanup(end)
	check := &lease.LockCheck{Store: op.Store, Events: op.Events, Release: historytest.ReleaseName}
	state, err := check.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	run := New(op, NewTarget(state), Options{})
	if err := run.writer.SetStoredRecord(nil); err != nil {
		t.Fatal(err)
	}
	d := &historytest.RecordingDriver{Driver: cfg.Releases.Driver, BeforeUpdate: beforeUpdate}
	cfg.Releases.Driver = d
	return run, d
}

// once returns an error for the first attempt only.
func once(err error) func(attempt int) error {
	return func(attempt int) error {
		if attempt == 1 {
			return err
		}
		return nil
	}
}

// TestUninstallWithoutLease begins an uninstall that is not allowed to record that it works
// on the release. The uninstall continues, and the recorded status does not change.
func TestUninstallWithoutLease(t *testing.T) {
	for _, tt := range []struct {
		name string
		rel  *release.Release
		want release.Status
	}{
		{name: "deployed release", rel: historytest.RevisionWithChart(1, release.StatusDeployed), want: release.StatusDeployed},
		{name: "release of a dead operation", rel: historytest.LeasedRevision(t, 1, release.StatusPendingInstall, historytest.DeadProcess(), 0), want: release.StatusFailed},
		{name: "release without a chart", rel: historytest.Revision(1, release.StatusDeployed), want: release.StatusDeployed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := newConfiguration(t, tt.rel)
			run, d := newTestRun(t, cfg, once(apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "rel", nil)))
			if err := run.Begin(t.Context()); err != nil {
				t.Fatal(err)
			}
			run.writer.Change(func(*release.Release) {}) // as if a hook was started
			run.writer.Background.Flush()
			if rel := historytest.Get(t, cfg.Releases, 1); rel.Info.Status != tt.want && len(d.Updates()) > 0 {
				t.Errorf("it is stored as %+v", rel.Info)
			}
		})
	}
}

// TestUninstallDoesNotBegin checks that an uninstall does not begin if it is unknown
// whether another operation works on the release.
func TestUninstallDoesNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		noAnswer := func(int) error {
			time.Sleep(8 * time.Second)
			return &httpretry.ReleaseUpdateTimeoutError{Err: errors.New("no answer")}
		}
		upgrade := historytest.RevisionWithChart(2, release.StatusPendingUpgrade)
		damaged := historytest.RevisionWithChart(2, release.StatusDeployed)
		damaged.Hooks = []*release.Hook{nil}
		for name, tt := range map[string]struct {
			beforeUpdate func(attempt int) error
			next         *release.Release
			lost         bool
		}{
			"storage error":                {beforeUpdate: once(errors.New("not now"))},
			"storage does not answer":      {beforeUpdate: noAnswer},
			"others begin meanwhile":       {beforeUpdate: noAnswer, next: upgrade, lost: true},
			"there is a next revision":     {next: upgrade},
			"the next revision is damaged": {next: damaged},
		} {
			cfg := newConfiguration(t, historytest.RevisionWithChart(1, release.StatusDeployed))
			run, d := newTestRun(t, cfg, tt.beforeUpdate)
			if tt.next != nil {
				if err := cfg.Releases.Driver.Create(historytest.Key(2), tt.next); err != nil {
					t.Fatal(err)
				}
			}
			err := run.Begin(t.Context())
			var lost *lease.LostError
			if err == nil || errors.As(err, &lost) != tt.lost {
				t.Errorf("%s: got %v", name, err)
			}
			d.BeforeUpdate = nil
			if rel := historytest.Get(t, cfg.Releases, 1); rel.Info.Status != release.StatusDeployed || historytest.Lease(t, cfg.Releases, 1) != nil {
				t.Errorf("%s: it is stored as %+v", name, rel.Info)
			}
		}
	})
}

// TestUninstallMeetsUpgrade begins an uninstall while an upgrade that began at the same
// moment has stored its revision. The uninstall continues if the upgrade withdraws that
// revision.
func TestUninstallMeetsUpgrade(t *testing.T) {
	for name, tt := range map[string]struct {
		rel       *release.Release
		withdrawn time.Duration // when the upgrade withdraws
		ok        bool
	}{
		"withdrawn":                   {rel: historytest.RevisionWithChart(1, release.StatusDeployed), withdrawn: time.Second, ok: true},
		"withdrawn too late":          {rel: historytest.RevisionWithChart(1, release.StatusDeployed), withdrawn: 3 * time.Second},
		"release of a dead operation": {rel: historytest.LeasedRevision(t, 1, release.StatusPendingInstall, historytest.DeadProcess(), 0), withdrawn: time.Second, ok: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := newConfiguration(t, tt.rel)
				releases := cfg.Releases.Driver
				run, _ := newTestRun(t, cfg, func(attempt int) error {
					if attempt > 1 {
						return nil
					}
					time.AfterFunc(tt.withdrawn, func() {
						_, err := releases.Delete(historytest.Key(2))
						if err != nil {
							t.Error(err)
						}
					})
					return releases.Create(historytest.Key(2), historytest.RevisionWithChart(2, release.StatusPendingUpgrade))
				})
				err := run.Begin(t.Context())
				var held *lease.HeldError
				if (err == nil) != tt.ok || !tt.ok && !errors.As(err, &held) {
					t.Errorf("got %v", err)
				}
				stored := historytest.Get(t, cfg.Releases, 1)
				if isStored := stored.Info.Status == release.StatusUninstalling; isStored != tt.ok {
					t.Errorf("it is stored as %+v", stored.Info)
				}
				time.Sleep(tt.withdrawn)
			})
		})
	}
}

// TestFirstWriteOfLease delays the first write of the lease. Until then the stored release
// has no lease, which does not count as taken over; later it does.
func TestFirstWriteOfLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := newConfiguration(t, historytest.RevisionWithChart(1, release.StatusDeployed))
		run, d := newTestRun(t, cfg, func(attempt int) error {
			time.Sleep(8 * time.Second)
			if attempt < 4 {
				return &httpretry.ReleaseUpdateTimeoutError{Err: errors.New("no answer")}
			}
			return nil
		})
		if err := run.Begin(t.Context()); err != nil || d.Attempts() != 4 {
			t.Fatalf("got %v after %d attempts", err, d.Attempts())
		}
		if l := historytest.Lease(t, cfg.Releases, 1); l == nil || l.ID != run.op.Lease().ID() {
			t.Errorf("the lease is %+v", l)
		}
		if err := cfg.Releases.Update(historytest.RevisionWithChart(1, release.StatusDeployed)); err != nil { // another process writes it as it was before
			t.Fatal(err)
		}
		time.Sleep(historytest.LeaseDuration)
		var lost *lease.LostError
		if err := run.op.MayChange(); !errors.As(err, &lost) {
			t.Errorf("got %v", err)
		}
	})
}

// TestHooksOfContinuedUninstall checks that hooks that succeeded in the interrupted
// uninstall do not run again, unless it is unknown whether they ran before or after the
// deletion.
func TestHooksOfContinuedUninstall(t *testing.T) {
	began := time.Now()
	hook := func(name string, phase release.HookPhase, ago time.Duration, events ...release.HookEvent) *release.Hook {
		h := &release.Hook{Name: name, Events: events}
		h.LastRun.Phase, h.LastRun.StartedAt = phase, helmtime.Time{Time: began.Add(-ago)}
		return h
	}
	rel := historytest.LeasedRevision(t, 1, release.StatusUninstalling, historytest.DeadProcess(), time.Hour)
	rel.Info.Deleted = helmtime.Time{Time: began.Add(-time.Minute)}
	rel.Hooks = []*release.Hook{
		hook("succeeded", release.HookPhaseSucceeded, time.Second, release.HookPreDelete),
		hook("succeeded-of-two-operations", release.HookPhaseSucceeded, time.Second, release.HookPreUpgrade, release.HookPreDelete),
		hook("failed", release.HookPhaseFailed, time.Second, release.HookPreDelete),
		hook("succeeded-before-uninstall", release.HookPhaseSucceeded, time.Hour, release.HookPreUpgrade, release.HookPreDelete),
		hook("before-or-after-deletion", release.HookPhaseSucceeded, time.Second, release.HookPreDelete, release.HookPostDelete),
	}
	cfg := newConfiguration(t, rel)
	cfg.KubeClient = &kubefake.PrintingKubeClient{Out: io.Discard}
	run, _ := newTestRun(t, cfg, nil)
	if err := run.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	runner := run.hooks("")
	var again []string
	for _, h := range run.target.Release.Hooks {
		if runner.Filter(h) {
			again = append(again, h.Name)
		}
	}
	if want := []string{"failed", "succeeded-before-uninstall", "before-or-after-deletion"}; !slices.Equal(again, want) {
		t.Errorf("run again: %v, want %v", again, want)
	}
}

// TestSupersedeAfterUninstall checks that a revision that another operation created during
// the uninstall is not changed.
func TestSupersedeAfterUninstall(t *testing.T) {
	cfg := newConfiguration(t, historytest.RevisionWithChart(1, release.StatusDeployed), historytest.RevisionWithChart(2, release.StatusFailed))
	run, _ := newTestRun(t, cfg, nil)
	if err := cfg.Releases.Create(historytest.RevisionWithChart(3, release.StatusDeployed)); err != nil {
		t.Fatal(err)
	}
	if err := run.supersede(); err != nil {
		t.Fatal(err)
	}
	for version, want := range map[int]release.Status{1: release.StatusSuperseded, 2: release.StatusFailed, 3: release.StatusDeployed} {
		if rel := historytest.Get(t, cfg.Releases, version); rel.Info.Status != want {
			t.Errorf("revision %d is %+v", version, rel.Info)
		}
	}
}
