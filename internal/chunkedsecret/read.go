// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chunkedsecret

import (
	"context"
	"errors"

	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ordered-helm/helm/internal/placeholder"
	"github.com/ordered-helm/helm/internal/releaseparts"
)

// complete returns the stored release. rel is what Helm's driver has read from its Secret. Of a
// revision whose sections were never stored, because the operation that created it was
// interrupted, it returns what the head contains: nothing of it was deployed.
func (d *Driver) complete(ctx context.Context, s *storedRevision, rel *release.Release) (*release.Release, error) {
	if len(s.references()) == 0 {
		return s.summary(rel), nil
	}
	sections, err := d.readSections(ctx, s, s.contents.References)
	if err != nil {
		return nil, err
	}
	joined, err := releaseparts.Join(s.contents.Head, sections)
	if err != nil {
		return nil, err
	}
	joined.Labels = rel.Labels
	return joined, nil
}

// completeIfPossible is like complete, but returns an unreadable revision instead of an error if
// a part of the revision is missing, was altered, or must not be read.
func (d *Driver) completeIfPossible(ctx context.Context, s *storedRevision, rel *release.Release) (*release.Release, error) {
	completed, err := d.complete(ctx, s, rel)
	part, _ := errors.AsType[*releaseparts.PartError](err)
	if part == nil || !errors.Is(err, releaseparts.ErrMissing) && !errors.Is(err, releaseparts.ErrAltered) && !apierrors.IsForbidden(err) {
		return completed, err
	}
	d.options.Log("release %s, revision %d: %s", rel.Name, rel.Version, err)
	unreadable := placeholder.NewUnreadable(s.contents.Head, err)
	unreadable.Labels = rel.Labels
	return unreadable, nil
}

// readSections reads sections, unless they are in the cache.
func (d *Driver) readSections(ctx context.Context, s *storedRevision, references []releaseparts.Reference) ([]releaseparts.Section, error) {
	sections, missing := d.cache.get(references)
	if len(missing) == 0 {
		return sections, nil
	}
	client, err := d.connect()
	if err != nil {
		return nil, err
	}
	store := releaseparts.SecretStore{Client: client}
	read, err := store.Read(ctx, s.owner(), missing)
	if err != nil {
		return nil, err
	}
	d.cache.add(missing, read)
	return append(sections, read...), nil
}
