// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/ordered-helm/helm/cmd/helm-controller/internal/chartsource"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/decision"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/requestorder"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/requestvalues"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/serviceaccount"
	"github.com/ordered-helm/helm/internal/planner"
	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/internal/watcher"
	"github.com/ordered-helm/helm/pkg/action"
)

// The reasons of failures, apart from those of the packages chartsource and requestvalues.
const (
	reasonServiceAccountNotFound = "ServiceAccountNotFound"
	reasonForbidden              = "Forbidden"
	reasonOperationInProgress    = "OperationInProgress"
	reasonScriptPermission       = "ScriptPermissionMissing"
	reasonInvalidOrder           = "InvalidOrder"
	reasonRenderFailed           = "RenderFailed"
	reasonReleaseKindsMissing    = "ReleaseKindsMissing"
	reasonDeploymentFailed       = "DeploymentFailed"
	reasonHookFailed             = "HookFailed"
	reasonRemovalFailed          = "RemovalFailed"
	reasonOperationFailed        = "OperationFailed"
)

// classify returns the failure that an error is.
func (r *run) classify(err error) *decision.Failure {
	f := &decision.Failure{Reason: reasonOperationFailed, Message: strings.TrimSpace(r.redact(err.Error()))}
	f.IsForbidden = isForbidden(err)
	if meta.IsNoMatchError(err) {
		r.accounts.Forget() // the kind may be defined meanwhile
	}
	if reason, permanent := r.preparationReason(err); reason != "" {
		f.Reason, f.IsPermanent = reason, permanent
		return f
	}
	if reason := operationReason(err); reason != "" {
		f.Reason = reason
	}
	return f
}

func isForbidden(err error) bool {
	var denied *action.PermissionError
	var missing *serviceaccount.NotFoundError
	return apierrors.IsForbidden(err) || errors.As(err, &denied) || errors.As(err, &missing)
}

// preparationReason returns the reason of an error that occurred before anything was changed, and whether
// the same would fail again; or "".
func (r *run) preparationReason(err error) (reason string, permanent bool) {
	var source *chartsource.Error
	var values *requestvalues.Error
	var permission *action.ScriptPermissionError
	var order *planner.OrderError
	var given *requestorder.Error
	var missing *serviceaccount.NotFoundError
	var kinds *releaseapi.DefinitionsError
	switch {
	case errors.As(err, &missing):
		return reasonServiceAccountNotFound, false
	case errors.As(err, &source):
		return source.Reason, source.IsPermanent()
	case errors.As(err, &values):
		return values.Reason, false
	case errors.As(err, &permission):
		return reasonScriptPermission, true
	case errors.As(err, &order), errors.As(err, &given):
		return reasonInvalidOrder, true
	case errors.As(err, &kinds):
		return reasonReleaseKindsMissing, false
	}
	return r.renderReason(err)
}

// renderReason is like preparationReason, for errors of rendering. They are permanent, unless templates or
// scripts read what can change.
func (r *run) renderReason(err error) (reason string, permanent bool) {
	var render *planner.RenderError
	var script *action.ScriptError
	if !errors.As(err, &render) {
		return "", false
	}
	return reasonRenderFailed, !errors.As(err, &script) && !usesLookup(r.chart.Chart)
}

// usesLookup reports whether templates of a chart may read objects of the cluster.
func usesLookup(ch *chart.Chart) bool {
	for _, t := range ch.Templates {
		if strings.Contains(string(t.Data), "lookup") {
			return true
		}
	}
	for _, sub := range ch.Dependencies() {
		if usesLookup(sub) {
			return true
		}
	}
	return false
}

// operationReason returns the reason of an error of an operation on a release, or "".
func operationReason(err error) string {
	var held *action.HeldError
	var interrupted *action.DriftInterruptedError
	var deploy *action.DeployError
	var hook *action.HookError
	var removal *action.RemovalError
	var existing *watcher.NotReadyError // of an uninstall without an order
	switch {
	case errors.As(err, &held), errors.As(err, &interrupted):
		return reasonOperationInProgress
	case isForbidden(err):
		return reasonForbidden
	case errors.As(err, &hook):
		return reasonHookFailed
	case errors.As(err, &deploy):
		return reasonDeploymentFailed
	case errors.As(err, &removal), errors.As(err, &existing):
		return reasonRemovalFailed
	}
	return ""
}
