// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/crds"
	"github.com/ordered-helm/helm/internal/deploy"
	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/orderrecord"
)

// installCRDs installs the CustomResourceDefinitions from the crds/ directories of the
// charts. It does this before the templates are rendered, because templates may look up the
// new kinds. In an ordered install, it first checks the order.
func (r *installRun) installCRDs(ctx context.Context) error {
	i := r.action
	definitions := r.renderer.chart.CRDObjects()
	switch {
	case i.ClientOnly:
		return nil
	case len(i.APIVersions) > 0:
		r.op.Log("API Version list given outside of client only mode, this list will be ignored")
	}
	if i.SkipCRDs || len(definitions) == 0 {
		return nil
	}
	if r.isDryRun() {
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
	_, err := r.crds().Install(ctx, definitions)
	return err
}

func (r *installRun) crds() *crds.Installer {
	return &crds.Installer{Cluster: r.op.Cluster, Writer: r.op.Writer, Waiter: r.op.Waiter, Log: r.op.Log}
}

// checkBeforeCRDs renders the chart and does every check that does not need the
// CustomResourceDefinitions that are about to be installed. If the chart cannot be rendered
// without them, it checks nothing.
func (r *installRun) checkBeforeCRDs(ctx context.Context) error {
	trial := r.renderer
	result, err := trial.render()
	var order *orderError
	var value *annotation.ValueError
	if errors.As(err, &order) || errors.As(err, &value) {
		return err
	}
	if err != nil {
		return nil //nolint:nilerr // some charts render only after their definitions are installed
	}
	rel := r.newRelease()
	rel.Hooks, rel.Manifest, rel.Info.Notes = result.Hooks, result.Manifest, result.Notes
	return deploy.CheckBeforeCRDs(ctx, r.deployConfig(rel, &trial, nil, nil), trial.recordOf(rel))
}

// installCRDHooks creates the CustomResourceDefinitions that are crd-install hooks. It does
// this before other objects are checked, because these may be of the new kinds.
func (r *installRun) installCRDHooks(ctx context.Context) error {
	if r.isDryRun() || r.action.SkipCRDs || r.action.DisableHooks || len(hookrunner.ForEvent(r.rel.Hooks, hookrunner.EventCRDInstall)) == 0 {
		return nil
	}
	if err := deploy.CheckBeforeCRDs(ctx, r.deployConfig(r.rel, &r.renderer, nil, nil), r.renderer.recordOf(r.rel)); err != nil {
		return err
	}
	return r.crds().InstallHooks(ctx, r.rel.Hooks)
}
