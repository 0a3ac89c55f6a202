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

// createRevision stores a new revision, which only one operation can, and makes
// room for it as Helm does. Not every driver says that this is why it could not.
func createRevision(cfg *Configuration, rel *release.Release) error {
	releases := *cfg.Releases
	releases.Driver = &driverBefore{Driver: releases.Driver, revision: rel.Version}
	err := releases.Create(ownRelease(rel))
	if err == nil {
		return nil
	}
	_, missing := cfg.Releases.Get(rel.Name, rel.Version)
	if errors.Is(err, driver.ErrReleaseExists) || missing == nil {
		return &overtakenError{name: rel.Name, revision: rel.Version}
	}
	return err
}

// driverBefore is a driver for an operation that creates a revision. Helm makes
// room for that first: it would delete the very revision that another operation
// has created meanwhile, and both would go on.
type driverBefore struct {
	driver.Driver
	revision int
}

// Query lists revisions, and refuses to where there are any that the operation
// cannot know of.
func (d *driverBefore) Query(labels map[string]string) ([]*release.Release, error) {
	list, err := d.Driver.Query(labels)
	if slices.ContainsFunc(list, func(rel *release.Release) bool { return rel.Version >= d.revision }) {
		return nil, driver.ErrReleaseExists
	}
	return list, err
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
