// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"errors"
	"slices"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/pkg/action"
)

// revision reads a revision of the release with this name. The revision 0 is the latest
// one.
func (a *app) revision(name string, revision int) (*release.Release, error) {
	get := action.NewGet(a.config)
	get.Version = revision
	return get.Run(name)
}

// lastRevision reads the latest revision of the release with this name. It returns nil if
// the release does not exist.
func (a *app) lastRevision(name string) (*release.Release, error) {
	history, err := action.NewHistory(a.config).Run(name)
	switch {
	case errors.Is(err, driver.ErrReleaseNotFound), err == nil && len(history) == 0:
		return nil, nil
	case err != nil:
		return nil, err
	}
	return slices.MaxFunc(history, func(a, b *release.Release) int { return cmp.Compare(a.Version, b.Version) }), nil
}
