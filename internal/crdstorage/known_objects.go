// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crdstorage

import (
	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/internal/releaseparts"
)

// maxRememberedBytes is the maximum size of all sections that are remembered, apart from those of running operations.
const maxRememberedBytes = 16 << 20

// knownObjects is what a process has read and written last, so that an update need not read before it writes.
// If that is out of date, the update has a conflict.
type knownObjects struct {
	releases map[string]*releaseapi.Release
	versions map[versionKey]*storedVersion
	// uncommitted are versions that did not belong to their release when they were read, by release.
	uncommitted map[string][]*releaseapi.ReleaseVersion
	// complete are the releases all of whose revisions are in versions, unless another process has created one since.
	complete map[string]bool
	// waited are the revisions whose operations have waited until the resources were ready.
	waited map[versionKey]bool
}

func newKnownObjects() knownObjects {
	return knownObjects{
		map[string]*releaseapi.Release{}, map[versionKey]*storedVersion{}, map[string][]*releaseapi.ReleaseVersion{}, map[string]bool{}, map[versionKey]bool{},
	}
}

// known returns a copy of a revision as it was read or written last; nil if it is unknown.
func (d *Driver) known(k versionKey) *storedVersion {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.objects.versions[k] == nil {
		return nil
	}
	v := *d.objects.versions[k]
	return &v
}

func (d *Driver) remember(k versionKey, v *storedVersion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if hasEnded(v.object) && d.rememberedBytes()+sizeOf(v.sections) > maxRememberedBytes {
		v.sections = nil
	}
	d.objects.versions[k] = v
}

// rememberedBytes returns the size of all sections that are remembered. The caller must hold d.mu.
func (d *Driver) rememberedBytes() (size int) {
	for _, known := range d.objects.versions {
		size += sizeOf(known.sections)
	}
	return size
}

// rememberSections remembers the sections of a known version, as long as all together are small.
func (d *Driver) rememberSections(v *releaseapi.ReleaseVersion, sections []releaseparts.Section) {
	d.mu.Lock()
	defer d.mu.Unlock()
	size := d.rememberedBytes() + sizeOf(sections)
	k := versionKey{v.Spec.ReleaseName, int(v.Spec.Revision)}
	known := d.objects.versions[k]
	if known == nil || known.object.UID != v.UID || known.object.ResourceVersion != v.ResourceVersion || size > maxRememberedBytes {
		return
	}
	updated := *known
	updated.sections = sections
	d.objects.versions[k] = &updated
}

func sizeOf(sections []releaseparts.Section) (size int) {
	for _, s := range sections {
		size += len(s.Data)
	}
	return size
}

// rememberAll replaces what is known of a release: its Release, which is nil if there is none, all its revisions, and the
// versions that do not belong to it.
func (d *Driver) rememberAll(release string, parent *releaseapi.Release, versions []*storedVersion, uncommitted []*releaseapi.ReleaseVersion) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for k := range d.objects.versions {
		if k.release == release {
			delete(d.objects.versions, k)
		}
	}
	for _, v := range versions {
		d.objects.versions[keyOf(v.object)] = v
	}
	delete(d.objects.releases, release)
	if parent != nil {
		d.objects.releases[release] = parent
	}
	d.objects.uncommitted[release] = uncommitted
	d.objects.complete[release] = true
}

// isEmpty reports whether all revisions of a release that were known are deleted.
func (d *Driver) isEmpty(release string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for k := range d.objects.versions {
		if k.release == release {
			return false
		}
	}
	return d.objects.complete[release]
}

// isComplete reports whether all revisions of a release were read.
func (d *Driver) isComplete(release string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.objects.complete[release]
}

// countKnown returns the number of versions of a Release that were not deleted. Operations read all of them before they
// create another one.
func (d *Driver) countKnown(r *releaseapi.Release) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	count := 0
	for k := range d.objects.versions {
		if k.release == r.Name {
			count++
		}
	}
	if count == 0 {
		return int(r.Status.Counts.Versions)
	}
	return count
}

// lastIDBefore returns the greatest ID of the known revisions before the given one; empty if there are none.
func (d *Driver) lastIDBefore(release string, revision int) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	last := ""
	for k, v := range d.objects.versions {
		if k.release == release && k.revision < revision {
			last = max(last, v.object.Name)
		}
	}
	return last
}

func (d *Driver) forget(k versionKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.objects.versions, k)
}

// knownRelease returns a copy of a Release as it was read or written last; nil if it is unknown.
func (d *Driver) knownRelease(name string) *releaseapi.Release {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.objects.releases[name] == nil {
		return nil
	}
	r := *d.objects.releases[name]
	return &r
}

func (d *Driver) rememberRelease(r *releaseapi.Release) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.objects.releases[r.Name] = r
}

func (d *Driver) forgetRelease(name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.objects.complete, name)
	delete(d.objects.releases, name)
}

// takeUncommitted returns the versions that did not belong to the release when all of it was read, and forgets them.
func (d *Driver) takeUncommitted(release string) []*releaseapi.ReleaseVersion {
	d.mu.Lock()
	defer d.mu.Unlock()
	versions := d.objects.uncommitted[release]
	delete(d.objects.uncommitted, release)
	return versions
}

// SetWaited notes that the operation on a revision has waited until its resources were ready. The next update of
// the revision stores this in the Release.
func (d *Driver) SetWaited(release string, revision int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.objects.waited[versionKey{release, revision}] = true
}

// forgetWaited forgets that an operation on an earlier revision with the same number has waited.
func (d *Driver) forgetWaited(k versionKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.objects.waited, k)
}

func (d *Driver) hasWaited(k versionKey) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.objects.waited[k]
}
