// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/crds"
	"github.com/ordered-helm/helm/internal/deploy"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/planner"
)

// installCRDs installs the CustomResourceDefinitions from the crds/ directories of the
// charts. It does this before the templates are rendered, because templates may look up
// objects of the new kinds. An ordered install first checks the order. Values that a schema in
// YAML rejects are an error before that. A dry run installs nothing.
func (r *installRun) installCRDs(ctx context.Context) error {
	i := r.action
	chartCRDs := r.planner.Chart.CRDObjects()
	switch {
	case i.ClientOnly:
		return nil
	case len(i.APIVersions) > 0:
		r.op.Log("API Version list given outside of client only mode, this list will be ignored")
	}
	if i.SkipCRDs || len(chartCRDs) == 0 {
		return nil
	}
	if r.mode.isDryRun() {
		r.op.Log("WARNING: This chart or one of its subcharts contains CRDs. Rendering may fail or contain inaccuracies.")
		return nil
	}
	if err := orderrecord.CheckSize(r.newRelease(), r.op.Store.DriverName(), deploy.SizeReserve); err != nil {
		return err
	}
	if err := r.planner.ValidateValues(); err != nil {
		return err
	}
	if i.isOrdered() {
		if err := r.checkBeforeCRDs(ctx); err != nil {
			return err
		}
	}
	installer := crds.NewInstaller(r.op.Cluster, r.op.Writer, r.op.Waiter, r.op.Log)
	_, err := installer.Install(ctx, chartCRDs)
	return err
}

// checkBeforeCRDs makes every check that is possible before the chart's
// CustomResourceDefinitions are installed. It returns an error if a check fails or if the
// declared order is invalid. The checks need the rendered chart: if rendering fails for
// another reason, checkBeforeCRDs returns nil, because some charts can be rendered only
// after their CRDs are installed.
func (r *installRun) checkBeforeCRDs(ctx context.Context) error {
	rendered, finish, err := r.output.attempt(ctx, r.planner)
	switch {
	case err == nil:
		rel := r.newRelease()
		setRendered(rel, rendered)
		err = deploy.CheckBeforeCRDs(ctx, r.deployConfig(rel, rendered.Plan, nil, nil), r.planner.Record(rel, rendered))
	case !isOrderError(err):
		err = nil // some charts render only after their CRDs are installed
	}
	finish(err != nil) // otherwise, scripts print the same again when the chart is rendered again
	return err
}

// isOrderError reports whether err, an error of rendering, is about the order that the
// charts declare.
func isOrderError(err error) bool {
	if _, ok := errors.AsType[*planner.OrderError](err); ok {
		return true
	}
	_, ok := errors.AsType[*annotation.ValueError](err)
	return ok
}
