// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"

	"github.com/ordered-helm/helm/internal/crds"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/orderrecord"
)

// InstallCRDHooks creates the CRDs that are crd-install hooks of the release. The caller
// must call it before New, because other objects of the release may be of the kinds that
// these CRDs define. rec is the order record that the new revision will contain.
func InstallCRDHooks(ctx context.Context, c RunConfig, rec *orderrecord.Record) error {
	list := c.Writer.Release().Hooks
	if c.Options.Hooks.Disabled || len(hookorder.ForEvent(list, hookorder.EventCRDInstall)) == 0 {
		return nil
	}
	if err := CheckBeforeCRDs(ctx, c, rec); err != nil {
		return err
	}
	rel := c.Writer.Release()
	return NewCRDInstaller(c.Operation, object.OwningRelease{Name: rel.Name, Namespace: rel.Namespace}).InstallHooks(ctx, list)
}

// NewCRDInstaller returns what installs the CRDs of the charts of a release.
func NewCRDInstaller(op *operation.Operation, release object.OwningRelease) *crds.Installer {
	return crds.NewInstaller(crds.Config{Cluster: op.Cluster, Writer: op.Writer, Waiter: op.Waiter, Events: op.Events, Release: release, Log: op.Log})
}
