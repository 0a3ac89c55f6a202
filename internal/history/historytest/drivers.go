// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package historytest

import (
	"slices"
	"sync"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
)

// RecordingDriver is a driver that records the updates of revisions. It is safe for
// concurrent use.
type RecordingDriver struct {
	driver.Driver
	// BeforeUpdate is called before each attempt to update a revision, with the number of
	// the attempt, counted from 1. It can block the update, or return an error for it. It
	// can be nil.
	BeforeUpdate func(attempt int) error

	mu       sync.Mutex
	updates  []*release.Release
	attempts int
}

// Update records the update unless BeforeUpdate returns an error.
func (d *RecordingDriver) Update(key string, rel *release.Release) error {
	d.mu.Lock()
	d.attempts++
	attempt := d.attempts
	d.mu.Unlock()
	if d.BeforeUpdate != nil {
		if err := d.BeforeUpdate(attempt); err != nil {
			return err
		}
	}
	d.mu.Lock()
	d.updates = append(d.updates, rel)
	d.mu.Unlock()
	return d.Driver.Update(key, rel)
}

// Updates returns the revisions as they were written, in the order of the updates.
func (d *RecordingDriver) Updates() []*release.Release {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.updates)
}

// LastUpdate returns the revision as it was last written.
func (d *RecordingDriver) LastUpdate() *release.Release {
	updates := d.Updates()
	return updates[len(updates)-1]
}

// Attempts returns the number of attempted updates, including failed ones.
func (d *RecordingDriver) Attempts() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.attempts
}

// UpdateErrorDriver is a driver whose updates fail.
type UpdateErrorDriver struct {
	driver.Driver
	Err error
}

// Update returns the error.
func (d *UpdateErrorDriver) Update(string, *release.Release) error { return d.Err }

// GetErrorDriver is a driver that cannot read a revision while Err is set.
type GetErrorDriver struct {
	driver.Driver
	Err error
	// Gets is the number of calls of Get.
	Gets int
}

// Get returns the error if there is one.
func (d *GetErrorDriver) Get(key string) (*release.Release, error) {
	d.Gets++
	if d.Err != nil {
		return nil, d.Err
	}
	return d.Driver.Get(key)
}

// QueryErrorDriver is a driver that cannot list revisions.
type QueryErrorDriver struct {
	driver.Driver
	Err error
}

// Query returns the error.
func (d *QueryErrorDriver) Query(map[string]string) ([]*release.Release, error) { return nil, d.Err }

// CorruptingDriver is a driver that changes the revisions that it returns.
type CorruptingDriver struct {
	driver.Driver
	Corrupt func(*release.Release)
}

// Get reads a revision and corrupts a copy of it.
func (d *CorruptingDriver) Get(key string) (*release.Release, error) {
	rel, err := d.Driver.Get(key)
	if err != nil {
		return nil, err
	}
	return d.corrupted(rel), nil
}

// Query lists revisions and corrupts copies of them.
func (d *CorruptingDriver) Query(labels map[string]string) ([]*release.Release, error) {
	list, err := d.Driver.Query(labels)
	for i, rel := range list {
		list[i] = d.corrupted(rel)
	}
	return list, err
}

func (d *CorruptingDriver) corrupted(rel *release.Release) *release.Release {
	corrupted := *rel
	d.Corrupt(&corrupted)
	return &corrupted
}
