// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"maps"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/render"
)

// TestHookModes checks that each hook has the mode of the chart that contains its file, by
// the name of the chart in the tree.
func TestHookModes(t *testing.T) {
	yaml := func(name, mode, rest string) string {
		return "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\nrunHooksInParallel: " + mode + "\n" + rest
	}
	root := prepare(t, tree{
		"Chart.yaml":                      yaml("shop", "false", "dependencies:\n- {name: db, version: 1.0.0, alias: one}\n- {name: db, version: 1.0.0, alias: two}\n- {name: idle, version: 1.0.0, condition: idle.enabled}\n"),
		"values.yaml":                     "idle: {enabled: false}\n",
		"charts/db/Chart.yaml":            yaml("db", "true", ""),
		"charts/idle/Chart.yaml":          yaml("idle", "true", ""),
		"charts/web/Chart.yaml":           yaml("web", "otherChartsOnly", ""),
		"charts/web/charts/db/Chart.yaml": "apiVersion: v1\nname: db\nversion: 1.0.0\n",
	}).root
	modes := render.HookModes(root, "ns")
	want := map[string]hookorder.Mode{"shop/one": hookorder.Parallel, "shop/two": hookorder.Parallel, "shop/web": hookorder.OtherChartsOnly}
	if modes.Namespace != "ns" || !maps.Equal(modes.ByChart, want) {
		t.Errorf("got %+v", modes)
	}
	for path, c := range map[string]struct {
		chart string
		mode  hookorder.Mode
	}{
		"shop/templates/x.yaml":                      {"shop", hookorder.Sequential},
		"shop/charts/one/templates/x.yaml":           {"shop/one", hookorder.Parallel},
		"shop/charts/two/templates/y/x.yaml":         {"shop/two", hookorder.Parallel},
		"shop/charts/web/templates/x.yaml":           {"shop/web", hookorder.OtherChartsOnly},
		"shop/charts/web/charts/db/templates/x.yaml": {"shop/web/db", hookorder.Sequential},
	} {
		if mode, chart := modes.Mode(&release.Hook{Path: path}); mode != c.mode || chart != c.chart {
			t.Errorf("%s: %s of %s, want %s of %s", path, mode, chart, c.mode, c.chart)
		}
	}
	if modes := render.HookModes(nil, "ns"); modes.Namespace != "ns" || len(modes.ByChart) > 0 || modes.ChartOf != nil {
		t.Errorf("got %+v", modes)
	}
}
