// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package storagestatus finds out which storage driver stores each release (docs/reference.md, "What is stored where").
package storagestatus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/placeholder"
	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/internal/releaselist"
	"github.com/ordered-helm/helm/internal/storagedriver"
)

// Release says where a release is stored.
type Release struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Driver is the value of HELM_DRIVER with which Helm finds the release.
	Driver string `json:"driver"`
	// Revisions is the number of stored revisions, and Revision the last of them, whose status is Status.
	Revisions int            `json:"revisions"`
	Revision  int            `json:"revision"`
	Status    release.Status `json:"status"`
	// Migration is set while the release is being moved, or if that was interrupted.
	Migration *placeholder.Migration `json:"migration,omitempty"`
	// AlsoIn are the drivers of other releases with this name.
	AlsoIn []string `json:"alsoIn,omitempty"`
}

// Drivers opens storage drivers. They return placeholders.
type Drivers func(name string) (driver.Driver, error)

// Read returns the releases that the storage drivers with the given names store, sorted. unreadable contains the errors of
// drivers that the account may not use.
func Read(ctx context.Context, open Drivers, names []string) (releases []Release, unreadable map[string]error, err error) {
	unreadable = map[string]error{}
	found := map[key]*Release{}
	for _, name := range names {
		revisions, err := revisionsOf(ctx, open, name)
		if definitions, _ := errors.AsType[*releaseapi.DefinitionsError](err); definitions != nil && definitions.Problem == releaseapi.ProblemMissing {
			continue
		}
		if err != nil {
			unreadable[name] = err
			continue
		}
		for _, rel := range revisions {
			addTo(found, name, rel)
		}
		if err := context.Cause(ctx); err != nil {
			return nil, nil, err
		}
	}
	for _, r := range found {
		releases = append(releases, *r)
	}
	slices.SortFunc(releases, func(a, b Release) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Driver, b.Driver))
	})
	noteOthers(releases)
	return releases, unreadable, nil
}

// key identifies a release in a storage.
type key struct{ namespace, name, driver string }

// revisionsOf returns all revisions that a storage driver stores. Those that it can read without values, manifests, hooks
// and notes have none, unless they may be the placeholder of a migration.
func revisionsOf(ctx context.Context, open Drivers, name string) ([]*release.Release, error) {
	d, err := open(name)
	if err != nil {
		return nil, err
	}
	revisions, err := releaselist.WithoutPayload(ctx, storage.Init(d)).List(func(*release.Release) bool { return true })
	if err != nil {
		return nil, err
	}
	for i, rel := range revisions {
		if name != storagedriver.CRD || !rel.Info.Status.IsPending() {
			continue
		}
		whole, err := d.Get(fmt.Sprintf("%s.%s.v%d", storage.HelmStorageType, rel.Name, rel.Version))
		if err == nil && placeholder.MigrationOf(whole) != nil {
			revisions[i] = whole
		}
	}
	return revisions, nil
}

// addTo adds a revision that a driver has read.
func addTo(found map[key]*Release, name string, rel *release.Release) {
	stores, _ := placeholder.Of(rel)
	migration := placeholder.MigrationOf(rel)
	if migration == nil && stores != "" && stores != storagedriver.ChunkedSecret {
		return // the placeholder of a release that is found where it is stored
	}
	k := key{rel.Namespace, rel.Name, name}
	r := found[k]
	if r == nil {
		r = &Release{Namespace: rel.Namespace, Name: rel.Name, Driver: name}
		found[k] = r
	}
	if migration == nil && stores == storagedriver.ChunkedSecret {
		r.Driver = stores // which also reads the revisions that fit into a Secret
	}
	r.add(rel, migration)
}

func (r *Release) add(rel *release.Release, migration *placeholder.Migration) {
	if migration != nil {
		r.Migration = migration
		return
	}
	r.Revisions++
	if rel.Version > r.Revision {
		r.Revision, r.Status = rel.Version, rel.Info.Status
		if status := rel.Labels["status"]; status != "" { // that of a revision in several Secrets
			r.Status = release.Status(status)
		}
	}
}

// noteOthers sets AlsoIn. releases are sorted.
func noteOthers(releases []Release) {
	for begin := 0; begin < len(releases); {
		end := begin
		for end < len(releases) && releases[end].Namespace == releases[begin].Namespace && releases[end].Name == releases[begin].Name {
			end++
		}
		for i := begin; i < end; i++ {
			for j := begin; j < end; j++ {
				if i != j {
					releases[i].AlsoIn = append(releases[i].AlsoIn, releases[j].Driver)
				}
			}
		}
		begin = end
	}
}
