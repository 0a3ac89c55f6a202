// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package argocd_test

import (
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/argocd"
	"github.com/ordered-helm/helm/internal/testutil/plans"
)

// TestUnsupportedSteps checks the warnings about what Argo CD cannot do.
func TestUnsupportedSteps(t *testing.T) {
	t.Parallel()
	shop := plans.V3("shop", plans.V3("db"), plans.V3("web"))
	shop.Subcharts[0].HookScope = "chart"
	plan := plans.Build(t, shop, plans.Resources("shop/db ConfigMap/a helm.sh/deploy-on=install", "shop/web ConfigMap/b depends-on.helm.sh/external=Secret/s"))
	hook := func(chart string) *release.Hook {
		return &release.Hook{Kind: "Job", Name: "j", Path: chart, Events: []release.HookEvent{release.HookPreInstall}}
	}
	chartOf := func(h *release.Hook) string { return h.Path }
	var got []string
	argocd.WarnUnsupportedSteps(plan, []*release.Hook{hook("shop/db"), hook("shop/web")}, chartOf, func(w string) { got = append(got, w) })
	want := []string{
		"shop/db: Job/j: Argo CD runs it before or after everything, and not in the place of chart shop/db",
		"Argo CD does not wait for 1 external dependency",
		"Argo CD applies all resources at each sync, also the 1 resource with helm.sh/deploy-on",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
	plain := plans.Build(t, plans.V3("shop"), plans.Resources("shop ConfigMap/a"))
	argocd.WarnUnsupportedSteps(plain, []*release.Hook{hook("shop")}, chartOf, func(w string) { t.Error(w) })
}
