// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chunkedsecret

import (
	"context"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/releaseparts"
)

// Revisions returns the revisions of a release. Of large ones, it reads only the first Secret: they have no values,
// manifests, hooks and notes.
func (d *Driver) Revisions(_ context.Context, name string) ([]releaseparts.Revision, error) {
	list, stored, err := d.query(map[string]string{"owner": "helm", "name": name})
	if err != nil {
		return nil, err
	}
	revisions := make([]releaseparts.Revision, len(list))
	for i, rel := range list {
		revisions[i] = stored[i].revision(rel)
	}
	return revisions, nil
}

// Revision returns a revision of a release, as Revisions does.
func (d *Driver) Revision(_ context.Context, name string, revision int) (releaseparts.Revision, error) {
	s, rel, err := d.read(keyOf(&release.Release{Name: name, Version: revision}))
	if err != nil {
		return releaseparts.Revision{}, err
	}
	return s.revision(rel), nil
}

// Newest returns the newest revision of a release. It reads the sections of no other revision.
func (d *Driver) Newest(ctx context.Context, name string) (*release.Release, error) {
	list, stored, err := d.query(map[string]string{"owner": "helm", "name": name})
	if err != nil {
		return nil, err
	}
	newest := 0
	for i, rel := range list {
		if rel.Version > list[newest].Version {
			newest = i
		}
	}
	return d.complete(ctx, stored[newest], list[newest])
}

// query returns the revisions that have the labels, at least one, and what their Secrets contain.
func (d *Driver) query(labels map[string]string) ([]*release.Release, []*storedRevision, error) {
	c := &capturingClient{SecretInterface: d.client}
	list, err := d.helm(c).Query(labels)
	if err != nil {
		return nil, nil, err
	}
	stored := make([]*storedRevision, len(list))
	for i, rel := range list {
		if stored[i], err = newStoredRevision(c.find(rel), rel, d.options.ReadPlaceholders); err != nil {
			return nil, nil, err
		}
		d.remember(stored[i])
	}
	return list, stored, nil
}

// revision returns what the Secret alone says about the revision. rel is what Helm's driver has read from it.
func (s *storedRevision) revision(rel *release.Release) releaseparts.Revision {
	if s.contents == nil {
		return releaseparts.NewRevision(rel)
	}
	revision := s.contents.Head.Stored("")
	revision.Release.Labels = rel.Labels
	return revision
}
