// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package statemigration

import (
	"context"
	"slices"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"

	"github.com/ordered-helm/helm/internal/placeholder"
	"github.com/ordered-helm/helm/internal/releaselist"
)

// Releases returns the names of all releases that a storage driver stores, sorted, including those whose migration was
// interrupted.
func Releases(ctx context.Context, s Storage) ([]string, error) {
	d, err := s.Open()
	if err != nil {
		return nil, err
	}
	var names []string
	_, err = releaselist.WithoutPayload(ctx, storage.Init(d)).List(func(rel *release.Release) bool {
		if driverName, _ := placeholder.Of(rel); driverName == "" || driverName == s.Name || placeholder.MigrationOf(rel) != nil {
			names = append(names, rel.Name)
		}
		return false
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	return slices.Compact(names), context.Cause(ctx)
}
