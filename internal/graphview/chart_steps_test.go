// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package graphview_test

import (
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/graphview"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/golden"
	"github.com/ordered-helm/helm/internal/testutil/plans"
)

// shop returns the plan of a chart with external dependencies of the whole chart, of a subchart and of resources. The
// earlier version has others.
func shop(t *testing.T, earlier bool) *sequencer.Plan {
	t.Helper()
	root := plans.WithDependencies(plans.V3("shop", plans.V3("db"), plans.V3("web")), plans.Dependency("db"), plans.Dependency("web", "db"))
	db, web := root.Subcharts[0], root.Subcharts[1]
	root.External, root.ExternalKey = []string{"Secret/license"}, "depends-on.helm.sh/external"
	web.External, web.ExternalKey, web.ExternalTimeout = []string{"release:dns", "Service/mesh/gateway"}, "depends-on.helm.sh/external", time.Minute
	db.HookScope = "chart"
	if earlier {
		root.External, web.External = nil, []string{"release:dns", "Secret/tls"}
	}
	return plans.Build(t, root, plans.Resources(
		"shop/db StatefulSet/db layer=storage", "shop/db Service/db layer=network after=storage depends-on.helm.sh/external=StorageClass/fast",
		"shop/web Deployment/web", "shop ConfigMap/settings"))
}

// hooksOfShop returns hooks of the release and of the subchart shop/db.
func hooksOfShop(p *sequencer.Plan) []hookorder.Plan {
	hook := func(chart, name string, events ...release.HookEvent) *release.Hook {
		return &release.Hook{Kind: "Job", Name: name, Path: chart, Events: events}
	}
	return hookorder.Plans([]*release.Hook{
		hook("shop", "check", release.HookPreInstall, release.HookPreUpgrade),
		hook("shop/db", "backup", release.HookPreUpgrade), hook("shop/db", "prepare", release.HookPreInstall),
		hook("shop/db", "migrate", release.HookPostInstall, release.HookPostUpgrade), hook("shop/db", "dump", release.HookPreDelete),
		hook("shop/db", "smoke", release.HookTest),
	}, hookorder.ChartModes{ChartOf: func(h *release.Hook) string { return h.Path }}, p.HookScope)
}

// TestChartSteps checks how external dependencies, and hooks with the scope of a chart, are shown in all formats.
func TestChartSteps(t *testing.T) {
	plan := shop(t, false)
	v := graphview.View{Plan: plan, Hooks: hooksOfShop(plan)}
	reasons, compared := v, v
	reasons.Reasons = true
	compared.CompareWith = &graphview.RevisionPlan{Plan: shop(t, true), Release: "shop", Revision: 3}
	tests := []struct {
		name   string
		view   graphview.View
		format graphview.Format
	}{
		{"steps.txt", v, graphview.FormatText},
		{"steps-reasons.txt", reasons, graphview.FormatText},
		{"steps-compared.txt", compared, graphview.FormatText},
		{"steps.json", v, graphview.FormatJSON},
		{"steps-compared.dot", compared, graphview.FormatDOT},
		{"steps.mermaid", v, graphview.FormatMermaid},
		{"steps.svg", compared, graphview.FormatSVG},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			golden.Assert(t, write(t, tt.view, tt.format), tt.name)
		})
	}
}
