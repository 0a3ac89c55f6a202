// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package statemigration

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/history/historytest"
	"github.com/ordered-helm/helm/internal/placeholder"
)

// noObjects is the Objects of releases that own nothing.
type noObjects struct{}

func (noObjects) Own(context.Context, driver.Driver, []*release.Release) error    { return nil }
func (noObjects) Disown(context.Context, driver.Driver, []*release.Release) error { return nil }

// rejectingDriver rejects the creation of a revision. If stores is set, it stores the revision nevertheless, as if the
// response was lost.
type rejectingDriver struct {
	driver.Driver
	revision int
	stores   bool
}

var errRejected = errors.New("rejected")

func (d *rejectingDriver) Create(key string, rel *release.Release) error {
	if rel.Version != d.revision {
		return d.Driver.Create(key, rel)
	}
	if d.stores {
		return errors.Join(errRejected, d.Driver.Create(key, rel))
	}
	return errRejected
}

// newMigration returns a migration of a release with three revisions between two storages in memory.
func newMigration(t *testing.T) (m *Migration, from, to driver.Driver) {
	t.Helper()
	from = historytest.MemoryStorage(t, historytest.RevisionWithChart(1, release.StatusSuperseded), historytest.RevisionWithChart(2, release.StatusSuperseded),
		historytest.RevisionWithChart(3, release.StatusDeployed)).Driver
	to = historytest.MemoryStorage(t).Driver
	m = &Migration{Release: historytest.ReleaseName, From: opening("configmap", from), To: opening("sql", to), Objects: noObjects{}, Log: t.Logf}
	return m, from, to
}

func opening(name string, d driver.Driver) Storage {
	return Storage{Name: name, Open: func() (driver.Driver, error) { return d, nil }}
}

// numbers returns the revisions that a storage contains.
func numbers(t *testing.T, d driver.Driver) []int {
	t.Helper()
	list, err := d.List(func(*release.Release) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	var found []int
	for _, rel := range list {
		found = append(found, rel.Version)
	}
	slices.Sort(found)
	return found
}

// TestFailureRestores checks that a migration that fails before all revisions are copied leaves nothing in the new
// storage, also if an earlier migration was killed there.
func TestFailureRestores(t *testing.T) {
	for name, tt := range map[string]struct {
		rejected int
		stores   bool
		killed   bool
	}{
		"first revision":             {rejected: 1},
		"last revision":              {rejected: 3},
		"lost response":              {rejected: 2, stores: true},
		"lost response to the lock":  {rejected: 4, stores: true},
		"after a killed migration":   {rejected: 2, killed: true},
		"lock of the killed process": {rejected: 1, killed: true},
	} {
		t.Run(name, func(t *testing.T) {
			m, from, to := newMigration(t)
			if tt.killed {
				continueKilled(t, m, from, to, tt.rejected)
			}
			m.To = opening("sql", &rejectingDriver{to, tt.rejected, tt.stores})
			if _, err := m.Run(t.Context()); !errors.Is(err, errRejected) || !strings.HasSuffix(err.Error(), "nothing was moved") {
				t.Errorf("got %v", err)
			}
			if left := numbers(t, to); len(left) > 0 {
				t.Errorf("the new storage contains %v", left)
			}
			if left := numbers(t, from); !slices.Equal(left, []int{1, 2, 3}) {
				t.Errorf("the old storage contains %v", left)
			}
		})
	}
}

// continueKilled stores what a migration leaves that was killed before it had copied one of the revisions.
func continueKilled(t *testing.T, m *Migration, from, to driver.Driver, missing int) {
	t.Helper()
	lock, err := m.newLock(historytest.RevisionWithChart(3, release.StatusDeployed), false)
	if err != nil {
		t.Fatal(err)
	}
	leased := historytest.LeasedRevision(t, 4, release.StatusPendingUpgrade, historytest.DeadProcess(), 0)
	inOld := *lock
	inOld.Chart = leased.Chart
	chart := *leased.Chart
	chart.Metadata, chart.Files = lock.Chart.Metadata, append(slices.Clone(lock.Chart.Files), leased.Chart.Files...)
	inOld.Chart = &chart
	if placeholder.MigrationOf(&inOld) == nil {
		t.Fatal("it is not the placeholder of a migration")
	}
	list, err := from.List(func(*release.Release) bool { return true })
	errs := []error{err, from.Create(keyOf(&inOld), &inOld), to.Create(keyOf(lock), lock)}
	for _, rel := range list {
		if rel.Version != missing {
			errs = append(errs, to.Create(keyOf(rel), rel))
		}
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// TestNameInUse checks that a migration changes nothing of another release that the new storage contains.
func TestNameInUse(t *testing.T) {
	m, from, to := newMigration(t)
	other := historytest.RevisionWithChart(1, release.StatusDeployed)
	if err := to.Create(keyOf(other), other); err != nil {
		t.Fatal(err)
	}
	var exists *ExistsError
	if _, err := m.Run(t.Context()); !errors.As(err, &exists) {
		t.Errorf("got %v", err)
	}
	if !slices.Equal(numbers(t, to), []int{1}) || !slices.Equal(numbers(t, from), []int{1, 2, 3}) {
		t.Errorf("the storages contain %v and %v", numbers(t, from), numbers(t, to))
	}
}
