// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
)

// createRevision stores a new revision, which only one operation can, and makes room for
// it as Helm does; it reports whether it has forgotten the revision before for that. That
// one may be stale. Not every driver says that a revision is there already.
func createRevision(cfg *Configuration, rel, stale *release.Release) (forgot bool, err error) {
	before := &driverBefore{Driver: cfg.Releases.Driver, revision: rel.Version, stale: stale}
	releases := *cfg.Releases
	releases.Driver = before
	err = releases.Create(ownRelease(rel))
	if err == nil {
		return before.forgot, nil
	}
	var held *HeldError
	if errors.As(err, &held) {
		return false, held
	}
	_, missing := readRevision(cfg.Releases, rel.Name, rel.Version)
	var damaged *damagedError
	switch {
	case errors.As(missing, &damaged):
		return false, damaged
	case errors.Is(err, driver.ErrReleaseExists) || missing == nil:
		return false, &overtakenError{name: rel.Name, revision: rel.Version}
	}
	return false, err
}

// driverBefore is a driver for an operation that creates a revision. Helm makes
// room for that first: it would delete the very revision that another operation
// has created meanwhile, or works on, and both would go on.
type driverBefore struct {
	driver.Driver
	revision int
	// stale is the revision before if it is taken over; nil if it is not.
	stale *release.Release
	// forgot is whether the revision before was deleted.
	forgot bool
}

// Query lists revisions, and refuses to where there are any that the operation
// cannot know of.
func (d *driverBefore) Query(labels map[string]string) ([]*release.Release, error) {
	list, err := d.Driver.Query(labels)
	if slices.ContainsFunc(list, func(rel *release.Release) bool { return rel.Version >= d.revision }) {
		return nil, driver.ErrReleaseExists
	}
	for _, rel := range list {
		if d.isTaken(rel) {
			return nil, newHeldError(rel)
		}
	}
	return list, err
}

// Delete deletes a revision, unless others have begun to work on it meanwhile: it is put
// back then.
func (d *driverBefore) Delete(key string) (*release.Release, error) {
	rel, err := d.Driver.Delete(key)
	if err != nil || rel == nil {
		return rel, err
	}
	if d.isTaken(rel) {
		return nil, errors.Join(newHeldError(rel), d.Create(key, rel))
	}
	d.forgot = d.forgot || rel.Version == d.revision-1
	return rel, nil
}

// isTaken reports whether others work on the revision before.
func (d *driverBefore) isTaken(rel *release.Release) bool {
	return rel.Version == d.revision-1 && rel.Info != nil && isHeld(rel.Info.Status) && (d.stale == nil || !isSame(d.stale, rel))
}

// overtakenError says that another operation was faster.
type overtakenError struct {
	name     string
	revision int
}

func (e *overtakenError) Error() string {
	return fmt.Sprintf("another operation has made revision %d of release %s meanwhile: nothing of the release was changed, try again", e.revision, e.name)
}

// Unwrap makes it Helm's error for a release that exists.
func (e *overtakenError) Unwrap() error { return driver.ErrReleaseExists }

// ownRelease copies what an operation changes of a release: storage in memory hands
// out, and keeps, the very release that others read.
func ownRelease(rel *release.Release) *release.Release {
	own := *rel
	if rel.Info != nil {
		info := *rel.Info
		own.Info = &info
	}
	own.Hooks = ownHooks(rel.Hooks)
	return &own
}

// withRuns copies a release, with what became of its hooks.
func withRuns(rel *release.Release, hooks []*release.Hook) *release.Release {
	own := ownRelease(rel)
	for i, h := range own.Hooks {
		if i < len(hooks) && hooks[i].Name == h.Name && hooks[i].Kind == h.Kind {
			h.LastRun, h.DeletePolicies = hooks[i].LastRun, hooks[i].DeletePolicies
		}
	}
	return own
}

// ownHooks copies hooks, so that when they ran is noted in one revision alone.
func ownHooks(hooks []*release.Hook) []*release.Hook {
	if hooks == nil {
		return nil
	}
	own := make([]*release.Hook, len(hooks))
	for i, h := range hooks {
		hook := *h
		own[i] = &hook
	}
	return own
}
