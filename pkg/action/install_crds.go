// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/ordered-helm/helm/internal/crdstep"
	"github.com/ordered-helm/helm/internal/deploy"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// installCRDs installs or applies the CRDs in the crds/ directories of the charts, unless the
// install has no cluster.
func (r *installRun) installCRDs(ctx context.Context) error {
	i := r.action
	switch {
	case i.ClientOnly:
		return nil
	case r.crds != "" && driver.ContainsSystemLabels(i.Labels):
		return reservedLabelsError()
	case len(i.APIVersions) > 0:
		r.op.Log("API Version list given outside of client only mode, this list will be ignored")
	}
	step := &crdstep.Step{
		Operation: r.op, Config: i.cfg, Planner: r.planner, Policy: r.crds, DryRun: r.mode.isDryRun(), Ordered: i.isOrdered(), NewRelease: r.newRelease, Render: r.output.attempt,
		Deployment: func(rel *release.Release, plan *sequencer.Plan) deploy.RunConfig {
			return r.deployConfig(rel, plan, nil, nil)
		},
	}
	return step.Run(ctx)
}

// installCRDs does what that of installRun does, if the user has asked for it.
func (r *upgradeRun) installCRDs(ctx context.Context) error {
	u := r.action
	switch {
	case r.crds == "":
		return nil
	case driver.ContainsSystemLabels(u.Labels):
		return reservedLabelsError()
	}
	step := &crdstep.Step{
		Operation: r.op, Config: u.cfg, Planner: r.planner, Policy: r.crds, DryRun: r.mode.isDryRun(), Ordered: u.isOrdered(), NewRelease: r.newRelease, Render: r.output.attempt,
		Deployment: func(rel *release.Release, plan *sequencer.Plan) deploy.RunConfig {
			return r.deployConfig(rel, plan, nil)
		},
	}
	return explainUnusableRecord(step.Run(ctx))
}
