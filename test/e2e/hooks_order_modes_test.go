// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// hookModes are the spellings of how a chart's hooks run, in its Chart.yaml.
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

// TestHookModesInEverySpelling has a subchart for each spelling, of every apiVersion
// in turn.
func TestHookModesInEverySpelling(t *testing.T) {
	t.Parallel()
	top := hookedChart{name: "top", api: "v3"}
	var beside, after []string
	for _, mode := range []string{"true", "otherChartsOnly", "false"} {
		for i, spelling := range hookModes[mode] {
			name := fmt.Sprintf("%c%d", mode[0], i)
			top.subs = append(top.subs, hookedChart{
				name: name, api: []string{"v1", "v2", "v3"}[i%3], more: spelling,
				hooks: []hookSpec{{name: name + "-a"}, {name: name + "-b"}},
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
	newHelm(t).conduct(t, plan, "install", "rel", top.write(t))
}

// TestHookModesThatDisagree has one chart say two things.
func TestHookModesThatDisagree(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
	chart := hookedChart{name: "top", more: "runHooksInParallel: true\nannotations: {helm.sh/run-hooks-in-parallel: otherChartsOnly}\n", hooks: []hookSpec{{name: "a", free: true}}}
	h.fails(t, []string{"install", "rel", chart.write(t)}, "runHooksInParallel", "helm.sh/run-hooks-in-parallel")
	h.expectNoSecrets(t)
	if runs := h.readRuns(t); len(runs) > 0 {
		t.Errorf("%s was run", runs[0].id)
	}
}

// TestHookModesOfNestedCharts has a mode count for its own chart alone, and for
// every alias of it.
func TestHookModesOfNestedCharts(t *testing.T) {
	t.Parallel()
	two := func(name string) []hookSpec { return []hookSpec{{name: name + "-a"}, {name: name + "-b"}} }
	chart := hookedChart{
		name: "top",
		more: `runHooksInParallel: true
dependencies:
- {name: shared, version: 0.1.0, alias: left}
- {name: shared, version: 0.1.0, alias: right}
- {name: shared, version: 0.1.0, alias: off, condition: off.enabled}
- {name: child, version: 0.1.0}
`,
		hooks: two("root"),
		subs: []hookedChart{
			{name: "shared", more: "runHooksInParallel: otherChartsOnly\n", hooks: two("{{ .Chart.Name }}")},
			{name: "child", hooks: two("child"), subs: []hookedChart{
				{name: "grandchild", more: "runHooksInParallel: true\n", hooks: two("grandchild"), subs: []hookedChart{
					{name: "last", hooks: two("last")},
				}},
			}},
		},
	}
	const plan = "root-a | root-b | left-a left-b | right-a right-b | grandchild-a | grandchild-b > child-a > child-b > last-a > last-b"
	newHelm(t).conduct(t, plan, "install", "rel", chart.write(t), "--set", "off.enabled=false", "--wait=ordered")
}
