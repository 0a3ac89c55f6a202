// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
)

// refusing is a driver that cannot change what is stored.
type refusing struct {
	driver.Driver
	err error
}

func (r *refusing) Update(string, *release.Release) error { return r.err }

func revision(version int, status release.Status) *release.Release {
	return &release.Release{Name: "rel", Namespace: "default", Version: version, Info: &release.Info{Status: status}}
}

// stored are the revisions of a release in a storage.
func stored(t *testing.T, releases *storage.Storage) []int {
	t.Helper()
	history, err := releases.History("rel")
	if err != nil {
		t.Fatal(err)
	}
	var versions []int
	for _, rel := range history {
		versions = append(versions, rel.Version)
	}
	slices.Sort(versions)
	return versions
}

// TestCreateRevisionThatAnotherOperationMade loses the race, whatever limit there is
// on the history: what the other operation stored stays.
func TestCreateRevisionThatAnotherOperationMade(t *testing.T) {
	for limit, want := range map[int][]int{0: {1, 2, 3}, 1: {1, 2, 3}, 2: {1, 2, 3}, 10: {1, 2, 3}} {
		cfg := &Configuration{Releases: storage.Init(driver.NewMemory())}
		for _, rel := range []*release.Release{revision(1, release.StatusDeployed), revision(2, release.StatusFailed), revision(3, release.StatusPendingUpgrade)} {
			if err := cfg.Releases.Create(rel); err != nil {
				t.Fatal(err)
			}
		}
		cfg.Releases.MaxHistory = limit
		_, err := createRevision(cfg, revision(3, release.StatusPendingUpgrade), nil)
		if !errors.Is(err, driver.ErrReleaseExists) || !strings.HasSuffix(err.Error(), "another operation has made revision 3 of release rel meanwhile: nothing of the release was changed, try again") {
			t.Errorf("limit %d: got %v", limit, err)
		}
		if got := stored(t, cfg.Releases); !slices.Equal(got, want) {
			t.Errorf("limit %d: left %v, want %v", limit, got, want)
		}
	}
}

// TestCreateRevisionMakesRoomAsHelm compares what is left of a history.
func TestCreateRevisionMakesRoomAsHelm(t *testing.T) {
	for limit := range 6 {
		var left [2][]int
		for i, create := range []func(*Configuration, *release.Release) error{
			func(cfg *Configuration, rel *release.Release) error {
				_, err := createRevision(cfg, rel, revision(4, release.StatusPendingRollback)) // which is taken over
				return err
			},
			func(cfg *Configuration, rel *release.Release) error { return cfg.Releases.Create(rel) },
		} {
			cfg := &Configuration{Releases: storage.Init(driver.NewMemory())}
			for version, status := range []release.Status{release.StatusSuperseded, release.StatusDeployed, release.StatusFailed, release.StatusPendingRollback} {
				if err := cfg.Releases.Create(revision(version+1, status)); err != nil {
					t.Fatal(err)
				}
			}
			cfg.Releases.MaxHistory = limit
			if err := create(cfg, revision(5, release.StatusPendingUpgrade)); err != nil {
				t.Fatal(err)
			}
			left[i] = stored(t, cfg.Releases)
		}
		if !slices.Equal(left[0], left[1]) || !slices.Contains(left[0], 5) {
			t.Errorf("limit %d: left %v, Helm leaves %v", limit, left[0], left[1])
		}
	}
}

// TestCreateRevisionForgetsNothingThatIsHeld: to make room, a revision is not deleted on
// which others work, not even if they began while that was found out.
func TestCreateRevisionForgetsNothingThatIsHeld(t *testing.T) {
	for name, late := range map[string]bool{"before": false, "meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			begun := revision(2, release.StatusUninstalling)
			cfg := &Configuration{Releases: storage.Init(driver.NewMemory())}
			cfg.Releases.MaxHistory = 1
			if late {
				cfg.Releases.Driver = &deleting{Driver: cfg.Releases.Driver, as: begun}
			}
			second := begun
			if late {
				second = revision(2, release.StatusFailed)
			}
			for _, rel := range []*release.Release{revision(1, release.StatusSuperseded), second} {
				if err := cfg.Releases.Driver.Create(fmt.Sprintf("%s.rel.v%d", storage.HelmStorageType, rel.Version), rel); err != nil {
					t.Fatal(err)
				}
			}
			_, err := createRevision(cfg, revision(3, release.StatusPendingUpgrade), nil)
			var held *HeldError
			if !errors.As(err, &held) || held.Revision != 2 || held.Status != release.StatusUninstalling {
				t.Errorf("got %v", err)
			}
			if got := stored(t, cfg.Releases); !slices.Contains(got, 2) || slices.Contains(got, 3) {
				t.Errorf("left %v", got)
			}
		})
	}
}

// deleting is a driver that finds, when it deletes the revision of another one, that other
// one.
type deleting struct {
	driver.Driver
	as *release.Release
}

func (d *deleting) Delete(key string) (*release.Release, error) {
	rel, err := d.Driver.Delete(key)
	if err == nil && rel.Version == d.as.Version {
		rel = d.as
	}
	return rel, err
}

// TestNoteSaysWhatCouldNotBeRecorded warns, once, and only if it failed.
func TestNoteSaysWhatCouldNotBeRecorded(t *testing.T) {
	for _, refusal := range []error{nil, errors.New("you may not")} {
		releases := storage.Init(driver.NewMemory())
		rel := revision(2, release.StatusPendingUpgrade)
		if err := releases.Create(rel); err != nil {
			t.Fatal(err)
		}
		if refusal != nil {
			releases.Driver = &refusing{Driver: releases.Driver, err: refusal}
		}
		var said []string
		d := &deployment{
			operation: &operation{events: newEvents(func(e Event) { said = append(said, string(e.Type)+": "+e.Message) })},
			ledger:    newLedger(&Configuration{Releases: releases, Log: t.Logf}, rel),
		}
		_ = d.recordFailure("it failed") // nobody else has it
		switch {
		case refusal == nil && len(said) > 0:
			t.Errorf("said %q", said)
		case refusal != nil && (len(said) != 1 || !strings.HasPrefix(said[0], "warning: it could not be recorded that revision 2 of release rel is failed now") || !strings.Contains(said[0], "you may not")):
			t.Errorf("said %q", said)
		}
	}
}
