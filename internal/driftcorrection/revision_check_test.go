// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package driftcorrection

import (
	"errors"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/lease"
)

// stored returns a storage with revisions of a release, whose statuses are given by number.
func stored(t *testing.T, statuses map[int]release.Status) *storage.Storage {
	t.Helper()
	releases := storage.Init(driver.NewMemory())
	for version, status := range statuses {
		if err := releases.Create(&release.Release{Name: "rel", Version: version, Info: &release.Info{Status: status}}); err != nil {
			t.Fatal(err)
		}
	}
	return releases
}

// TestRevisionCheck checks when a revision is no longer the newest one that is deployed.
func TestRevisionCheck(t *testing.T) {
	for name, tt := range map[string]struct {
		statuses map[int]release.Status
		want     string
	}{
		"nothing":                {map[int]release.Status{1: release.StatusSuperseded, 2: release.StatusDeployed}, ""},
		"an upgrade":             {map[int]release.Status{2: release.StatusDeployed, 3: release.StatusPendingUpgrade}, "revision 3 of release rel is pending-upgrade"},
		"an upgrade that failed": {map[int]release.Status{2: release.StatusDeployed, 3: release.StatusFailed}, "revision 3 is failed"},
		"an upgrade after one that the history limit has deleted": {map[int]release.Status{2: release.StatusDeployed, 4: release.StatusPendingUpgrade}, "revision 4 of release rel is pending-upgrade"},
		"a rollback":               {map[int]release.Status{2: release.StatusSuperseded, 3: release.StatusDeployed}, "revision 3 is deployed"},
		"an uninstall":             {map[int]release.Status{2: release.StatusUninstalling}, "revision 2 of release rel is uninstalling"},
		"a finished uninstall":     {map[int]release.Status{2: release.StatusUninstalled}, "revision 2 is uninstalled"},
		"an uninstall and no more": {nil, "the release no longer exists"},
	} {
		t.Run(name, func(t *testing.T) {
			releases := stored(t, tt.statuses)
			check := &revisionCheck{store: history.NewStore(releases, t.Logf), rel: &release.Release{Name: "rel", Version: 2}}
			err := check.run(t.Context())
			if tt.want == "" {
				if err != nil || check.interruptedError() != nil {
					t.Errorf("got the error %v", err)
				}
				return
			}
			interrupted, ok := errors.AsType[*InterruptedError](err)
			if !ok || interrupted.Revision != 2 || !strings.Contains(err.Error(), tt.want) || !errors.Is(check.interruptedError(), err) {
				t.Errorf("got the error %v, want %q", err, tt.want)
			}
			if held, ok := errors.AsType[*lease.HeldError](err); ok != strings.Contains(tt.want, "of release") {
				t.Errorf("the error wraps %v", held)
			}
		})
	}
}

// TestRevisionCheckFails checks that a failure to read the release is no interruption.
func TestRevisionCheckFails(t *testing.T) {
	releases := stored(t, map[int]release.Status{2: release.StatusDeployed})
	unreadable := errors.New("unreadable")
	releases.Driver = failingDriver{releases.Driver, unreadable}
	check := &revisionCheck{store: history.NewStore(releases, t.Logf), rel: &release.Release{Name: "rel", Version: 2}}
	if err := check.run(t.Context()); !errors.Is(err, unreadable) || check.interruptedError() != nil {
		t.Errorf("got %v, %v", err, check.interruptedError())
	}
}

// failingDriver is a storage driver whose Query fails.
type failingDriver struct {
	driver.Driver
	err error
}

func (d failingDriver) Query(map[string]string) ([]*release.Release, error) { return nil, d.err }
