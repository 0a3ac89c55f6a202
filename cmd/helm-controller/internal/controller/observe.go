// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/chartsource"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/decision"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/requestorder"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/requestvalues"
	"github.com/ordered-helm/helm/pkg/action"
)

// digestLabel is the label of a release with its revision and the beginning of the digest of its chart. An upgrade
// or rollback by hand keeps the label, which then has the number of another revision.
const digestLabel = "helm.sh/chart-digest"

// digestLabelOf returns the value of digestLabel, which can have 63 characters.
func digestLabelOf(revision int, digest string) string {
	_, hexadecimal, _ := strings.Cut(digest, ":")
	return fmt.Sprintf("%d.%s", revision, hexadecimal[:min(len(hexadecimal), 48)])
}

// readRelease reads what is stored of the release.
func (r *run) readRelease(ctx context.Context) error {
	if err := r.connect(ctx); err != nil {
		return err
	}
	name := r.request.ReleaseName()
	newest, err := action.NewGet(r.cfg).RunWithContext(ctx, name)
	switch {
	case errors.Is(err, driver.ErrReleaseNotFound):
		newest = nil
	case err != nil:
		return fmt.Errorf("read release %s: %w", name, err)
	}
	r.newest, r.state.Release = newest, &decision.Release{}
	if newest != nil {
		r.state.Release.Revision, r.state.Release.Status = int64(newest.Version), newest.Info.Status
		r.state.Release.Request = newest.Labels[v1alpha1.RequestLabel]
	}
	if r.request.Spec.RollbackTo == nil {
		return nil
	}
	r.state.Release.Target, err = r.rollbackTarget(ctx, int(*r.request.Spec.RollbackTo))
	return err
}

func (r *run) rollbackTarget(ctx context.Context, revision int) (*decision.RollbackTarget, error) {
	name, target := r.request.ReleaseName(), &decision.RollbackTarget{}
	if r.newest == nil {
		return target, nil
	}
	revisions, err := action.NewHistory(r.cfg).Revisions(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read the history of release %s: %w", name, err)
	}
	for _, found := range revisions {
		target.Revisions = append(target.Revisions, int64(found.Release.Version))
		target.Exists = target.Exists || found.Release.Version == revision
	}
	if !target.Exists {
		return target, nil
	}
	get := action.NewGet(r.cfg)
	get.Version = revision
	rel, err := get.RunWithContext(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("read revision %d of release %s: %w", revision, name, err)
	}
	target.IsNewest = haveSameContent(rel, r.newest)
	return target, nil
}

// haveSameContent reports whether a rollback to a changes nothing if b is deployed.
func haveSameContent(a, b *release.Release) bool {
	if a.Manifest != b.Manifest || len(a.Hooks) != len(b.Hooks) || !haveSameValues(a.Config, b.Config) {
		return false
	}
	for i := range a.Hooks {
		if a.Hooks[i].Manifest != b.Hooks[i].Manifest {
			return false
		}
	}
	return reflect.DeepEqual(a.Chart.Metadata, b.Chart.Metadata) && requestorder.IsSame(a, b)
}

// haveSameValues reports whether values are equal when they are stored.
func haveSameValues(a, b map[string]any) bool {
	if len(a) == 0 && len(b) == 0 {
		return true
	}
	first, err := json.Marshal(a)
	second, otherErr := json.Marshal(b)
	return err == nil && otherErr == nil && string(first) == string(second)
}

// loadDesired reads the chart, the values and the order that the request asks for.
func (r *run) loadDesired(ctx context.Context) (err error) {
	if r.order, err = requestorder.Read(r.request); err != nil {
		return err
	}
	if err = r.connect(ctx); err != nil {
		return err
	}
	if r.values, err = requestvalues.Read(ctx, r.client, r.request); err != nil {
		return err
	}
	if r.chart, err = chartsource.Read(ctx, r.client, r.request, r.options.Charts); err != nil {
		return err
	}
	deployed := r.chart.Deployed()
	r.state.Desired = &decision.Desired{Chart: deployed, IsNewest: r.isDesired(deployed), Inputs: r.inputs(deployed)}
	return nil
}

// isDesired reports whether the newest revision has the chart, the values and the order that the request asks
// for.
func (r *run) isDesired(chart v1alpha1.DeployedChart) bool {
	rel := r.newest
	return rel != nil && rel.Labels[v1alpha1.RequestLabel] == r.request.Name && rel.Labels[digestLabel] == digestLabelOf(rel.Version, chart.Digest) &&
		haveSameValues(rel.Config, r.values.Merged) && requestorder.IsOrderOf(r.order, rel)
}

// inputs identifies the chart, the values and the order. Values can be secret, so only the versions of their objects
// and the generation of the request count.
func (r *run) inputs(chart v1alpha1.DeployedChart) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %s", r.request.Generation, chart.Digest, r.values.Versions))
	return hex.EncodeToString(sum[:])
}
