// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package historytest has helpers for tests of stored releases: revisions, in-memory
// storages that contain them, processes that are their lock holders, and storage drivers
// that record calls or fail.
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

	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/process"
	"github.com/ordered-helm/helm/internal/sequencer"
)

const (
	// ReleaseName is the name of the release of all revisions.
	ReleaseName = "rel"
	// LeaseID is the ID of the lease of a LeasedRevision.
	LeaseID = "first"
	// LeaseDuration is the time for which that lease is valid without a heartbeat.
	LeaseDuration = 45 * time.Second
)

// Revision returns a revision without a chart, which therefore cannot have a lease.
func Revision(version int, status release.Status) *release.Release {
	return &release.Release{Name: ReleaseName, Namespace: "default", Version: version, Info: &release.Info{Status: status}}
}

// RevisionWithChart returns a revision with a chart, which can have a lease.
func RevisionWithChart(version int, status release.Status) *release.Release {
	rel := Revision(version, status)
	rel.Chart = &chart.Chart{Metadata: &chart.Metadata{Name: "shop", Version: "1.0.0"}}
	return rel
}

// LeasedRevision returns a revision that is locked by a process. Ago is the age of its last
// heartbeat.
func LeasedRevision(t *testing.T, version int, status release.Status, holder process.Process, ago time.Duration) *release.Release {
	t.Helper()
	return WithRecord(t, RevisionWithChart(version, status), &orderrecord.Record{
		Revision: version, Charts: &sequencer.Chart{Name: "shop"},
		Lease: &orderrecord.Lease{
			Revision: version, ID: LeaseID, Operation: "upgrade", Process: holder,
			RenewedAt: time.Now().Add(-ago), Seconds: int(LeaseDuration / time.Second),
		},
	})
}

// WithRecord adds a record to the chart of a revision. It returns the revision.
func WithRecord(t *testing.T, rel *release.Release, rec *orderrecord.Record) *release.Release {
	t.Helper()
	withRecord, err := orderrecord.WithRecord(rel.Chart, rec)
	if err != nil {
		t.Fatal(err)
	}
	rel.Chart = withRecord
	return rel
}

// RemoteProcess returns a process on another machine.
func RemoteProcess() process.Process {
	return process.Process{Host: "elsewhere", PID: 7, StartID: "another machine"}
}

// DeadProcess returns a process on this machine that has exited.
func DeadProcess() process.Process {
	p := process.Current()
	p.StartID += "0"
	return p
}

// MemoryStorage returns an in-memory storage with the given revisions.
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

// Key returns the key of a revision in a storage driver.
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

// Versions returns the numbers of the stored revisions, sorted.
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

// Lease returns the stored lease of a revision; nil if there is none.
func Lease(t *testing.T, releases *storage.Storage, version int) *orderrecord.Lease {
	t.Helper()
	rec, err := orderrecord.Read(Get(t, releases, version))
	if err != nil {
		t.Fatal(err)
	}
	return rec.LeaseFor(version)
}
