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

// tableChart returns the chart of the tables in the proposal: a chart with subcharts a, b and
// c, with the given hook modes; an empty mode leaves the field out of Chart.yaml. Each
// subchart has one hook of weight 0 and one of weight 1; the subchart named by double has two
// of weight 0. All hooks are numbered consecutively.
func tableChart(kind, double string, modes [3]string) charts.Chart {
	top, n := charts.Chart{Name: "top", Metadata: "runHooksInParallel: false\n"}, 0
	for i, name := range []string{"a", "b", "c"} {
		sub := charts.Chart{Name: name}
		if modes[i] != "" {
			sub.Metadata = "runHooksInParallel: " + modes[i] + "\n"
		}
		weights := []int{0, 1}
		if name == double {
			weights = []int{0, 0, 1}
		}
		for _, weight := range weights {
			n++
			sub.Objects = append(sub.Objects, charts.Object{Kind: kind, Name: fmt.Sprintf("h%d", n), Weight: weight})
		}
		top.Subcharts = append(top.Subcharts, sub)
	}
	return top
}

// TestHookTablesOfProposal checks the tables in the proposal, also with the subcharts in the
// opposite order. If all modes are false, hooks run in the order of stock Helm, by name.
func TestHookTablesOfProposal(t *testing.T) {
	t.Parallel()
	const isTrue, isFalse, others = "true", "false", "otherChartsOnly"
	for i, tt := range []struct {
		kind   string
		double string
		modes  [3]string
		plan   string
	}{
		{"Pod", "a", [3]string{isTrue, isTrue, isTrue}, "h1 | h2 | h4 | h6 > h3 | h5 | h7"},
		{"Pod", "a", [3]string{isFalse, isTrue, isTrue}, "h4 | h6 > h1 > h2 > h5 | h7 > h3"},
		{"Pod", "a", [3]string{others, isTrue, isTrue}, "h1 h2 | h4 | h6 > h3 | h5 | h7"},

		{"Job", "b", [3]string{isTrue, isTrue, isTrue}, "h1 | h3 | h4 | h6 > h2 | h5 | h7"},
		{"Job", "b", [3]string{isTrue, isFalse, isTrue}, "h1 | h6 > h3 > h4 > h2 | h7 > h5"},
		{"Job", "b", [3]string{isTrue, others, isTrue}, "h1 | h3 h4 | h6 > h2 | h5 | h7"},
		{"Pod", "b", [3]string{isFalse, isTrue, isTrue}, "h3 | h4 | h6 > h1 > h5 | h7 > h2"},
		{"Pod", "b", [3]string{isTrue, isTrue, isFalse}, "h1 | h3 | h4 > h6 > h2 | h5 > h7"},
		{"Pod", "b", [3]string{others, isTrue, isTrue}, "h1 | h3 | h4 | h6 > h2 | h5 | h7"},
		{"Pod", "b", [3]string{isTrue, isTrue, others}, "h1 | h3 | h4 | h6 > h2 | h5 | h7"},

		{"Pod", "c", [3]string{isTrue, isTrue, isTrue}, "h1 | h3 | h5 | h6 > h2 | h4 | h7"},
		{"Pod", "c", [3]string{isTrue, isTrue, isFalse}, "h1 | h3 > h5 > h6 > h2 | h4 > h7"},
		{"Pod", "c", [3]string{isTrue, isTrue, others}, "h1 | h3 | h5 h6 > h2 | h4 | h7"},

		{"Pod", "b", [3]string{others, others, others}, "h1 | h3 h4 | h6 > h2 | h5 | h7"},
		{"Pod", "b", [3]string{others, isFalse, isTrue}, "h1 | h6 > h3 > h4 > h2 | h7 > h5"},
		{"Pod", "b", [3]string{isFalse, "", isFalse}, "h1 > h3 > h4 > h6 > h2 > h5 > h7"},
	} {
		t.Run(fmt.Sprintf("%s is double, %s", tt.double, strings.Join(tt.modes[:], " ")), func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			args := []string{"install", "rel", writeGated(t, tableChart(tt.kind, tt.double, tt.modes))}
			if i%2 == 1 {
				args = append(args, "--wait=ordered")
			}
			checkHookOrder(t, h, tt.plan, args...)
		})
	}
}

// TestHookTableInOrderOfNames checks that Ordered Helm and stock Helm run hooks in the order
// of their names, even if this is not the order of their charts, files and documents.
func TestHookTableInOrderOfNames(t *testing.T) {
	t.Parallel()
	chart := tableChart("Pod", "b", [3]string{"false", "", `"false"`})
	for i, name := range []string{"g", "f", "e"} {
		for j := range chart.Subcharts[i].Objects {
			hook := &chart.Subcharts[i].Objects[j]
			hook.Name = fmt.Sprintf("%s%d", name, 9-j)
			hook.Gate = ungated
		}
	}
	for _, name := range []string{"ours", "stock"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			h.Started = harness.Now()
			if dir := writeGated(t, chart); name == "ours" {
				h.MustRun("install", "rel", dir)
			} else {
				h.MustRunStock(t, "install", "rel", dir)
			}
			c := hookOrderCheck{plan: parsePlan("e9 > f8 > f9 > g9 > e8 > f7 > g8")}
			c.checkRuns(t, recordedRuns(t, h))
		})
	}
}
