// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package crdstep is the step of an install or upgrade that brings the CustomResourceDefinitions
// (CRDs) in the crds/ directories of the charts up to date, after all checks that are possible
// before. Package crds creates and changes them.
package crdstep

import (
	"context"
	"errors"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/crds"
	"github.com/ordered-helm/helm/internal/deploy"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/planner"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Step is the step of one operation. It takes place before the templates are rendered, because
// they may look up objects of the new kinds, and because the capabilities of the cluster depend
// on the definitions.
type Step struct {
	Operation *operation.Operation
	Config    *helmaction.Configuration
	Planner   *planner.Planner
	Policy    crds.Policy
	// DryRun and Ordered say whether the operation is a dry run, and whether it follows an order.
	DryRun, Ordered bool
	// NewRelease returns the new revision, as it is before the chart is rendered.
	NewRelease func() *release.Release
	// Render renders the chart, perhaps to render it again later. The caller must call finish.
	Render func(context.Context, *planner.Planner) (rendered *planner.Rendered, finish func(isUsed bool), err error)
	// Deployment returns the configuration of the deployment of a revision.
	Deployment func(rel *release.Release, plan *sequencer.Plan) deploy.RunConfig
}

// Run makes all checks that are possible before, and then does what the policy says. A dry run
// changes nothing.
func (s *Step) Run(ctx context.Context) error {
	files := s.Planner.Chart.CRDObjects()
	if s.Policy == crds.Skip || len(files) == 0 {
		return nil
	}
	if s.DryRun {
		s.Operation.Log("WARNING: This chart or one of its subcharts contains CRDs. Rendering may fail or contain inaccuracies.")
		return nil
	}
	if err := s.check(ctx); err != nil {
		return err
	}
	rel := s.NewRelease()
	installer := deploy.NewCRDInstaller(s.Operation, object.OwningRelease{Name: rel.Name, Namespace: rel.Namespace})
	install := installer.Install
	if s.Policy == crds.Apply {
		install = installer.Apply
	}
	changed, err := install(ctx, files)
	if changed && s.Policy != "" && s.Config.RESTClientGetter != nil {
		s.Config.Capabilities = nil // they do not contain the new versions
	}
	return err
}

// check makes the checks that are possible before definitions are changed. An ordered operation
// also checks the order. Without an order and a policy, values that a schema in JSON rejects are an
// error only later, as in stock Helm.
func (s *Step) check(ctx context.Context) error {
	if err := orderrecord.CheckSize(s.NewRelease(), s.Operation.Store.DriverName(), deploy.SizeReserve); err != nil {
		return err
	}
	if err := s.Planner.ValidateValues(s.Ordered || s.Policy != ""); err != nil || !s.Ordered {
		return err
	}
	return s.checkRendered(ctx)
}

// checkRendered returns an error if a check of the rendered chart fails or if the declared order
// is invalid. If rendering fails for another reason, checkRendered returns nil, because some
// charts can be rendered only after their CRDs are installed.
func (s *Step) checkRendered(ctx context.Context) error {
	rendered, finish, err := s.Render(ctx, s.Planner)
	switch {
	case err == nil:
		rel := s.NewRelease()
		rel.Hooks, rel.Manifest, rel.Info.Notes = rendered.Hooks, rendered.Manifest, rendered.Notes
		err = deploy.CheckBeforeCRDs(ctx, s.Deployment(rel, rendered.Plan), s.Planner.Record(rel, rendered))
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
