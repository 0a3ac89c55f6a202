// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// unknown is the text of a table cell without a measurement.
const unknown = "–"

// grid is a table: rows of cells, of which the first row is the header.
type grid [][]string

// markdown formats the table in Markdown.
func (g grid) markdown() string {
	var text strings.Builder
	for i, cells := range g {
		fmt.Fprintf(&text, "| %s |\n", strings.Join(cells, " | "))
		if i == 0 {
			fmt.Fprintf(&text, "|%s\n", strings.Repeat(" --- |", len(cells)))
		}
	}
	return text.String()
}

// text formats the table for a terminal.
func (g grid) text() string {
	var text strings.Builder
	aligned := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for _, cells := range g {
		fmt.Fprintln(aligned, strings.Join(cells, "\t"))
	}
	_ = aligned.Flush()
	return text.String()
}

// Text returns the title and the table of a result, for a terminal.
func (r Result) Text() string { return fmt.Sprintf("%s\n%s", r.Title, r.grid().text()) }

// Text returns the table of the goals, for a terminal.
func (r Results) Text() string { return r.goals().text() }

func (r Result) grid() grid {
	table := grid{{"step", "tool", "median s", "min–max", ratioHead(r), "CPU s", "MiB", "requests"}}
	last := ""
	for _, row := range r.Rows {
		step := row.Step
		if row.Size > 0 {
			step += " " + Thousands(row.Size)
		}
		shown := step
		if shown == last {
			shown = ""
		}
		last = step
		cpu, peak := unknown, unknown
		if row.CPU > 0 {
			cpu, peak = number(row.CPU), fmt.Sprintf("%.0f", row.Peak)
		}
		table = append(table, []string{shown, row.Tool, number(row.seconds()), spread(row), r.ratioTo(row), cpu, peak, requests(row)})
	}
	return table
}

// ratioHead returns the header of the column of ratios.
func ratioHead(r Result) string {
	if len(r.Base) == 0 {
		return "ratio"
	}
	return "÷ " + strings.Join(r.Base, " + ")
}

// ratioTo returns the time of a row divided by the time of the base.
func (r Result) ratioTo(row Row) string {
	base, known := r.seconds(row.Step, r.Base...)
	if !known {
		return unknown
	}
	return fmt.Sprintf("%.3f", row.seconds()/base)
}

// spread returns the times of the fastest and the slowest round.
func spread(row Row) string {
	return number(slices.Min(row.Wall)) + "–" + number(slices.Max(row.Wall))
}

// requests returns the number of requests for each verb, most frequent verbs first.
func requests(row Row) string {
	if len(row.Requests) == 0 {
		return unknown
	}
	verbs := slices.SortedFunc(maps.Keys(row.Requests), func(a, b string) int {
		return cmp.Or(row.Requests[b]-row.Requests[a], cmp.Compare(a, b))
	})
	for i, verb := range verbs {
		verbs[i] = Thousands(row.Requests[verb]) + " " + verb
	}
	return strings.Join(verbs, ", ")
}

// Thousands formats 1000 as 1,000.
func Thousands(n int) string {
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%s,%03d", Thousands(n/1000), n%1000)
}

func (r Results) goals() grid {
	table := grid{{"what", "goal", "measured", "met"}}
	for _, g := range goals() {
		v := g.evaluate(r)
		table = append(table, []string{g.name, g.target, cmp.Or(v.measured, unknown), v.String()})
	}
	return table
}
