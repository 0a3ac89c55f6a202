// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package historytest

import (
	"slices"
	"sync"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
)

// RecordingDriver is a storage driver that records the updates of revisions. It is safe for
// concurrent use.
type RecordingDriver struct {
	driver.Driver
	// BeforeUpdate, if it is not nil, is called before each attempt to update a revision,
	// with the number of the attempt, counted from 1. It can block, or return an error with
	// which the update fails.
	BeforeUpdate func(attempt int) error

	mu       sync.Mutex
	updates  []*release.Release
	attempts int
}

// Update stores a revision and records it, unless BeforeUpdate returns an error.
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

// Updates returns the updated revisions as they were stored, in the order of the updates.
func (d *RecordingDriver) Updates() []*release.Release {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.updates)
}

// LastUpdate returns the revision of the last update. It panics if there was no update.
func (d *RecordingDriver) LastUpdate() *release.Release {
	updates := d.Updates()
	return updates[len(updates)-1]
}

// Attempts returns the number of attempted updates, including those that failed.
func (d *RecordingDriver) Attempts() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.attempts
}

// UpdateErrorDriver is a storage driver whose Update always fails with Err.
type UpdateErrorDriver struct {
	driver.Driver
	Err error
}

// Update returns d.Err.
func (d *UpdateErrorDriver) Update(string, *release.Release) error { return d.Err }

// GetErrorDriver is a storage driver whose Get fails with Err if Err is not nil.
type GetErrorDriver struct {
	driver.Driver
	Err error
	// Gets counts the calls of Get.
	Gets int
}

// Get returns d.Err, or a revision if d.Err is nil.
func (d *GetErrorDriver) Get(key string) (*release.Release, error) {
	d.Gets++
	if d.Err != nil {
		return nil, d.Err
	}
	return d.Driver.Get(key)
}

// QueryErrorDriver is a storage driver whose Query always fails with Err.
type QueryErrorDriver struct {
	driver.Driver
	Err error
}

// Query returns d.Err.
func (d *QueryErrorDriver) Query(map[string]string) ([]*release.Release, error) { return nil, d.Err }

// CorruptingDriver is a storage driver that calls Corrupt with a copy of each revision that
// it returns.
type CorruptingDriver struct {
	driver.Driver
	Corrupt func(*release.Release)
}

// Get returns a corrupted copy of a stored revision.
func (d *CorruptingDriver) Get(key string) (*release.Release, error) {
	rel, err := d.Driver.Get(key)
	if err != nil {
		return nil, err
	}
	return d.corrupted(rel), nil
}

// Query returns corrupted copies of stored revisions.
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
