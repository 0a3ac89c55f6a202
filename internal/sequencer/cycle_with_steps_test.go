// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer_test

import (
	"errors"
	"testing"

	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/plans"
)

// TestCyclesWithSteps checks that the error about a cycle names the charts, the files and the rules, although hooks run and
// external dependencies are waited for between them.
func TestCyclesWithSteps(t *testing.T) {
	chartRules := func(more string) string {
		return "charts: [{path: data/app, dependsOn: [db]" + more + "}, {path: data/db, dependsOn: [app]" + more + "}]"
	}
	ofCharts := "dependency cycle:\n  subchart app depends on subchart db (shop/order.yaml: charts[0].dependsOn, for chart shop/data/app)\n" +
		"  subchart db depends on subchart app (shop/order.yaml: charts[1].dependsOn, for chart shop/data/db)\nremove one of these dependencies"
	layerRules := func(more string) string {
		return "resources: [{match: {name: a}, layer: one, dependsOn: [two]" + more + "}, {match: {name: b}, layer: two, dependsOn: [one]" + more + "}]"
	}
	ofLayers := "dependency cycle:\n  layer \"one\" depends on layer \"two\" (shop/order.yaml: resources[0].dependsOn, for chart shop/data/db)\n" +
		"  layer \"two\" depends on layer \"one\" (shop/order.yaml: resources[1].dependsOn, for chart shop/data/db)\nremove one of these dependencies"
	for name, c := range map[string]struct{ rules, want string }{
		"charts":                                {chartRules(""), ofCharts},
		"charts with hooks":                     {chartRules(", hookScope: chart"), ofCharts},
		"charts with external dependencies":     {chartRules(", external: [Secret/s]"), ofCharts},
		"charts with both":                      {chartRules(", external: [Secret/s, 'release:r'], hookScope: chart"), ofCharts},
		"layers":                                {layerRules(""), ofLayers},
		"layers with external dependencies":     {layerRules(", external: [Secret/s]"), ofLayers},
		"layers with external dependencies too": {layerRules(", external: [Secret/s]") + "\ncharts: [{path: '**', external: [Secret/t], hookScope: chart}]", ofLayers},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sequencer.Build(sequencer.Input{
				Root: plans.V2("shop", plans.V2("data", plans.V2("db"), plans.V2("app"))), Resources: plans.Resources("shop/data/db Job/a", "shop/data/db Job/b", "shop/data/app Job/c"),
				Namespace: "default", Operation: sequencer.Install, OrderFiles: orderFiles(t, "shop", c.rules),
				Hooks: []sequencer.Hook{hooksOf("shop/data/db", installHooks...), hooksOf("shop/data/app", installHooks...)},
			})
			if cycle, is := errors.AsType[*sequencer.CycleError](err); !is || len(cycle.Edges) != 2 || err.Error() != c.want {
				t.Errorf("got:\n%v\nwant:\n%s", err, c.want)
			}
		})
	}
}
