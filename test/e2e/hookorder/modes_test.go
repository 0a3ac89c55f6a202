// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// hookModes contains, for each hook mode, the lines of Chart.yaml that select it.
var hookModes = map[string][]string{
	"true": {
		"runHooksInParallel: true\n", "runHooksInParallel: \"true\"\n", "runHooksInParallel: 'true'\n",
		"annotations: {helm.sh/run-hooks-in-parallel: \"true\"}\n", "annotations:\n  helm.sh/run-hooks-in-parallel: true\n",
	},
	"otherChartsOnly": {
		"runHooksInParallel: otherChartsOnly\n", "runHooksInParallel: \"otherChartsOnly\"\n",
		"annotations:\n  helm.sh/run-hooks-in-parallel: otherChartsOnly\n",
		"runHooksInParallel: otherChartsOnly\nannotations: {helm.sh/run-hooks-in-parallel: otherChartsOnly}\n",
	},
	"false": {
		"", "runHooksInParallel: false\n", "runHooksInParallel: \"false\"\n",
		"annotations: {helm.sh/run-hooks-in-parallel: \"false\"}\n",
	},
}

// TestEquivalentHookModeValues checks that all lines in hookModes select their mode. It uses
// one subchart for each of them, with alternating apiVersions.
func TestEquivalentHookModeValues(t *testing.T) {
	t.Parallel()
	top := charts.Chart{Name: "top", APIVersion: "v3"}
	var beside, after []string
	for _, mode := range []string{"true", "otherChartsOnly", "false"} {
		for i, spelling := range hookModes[mode] {
			name := fmt.Sprintf("%c%d", mode[0], i)
			top.Subcharts = append(top.Subcharts, charts.Chart{
				Name: name, APIVersion: []string{"v1", "v2", "v3"}[i%3], Metadata: spelling,
				Objects: []charts.Object{{Name: name + "-a"}, {Name: name + "-b"}},
			})
			switch mode {
			case "true":
				beside = append(beside, name+"-a", name+"-b")
			case "otherChartsOnly":
				beside = append(beside, name+"-a "+name+"-b")
			case "false":
				after = append(after, name+"-a", name+"-b")
			}
		}
	}
	plan := strings.Join(beside, " | ") + " > " + strings.Join(after, " > ")
	checkHookOrder(t, harness.New(t), plan, "install", "rel", writeGated(t, top))
}

// TestConflictingHookModes checks that a chart with two different hook modes is rejected.
func TestConflictingHookModes(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	chart := charts.Chart{Name: "top", Metadata: "runHooksInParallel: true\nannotations: {helm.sh/run-hooks-in-parallel: otherChartsOnly}\n", Objects: []charts.Object{{Name: "a", Gate: ungated}}}
	h.ExpectFailure(t, []string{"install", "rel", writeGated(t, chart)}, "runHooksInParallel", "helm.sh/run-hooks-in-parallel")
	h.ExpectNoReleases(t)
	if runs := recordedRuns(t, h); len(runs) > 0 {
		t.Errorf("%s was run", runs[0].id)
	}
}

// TestHookModesOfNestedCharts checks that a hook mode applies to the chart that declares it
// and to every alias of that chart, but not to its subcharts.
func TestHookModesOfNestedCharts(t *testing.T) {
	t.Parallel()
	two := func(name string) []charts.Object { return []charts.Object{{Name: name + "-a"}, {Name: name + "-b"}} }
	chart := charts.Chart{
		Name: "top",
		Metadata: `runHooksInParallel: true
dependencies:
- {name: shared, version: 0.1.0, alias: left}
- {name: shared, version: 0.1.0, alias: right}
- {name: shared, version: 0.1.0, alias: off, condition: off.enabled}
- {name: child, version: 0.1.0}
`,
		Objects: two("root"),
		Subcharts: []charts.Chart{
			{Name: "shared", Metadata: "runHooksInParallel: otherChartsOnly\n", Objects: two("{{ .Chart.Name }}")},
			{Name: "child", Objects: two("child"), Subcharts: []charts.Chart{
				{Name: "grandchild", Metadata: "runHooksInParallel: true\n", Objects: two("grandchild"), Subcharts: []charts.Chart{
					{Name: "last", Objects: two("last")},
				}},
			}},
		},
	}
	const plan = "root-a | root-b | left-a left-b | right-a right-b | grandchild-a | grandchild-b > child-a > child-b > last-a > last-b"
	checkHookOrder(t, harness.New(t), plan, "install", "rel", writeGated(t, chart), "--set", "off.enabled=false", "--wait=ordered")
}
