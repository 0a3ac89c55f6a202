// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"testing"

	"helm.sh/helm/v3/pkg/release"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/cmd/helm-controller/internal/chartsource"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/requestorder"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/requestvalues"
	"github.com/ordered-helm/helm/cmd/helm-controller/internal/serviceaccount"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/releaseapi"
	"github.com/ordered-helm/helm/internal/watcher"
	"github.com/ordered-helm/helm/pkg/action"
)

// TestClassify checks which reason an error has, and whether it is permanent. The reasons of errors of rendering are
// checked in test/e2e/controller.
func TestClassify(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "values", errors.New("no permission"))
	resources := []*failure.Resource{{Resource: "Job/migrate", Message: "it has failed"}}
	for name, c := range map[string]struct {
		err                   error
		reason                string
		isPermanent, isDenied bool
	}{
		"service account":      {&serviceaccount.NotFoundError{Namespace: "team-a", Name: "deployer"}, "ServiceAccountNotFound", false, true},
		"permission":           {forbidden, "Forbidden", false, true},
		"checked permission":   {&action.PermissionError{Denied: []string{"create Deployment"}}, "Forbidden", false, true},
		"chart":                {&chartsource.Error{Reason: "ChartNotFound", Err: errors.New("404")}, "ChartNotFound", false, false},
		"refused chart source": {&chartsource.Error{Reason: "ChartSourceRefused", Err: errors.New("not allowed")}, "ChartSourceRefused", true, false},
		"values":               {&requestvalues.Error{Reason: "InvalidValues", Err: errors.New("no object")}, "InvalidValues", false, false},
		"order":                {&requestorder.Error{Err: errors.New("spec.order:1: charts: must be a list")}, "InvalidOrder", true, false},
		"script permission":    {&action.ScriptPermissionError{}, "ScriptPermissionMissing", true, false},
		"definitions":          {&releaseapi.DefinitionsError{Resource: "releases.helm.sh", Err: errors.New("not found")}, "ReleaseKindsMissing", false, false},
		"lock":                 {&action.HeldError{Release: "shop", Revision: 2, Status: release.StatusPendingUpgrade}, "OperationInProgress", false, false},
		"operation during the correction of drift": {&action.DriftInterruptedError{Err: errors.New("revision 2 is deployed")}, "OperationInProgress", false, false},
		"resources":                 {&action.DeployError{Resources: resources}, "DeploymentFailed", false, false},
		"hook":                      {&action.HookError{Event: release.HookPreInstall, Hooks: resources}, "HookFailed", false, false},
		"hook while writing":        {errors.Join(&action.DeployError{Resources: resources}, &action.HookError{Event: release.HookPreInstall, Hooks: resources}), "HookFailed", false, false},
		"deletion without an order": {&watcher.NotReadyError{Cause: errors.New("timed out")}, "RemovalFailed", false, false},
		"deletion":                  {&action.RemovalError{Resources: resources}, "RemovalFailed", false, false},
		"API server":                {apierrors.NewInternalError(errors.New("etcd")), "OperationFailed", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := new(run).classify(fmt.Errorf("upgrade the release: %w", c.err))
			if got.Reason != c.reason || got.IsPermanent != c.isPermanent || got.IsForbidden != c.isDenied || got.Message == "" {
				t.Errorf("got %+v, want the reason %s", *got, c.reason)
			}
		})
	}
}
