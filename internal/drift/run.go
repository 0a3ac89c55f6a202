// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"context"
	"fmt"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/ignorefile"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/operation"
)

// NotDeployedError reports that the newest revision of a release does not have the status
// deployed, and that no operation is running on it.
type NotDeployedError struct {
	Release  string
	Revision int
	Status   release.Status
}

func (e *NotDeployedError) Error() string {
	return fmt.Sprintf("revision %d of release %s is %s: there is nothing deployed to compare with the cluster, or to re-apply; upgrade the release, or roll it back", e.Revision, e.Release, e.Status)
}

// ReadDeployed reads the newest revision of a release, which must be deployed. The error is a
// *lease.HeldError if an operation is running, and otherwise a *NotDeployedError.
func ReadDeployed(store *history.Store, name string) (*release.Release, error) {
	revisions, err := store.ReadAll(name)
	if err != nil {
		return nil, err
	}
	switch rel := history.Newest(revisions); {
	case rel == nil:
		return nil, driver.ErrReleaseNotFound
	case history.IsInProgress(rel.Info.Status):
		return nil, lease.NewHeldError(rel)
	case rel.Info.Status != release.StatusDeployed:
		return nil, &NotDeployedError{Release: name, Revision: rel.Version, Status: rel.Info.Status}
	default:
		return rel, nil
	}
}

// FindDrift compares a release with the cluster, and changes nothing (docs/reference.md, "helm
// drift").
type FindDrift struct {
	// Ignore contains the rules about differences that are ignored; nil if there are none.
	Ignore *ignorefile.File

	cfg *helmaction.Configuration
}

// New returns a FindDrift without rules.
func New(cfg *helmaction.Configuration) *FindDrift { return &FindDrift{cfg: cfg} }

// RunWithContext compares the deployed revision of the release with the given name. The errors are
// those of ReadDeployed and Find: with an *UnknownError, it also returns a report.
func (d *FindDrift) RunWithContext(ctx context.Context, name string) (*Report, error) {
	if err := d.cfg.KubeClient.IsReachable(); err != nil {
		return nil, err
	}
	if err := chartutil.ValidateReleaseName(name); err != nil {
		return nil, fmt.Errorf("release name is invalid: %s", name)
	}
	rel, err := ReadDeployed(history.NewStore(history.ReadsNewestAlone(ctx, d.cfg.Releases), d.cfg.Log), name)
	if err != nil {
		return nil, err
	}
	op, ctx, end := operation.Start(ctx, d.cfg, operation.StartOptions{})
	defer end()
	report, err := Find(ctx, Config{Operation: op, Release: rel, Ignore: d.Ignore})
	return report, op.Finish(ctx, err)
}
