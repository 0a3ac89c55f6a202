// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package statemigration

import (
	"context"
	"slices"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/placeholder"
)

// headReader is a storage driver that can read releases without values, manifests, hooks and notes.
type headReader interface {
	Heads(ctx context.Context, release string) ([]*release.Release, error)
}

// Releases returns the names of all releases that a storage driver stores, sorted, including those whose migration was
// interrupted.
func Releases(ctx context.Context, s Storage) ([]string, error) {
	d, err := s.Open()
	if err != nil {
		return nil, err
	}
	var names []string
	add := func(rel *release.Release) bool {
		if driverName, _ := placeholder.Of(rel); driverName == "" || driverName == s.Name || placeholder.MigrationOf(rel) != nil {
			names = append(names, rel.Name)
		}
		return false
	}
	if reader, ok := d.(headReader); ok {
		heads, err := reader.Heads(ctx, "")
		if err != nil {
			return nil, err
		}
		for _, rel := range heads {
			add(rel)
		}
	} else if _, err := d.List(add); err != nil {
		return nil, err
	}
	slices.Sort(names)
	return slices.Compact(names), context.Cause(ctx)
}
