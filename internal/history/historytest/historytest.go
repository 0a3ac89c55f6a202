// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package historytest provides what tests of stored releases need: revisions, in-memory
// storages, identities of processes that hold a lock (running, dead, or on another machine),
// and storage drivers that record or fail calls.
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
	"github.com/ordered-helm/helm/internal/processid"
	"github.com/ordered-helm/helm/internal/sequencer"
)

const (
	// ReleaseName is the name of the release that all revisions of this package belong to.
	ReleaseName = "rel"
	// LeaseID is the ID of the lease in a LeasedRevision.
	LeaseID = "first"
	// LeaseDuration is the time for which the lease in a LeasedRevision is valid after its
	// last heartbeat.
	LeaseDuration = 45 * time.Second
)

// Revision returns a revision without a chart. It therefore cannot contain an order record
// or a lease.
func Revision(version int, status release.Status) *release.Release {
	return &release.Release{Name: ReleaseName, Namespace: "default", Version: version, Info: &release.Info{Status: status}}
}

// RevisionWithChart returns a revision with a chart, to which an order record can be added.
func RevisionWithChart(version int, status release.Status) *release.Release {
	rel := Revision(version, status)
	rel.Chart = &chart.Chart{Metadata: &chart.Metadata{Name: "shop", Version: "1.0.0"}}
	return rel
}

// LeasedRevision returns a revision that holder has locked. ago is the time since the last
// heartbeat of the lease.
func LeasedRevision(t *testing.T, version int, status release.Status, holder processid.Process, ago time.Duration) *release.Release {
	t.Helper()
	return WithRecord(t, RevisionWithChart(version, status), &orderrecord.Record{
		Revision: version, Charts: &sequencer.Chart{Name: "shop"},
		Lease: &orderrecord.Lease{
			Revision: version, ID: LeaseID, Operation: "upgrade", Process: holder,
			RenewedAt: time.Now().Add(-ago), Seconds: int(LeaseDuration / time.Second),
		},
	})
}

// WithRecord adds an order record to the chart of a revision, and returns the revision.
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
func RemoteProcess() processid.Process {
	return processid.Process{Host: "elsewhere", PID: 7, StartID: "another machine"}
}

// DeadProcess returns a process on this machine that has ended.
func DeadProcess() processid.Process {
	p := processid.Current()
	p.StartID += "0"
	return p
}

// MemoryStorage returns an in-memory storage that contains the given revisions.
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

// Key returns the key under which storage drivers store a revision.
func Key(version int) string {
	return fmt.Sprintf("%s.%s.v%d", storage.HelmStorageType, ReleaseName, version)
}

// Get returns a stored revision.
func Get(t *testing.T, releases *storage.Storage, version int) *release.Release {
	t.Helper()
	rel, err := releases.Get(ReleaseName, version)
	if err != nil {
		t.Fatal(err)
	}
	return rel
}

// Versions returns the sorted numbers of the stored revisions.
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

// Lease returns the lease in the order record of a stored revision, or nil if there is none.
func Lease(t *testing.T, releases *storage.Storage, version int) *orderrecord.Lease {
	t.Helper()
	rec, err := orderrecord.Read(Get(t, releases, version))
	if err != nil {
		t.Fatal(err)
	}
	return rec.LeaseFor(version)
}
