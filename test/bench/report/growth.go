// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"
)

// growthSteps are the steps whose cost is measured for a growing number of objects.
var growthSteps = []string{Install, Noop, Uninstall}

// fitFrom is the minimum number of objects of the rows from which the exponent is calculated.
// With fewer objects, startup and discovery take more time than the objects.
const fitFrom = 1000

// growth contains the rows of a step for growing numbers of objects.
type growth []Row

// growthOf returns the rows of a step, sorted by the number of objects.
func growthOf(r Result, step string) growth {
	rows := slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool { return row.Step != step || row.Size == 0 })
	slices.SortFunc(rows, func(a, b Row) int { return a.Size - b.Size })
	return rows
}

// exponent returns the e for which the time is proportional to size^e.
func (g growth) exponent() (e float64, known bool) {
	var sizes, times []float64
	for _, row := range g {
		if row.Size >= fitFrom {
			sizes, times = append(sizes, float64(row.Size)), append(times, row.seconds())
		}
	}
	if len(sizes) < 2 {
		return 0, false
	}
	return exponent(sizes, times), true
}

// cost is something that is plotted per object, such as time or memory.
type cost struct {
	name string
	of   func(Row) float64
}

var costs = []cost{
	{"ms per object", func(r Row) float64 { return r.seconds() * 1000 / float64(r.Size) }},
	{"KiB per object", func(r Row) float64 { return r.Peak * 1024 / float64(r.Size) }},
	{"requests per object", func(r Row) float64 { return float64(r.requests()) / float64(r.Size) }},
}

// growthSection returns the section of the page about the workload growth.
func growthSection(r Result) string {
	var text strings.Builder
	fmt.Fprintf(&text, "## %s\n\n%s\n\n", r.Title, r.About)
	table := grid{{"step", "objects", "median s", "min–max", "CPU s", "MiB", "requests", "ms/object", "KiB/object", "requests/object"}}
	for _, step := range growthSteps {
		for _, row := range growthOf(r, step) {
			cells := []string{step, Thousands(row.Size), number(row.seconds()), spread(row), number(row.CPU), fmt.Sprintf("%.0f", row.Peak), requests(row)}
			for _, c := range costs {
				cells = append(cells, number(c.of(row)))
			}
			table = append(table, cells)
		}
	}
	fmt.Fprintf(&text, "%s%s", table.markdown(), provenance(r))
	var fits []string
	for _, step := range growthSteps {
		if e, known := growthOf(r, step).exponent(); known {
			fits = append(fits, fmt.Sprintf("%.2f (%s)", e, step))
		}
	}
	if len(fits) > 0 {
		fmt.Fprintf(&text, "\nFrom %s objects on, where startup time is negligible, the time grows like N to the power of %s."+
			" An exponent of 1 means linear growth.\n", Thousands(fitFrom), strings.Join(fits, ", "))
	}
	text.WriteString("\nIn the plots, install is blue, the no-op upgrade is orange, and uninstall is green.\n")
	for _, c := range costs {
		text.WriteString("\n" + plot(r, c))
	}
	return text.String()
}

// plot returns a diagram of a cost by number of objects, with one line per step.
func plot(r Result, c cost) string {
	var text strings.Builder
	text.WriteString("```mermaid\n%%{init: {\"themeVariables\": {\"xyChart\": {\"plotColorPalette\": \"#1f6feb, #d9822b, #2da44e\"}}}}%%\n")
	fmt.Fprintf(&text, "xychart-beta\n    title \"%s\"\n", c.name)
	for i, step := range growthSteps {
		var sizes, values []string
		for _, row := range growthOf(r, step) {
			sizes, values = append(sizes, fmt.Sprintf("%q", Thousands(row.Size))), append(values, fmt.Sprintf("%.4f", c.of(row)))
		}
		if i == 0 {
			fmt.Fprintf(&text, "    x-axis \"objects\" [%s]\n    y-axis \"%s\"\n", strings.Join(sizes, ", "), c.name)
		}
		fmt.Fprintf(&text, "    line [%s]\n", strings.Join(values, ", "))
	}
	text.WriteString("```\n")
	return text.String()
}
