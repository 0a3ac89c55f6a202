// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"io"
	"testing"
	"testing/synctest"

	kubefake "helm.sh/helm/v3/pkg/kube/fake"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/deploy"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/history/historytest"
	"github.com/ordered-helm/helm/internal/operation"
)

// newConfiguration returns a configuration without a cluster, whose storage contains these
// revisions.
func newConfiguration(t *testing.T, revisions ...*release.Release) *Configuration {
	return &Configuration{Releases: historytest.MemoryStorage(t, revisions...), Log: t.Logf}
}

// TestConcludeInstall concludes an install whose objects are deployed. As in Helm, the
// install succeeds even if this cannot be recorded, but it fails if another operation has
// taken over the release.
func TestConcludeInstall(t *testing.T) {
	for _, tt := range []struct {
		name   string
		next   release.Status // of a newer revision; empty if there is none
		err    error          // of the storage
		lost   bool
		events int
		want   release.Status
	}{
		{name: "recorded", want: release.StatusDeployed},
		{name: "not recorded", err: errors.New("you may not"), events: 1, want: release.StatusPendingInstall},
		{name: "rolled back by stock Helm", next: release.StatusDeployed, lost: true, want: release.StatusFailed},
		{name: "taken over", next: release.StatusPendingUpgrade, lost: true, want: release.StatusFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cfg := newConfiguration(t)
				cfg.KubeClient = &kubefake.PrintingKubeClient{Out: io.Discard}
				events := 0
				op, _, end := operation.Start(t.Context(), cfg, operation.StartOptions{Notify: func(Event) { events++ }})
				defer end()
				rel := historytest.RevisionWithChart(1, release.StatusPendingInstall)
				run := &installRun{action: NewInstall(cfg), op: op, rel: rel}
				var err error
				if run.deploy, err = deploy.New(deploy.RunConfig{Operation: op, Writer: op.Store.NewWriter(rel)}); err != nil {
					t.Fatal(err)
				}
				if err := run.deploy.Writer().SetStoredRecord(nil); err != nil {
					t.Fatal(err)
				}
				if _, err := op.Lock(run.deploy.Writer(), "install", rel.Info.Status); err != nil {
					t.Fatal(err)
				}
				if err := cfg.Releases.Create(history.Copy(rel)); err != nil {
					t.Fatal(err)
				}
				if tt.next != "" {
					if err := cfg.Releases.Create(historytest.RevisionWithChart(2, tt.next)); err != nil {
						t.Fatal(err)
					}
				}
				if tt.err != nil {
					cfg.Releases.Driver = &historytest.UpdateErrorDriver{Driver: cfg.Releases.Driver, Err: tt.err}
				}
				err = run.conclude()
				var lost *TakenOverError
				if errors.As(err, &lost) != tt.lost || err != nil && !tt.lost || events != tt.events {
					t.Errorf("got %v and %d events", err, events)
				}
				if rel := historytest.Get(t, cfg.Releases, 1); rel.Info.Status != tt.want {
					t.Errorf("it is stored as %+v", rel.Info)
				}
			})
		})
	}
}
