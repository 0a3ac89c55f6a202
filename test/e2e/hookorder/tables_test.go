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

// tableChart is the chart of the proposal's tables: charts a, b and c. The chart named by
// double has two hooks of weight 0, and each chart has one of weight 1. All hooks are
// numbered consecutively. modes are the values in Chart.yaml; none is the default.
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

// TestHookTables checks the tables of the proposal and their mirror images. If all modes
// are false, the order is Helm's order, by name.
func TestHookTables(t *testing.T) {
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

// TestHookTableInHelmsOrder gives all hooks names that contradict the order of their
// charts, files and documents. Stock Helm runs them too.
func TestHookTableInHelmsOrder(t *testing.T) {
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
			c := hookOrderCheck{plan: planOf("e9 > f8 > f9 > g9 > e8 > f7 > g8")}
			c.checkRuns(t, recordedRuns(t, h))
		})
	}
}
