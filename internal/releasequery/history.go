// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releasequery

import (
	"context"
	"fmt"
	"strconv"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/crdstorage"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/releaseparts"
)

// History lists the stored revisions of a release (helm history). It has every field and method of
// Helm's History, with the same meaning.
type History struct {
	*helmaction.History
	cfg *helmaction.Configuration
}

// NewHistory returns a History with Helm's defaults.
func NewHistory(cfg *helmaction.Configuration) *History {
	return &History{History: helmaction.NewHistory(cfg), cfg: cfg}
}

// Revisions returns the stored revisions of a release. Unlike Run, it reads no values, manifests,
// hooks, notes and files of charts, if the storage driver is "crd"; the fields of these are then
// empty. With the storage driver "chunked-secret", this is so for large revisions.
func (h *History) Revisions(ctx context.Context, name string) ([]releaseparts.Revision, error) {
	if err := h.check(name); err != nil {
		return nil, err
	}
	h.cfg.Log("getting history for release %s", name)
	return history.NewStore(h.cfg.Releases, h.cfg.Log).Revisions(ctx, name)
}

// Revision is like Revisions, for one revision.
func (h *History) Revision(ctx context.Context, name string, revision int) (releaseparts.Revision, error) {
	if err := h.check(name); err != nil {
		return releaseparts.Revision{}, err
	}
	return history.NewStore(h.cfg.Releases, h.cfg.Log).Revision(ctx, name, revision)
}

// check returns the errors that Helm's History returns before it reads anything.
func (h *History) check(name string) error {
	if err := h.cfg.KubeClient.IsReachable(); err != nil {
		return err
	}
	if err := chartutil.ValidateReleaseName(name); err != nil {
		return fmt.Errorf("release name is invalid: %s", name)
	}
	return nil
}

// ParseRevision returns the number of a revision of a release, for the fields Version of actions.
// The text is the number or, if the storage driver is "crd", the name of the ReleaseVersion that
// stores the revision ("Releases as objects" in docs/reference.md). The error wraps
// strconv.ErrSyntax or strconv.ErrRange if it is neither.
func ParseRevision(ctx context.Context, cfg *helmaction.Configuration, release, text string) (int, error) {
	revision, err := strconv.Atoi(text)
	if err == nil || !crdstorage.IsVersionID(text) {
		return revision, err
	}
	return history.NewStore(cfg.Releases, cfg.Log).NumberOf(ctx, release, text)
}

// VersionOf returns the name of the ReleaseVersion that stores a revision, which was read or
// written with cfg. It is empty unless the storage driver is "crd".
func VersionOf(cfg *helmaction.Configuration, release string, revision int) string {
	return history.NewStore(cfg.Releases, cfg.Log).IDOf(release, revision)
}
