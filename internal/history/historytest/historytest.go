// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package historytest has what the tests of stored releases share: revisions, storages in
// memory that contain them, the processes that hold their leases, and storage drivers that
// record or fail.
package historytest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/process"
	"github.com/ordered-helm/helm/internal/releaserecord"
	"github.com/ordered-helm/helm/internal/sequencer"
)

const (
	// ReleaseName is the name of the release that all revisions are of.
	ReleaseName = "rel"
	// LeaseID is the ID of the lease of a LeasedRevision.
	LeaseID = "first"
	// LeaseDuration is how long that lease lasts without a heartbeat.
	LeaseDuration = 45 * time.Second
)

// Revision is a revision without a chart, which therefore cannot hold a lease.
func Revision(version int, status release.Status) *release.Release {
	return &release.Release{Name: ReleaseName, Namespace: "default", Version: version, Info: &release.Info{Status: status}}
}

// RevisionWithChart is a revision with a chart, which can hold a lease.
func RevisionWithChart(version int, status release.Status) *release.Release {
	rel := Revision(version, status)
	rel.Chart = &chart.Chart{Metadata: &chart.Metadata{Name: "shop", Version: "1.0.0"}}
	return rel
}

// LeasedRevision is a revision that a process holds, which sent its last heartbeat so long
// ago.
func LeasedRevision(t *testing.T, version int, status release.Status, holder process.Process, ago time.Duration) *release.Release {
	t.Helper()
	return WithRecord(t, RevisionWithChart(version, status), &releaserecord.Record{
		Revision: version, Charts: &sequencer.Chart{Name: "shop"},
		Lease: &releaserecord.Lease{
			Revision: version, ID: LeaseID, Operation: "upgrade", Process: holder,
			RenewedAt: time.Now().Add(-ago), Seconds: int(LeaseDuration / time.Second),
		},
	})
}

// WithRecord adds a record to the chart of a revision. It returns the revision.
func WithRecord(t *testing.T, rel *release.Release, rec *releaserecord.Record) *release.Release {
	t.Helper()
	withRecord, err := releaserecord.WithRecord(rel.Chart, rec)
	if err != nil {
		t.Fatal(err)
	}
	rel.Chart = withRecord
	return rel
}

// RemoteProcess is a process on another machine.
func RemoteProcess() process.Process {
	return process.Process{Host: "elsewhere", PID: 7, StartID: "another machine"}
}

// DeadProcess is a process on this machine that has exited.
func DeadProcess() process.Process {
	p := process.Current()
	p.StartID += "0"
	return p
}

// MemoryStorage is a storage in memory that contains these revisions.
func MemoryStorage(t *testing.T, revisions ...*release.Release) *storage.Storage {
	t.Helper()
	releases := storage.Init(driver.NewMemory())
	for _, rel := range revisions {
		if err := releases.Create(rel); err != nil {
			t.Fatal(err)
		}
	}
	return releases
}

// Key is the key of a revision in a storage driver.
func Key(version int) string {
	return fmt.Sprintf("%s.%s.v%d", storage.HelmStorageType, ReleaseName, version)
}

// Get reads a stored revision.
func Get(t *testing.T, releases *storage.Storage, version int) *release.Release {
	t.Helper()
	rel, err := releases.Get(ReleaseName, version)
	if err != nil {
		t.Fatal(err)
	}
	return rel
}

// Versions are the numbers of the stored revisions, sorted.
func Versions(t *testing.T, releases *storage.Storage) []int {
	t.Helper()
	history, err := releases.History(ReleaseName)
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

// Lease is the lease with which a revision is stored; nil if there is none.
func Lease(t *testing.T, releases *storage.Storage, version int) *releaserecord.Lease {
	t.Helper()
	rec, err := releaserecord.Read(Get(t, releases, version))
	if err != nil {
		t.Fatal(err)
	}
	return rec.LeaseFor(version)
}
