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
// charts. It does this before the templates are rendered, because templates may look up the
// new kinds. In an ordered install, it first checks the order.
func (r *installRun) installCRDs(ctx context.Context) error {
	i := r.action
	definitions := r.planner.Chart.CRDObjects()
	switch {
	case i.ClientOnly:
		return nil
	case len(i.APIVersions) > 0:
		r.op.Log("API Version list given outside of client only mode, this list will be ignored")
	}
	if i.SkipCRDs || len(definitions) == 0 {
		return nil
	}
	if r.mode.isDryRun() {
		r.op.Log("WARNING: This chart or one of its subcharts contains CRDs. Rendering may fail or contain inaccuracies.")
		return nil
	}
	if err := orderrecord.CheckSize(r.newRelease(), r.op.Store.DriverName(), deploy.SizeReserve); err != nil {
		return err
	}
	if i.ordered() {
		if err := r.checkBeforeCRDs(ctx); err != nil {
			return err
		}
	}
	installer := &crds.Installer{Cluster: r.op.Cluster, Writer: r.op.Writer, Log: r.op.Log}
	_, err := installer.Install(ctx, definitions)
	return err
}

// checkBeforeCRDs renders the chart and does every check that does not need the
// CustomResourceDefinitions that are about to be installed. If the chart cannot be rendered
// without them, it checks nothing.
func (r *installRun) checkBeforeCRDs(ctx context.Context) error {
	rendered, err := r.planner.Render()
	if isOrderError(err) {
		return err
	}
	if err != nil {
		return nil //nolint:nilerr // some charts render only after their definitions are installed
	}
	rel := r.newRelease()
	setRendered(rel, rendered)
	return deploy.CheckBeforeCRDs(ctx, r.deployConfig(rel, rendered.Plan, nil, nil), r.planner.Record(rel, rendered))
}

// isOrderError reports whether rendering failed because of what the charts declare about
// order.
func isOrderError(err error) bool {
	if _, ok := errors.AsType[*planner.OrderError](err); ok {
		return true
	}
	_, ok := errors.AsType[*annotation.ValueError](err)
	return ok
}
