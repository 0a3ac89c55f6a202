// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"

	"github.com/ordered-helm/helm/internal/crds"
	"github.com/ordered-helm/helm/internal/hookrunner"
	"github.com/ordered-helm/helm/internal/orderrecord"
)

// InstallCRDHooks creates the CRDs that are crd-install hooks of the release. The caller
// must do this before Build, because other objects may be of the new kinds. rec is the
// record that will be stored in the release.
func (r *Run) InstallCRDHooks(ctx context.Context, rec *orderrecord.Record) error {
	list := r.Release().Hooks
	if r.options.Hooks.Disabled || len(hookrunner.ForEvent(list, hookrunner.EventCRDInstall)) == 0 {
		return nil
	}
	if err := r.CheckBeforeCRDs(ctx, rec); err != nil {
		return err
	}
	installer := &crds.Installer{Cluster: r.op.Cluster, Writer: r.op.Writer, Log: r.op.Log}
	return installer.InstallHooks(ctx, list)
}
