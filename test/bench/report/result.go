// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package report keeps what the benchmarks measured, judges it by the aims, and
// writes the page about it.
package report

import (
	"maps"
	"slices"
	"time"
)

// The names that steps and contestants have in more than one workload.
const (
	Install   = "install"
	Noop      = "no-op upgrade"
	Changed   = "upgrade, 1 % changed"
	Uninstall = "uninstall"

	Ours    = "ours"
	Ordered = "ours, ordered"
	Stock   = "stock"
	Waiting = "stock --wait"
	Hand    = "hand"
	Kapp    = "kapp"
	Nelm    = "nelm"
)

// Sample is what a step took once. What is not known of it is zero.
type Sample struct {
	Wall, CPU time.Duration
	// Peak is the most memory at a time, in MiB.
	Peak float64
	// Requests are those to the API server, by verb.
	Requests map[string]int
}

// Row is what a step took of a contestant in all rounds.
type Row struct {
	Step       string `json:"step"`
	Contestant string `json:"contestant"`
	// Size is the number of objects, where a workload has several.
	Size int `json:"size,omitempty"`
	// Wall has the seconds of each round. The rest are medians.
	Wall     []float64      `json:"wall"`
	CPU      float64        `json:"cpu,omitempty"`
	Peak     float64        `json:"mib,omitempty"`
	Requests map[string]int `json:"requests,omitempty"`
}

// NewRow sums up the rounds.
func NewRow(step, contestant string, samples []Sample) Row {
	row := Row{Step: step, Contestant: contestant}
	var cpu, peak []float64
	verbs := map[string][]float64{}
	for i, s := range samples {
		row.Wall = append(row.Wall, rounded(s.Wall.Seconds(), 4))
		cpu = append(cpu, s.CPU.Seconds())
		peak = append(peak, s.Peak)
		for verb, count := range s.Requests {
			if verbs[verb] == nil {
				verbs[verb] = make([]float64, len(samples)) // a round without any counts too
			}
			verbs[verb][i] = float64(count)
		}
	}
	row.CPU, row.Peak = rounded(median(cpu), 4), rounded(median(peak), 1)
	for verb, counts := range verbs {
		if count := int(median(counts)); count > 0 {
			if row.Requests == nil {
				row.Requests = map[string]int{}
			}
			row.Requests[verb] = count
		}
	}
	return row
}

// seconds is the median of the rounds.
func (r Row) seconds() float64 { return median(r.Wall) }

// requests is how many there were in all.
func (r Row) requests() int {
	sum := 0
	for count := range maps.Values(r.Requests) {
		sum += count
	}
	return sum
}

// Result is what was measured of a workload.
type Result struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// About says what was done, and by whom.
	About string `json:"about"`
	// Base are the contestants whose sum the others are compared with.
	Base    []string `json:"base,omitempty"`
	Rounds  int      `json:"rounds"`
	Date    string   `json:"date"`
	Commit  string   `json:"commit"`
	Machine Machine  `json:"machine"`
	Rows    []Row    `json:"rows"`
}

// row is that of a step and a contestant.
func (r Result) row(step, contestant string) (Row, bool) {
	i := slices.IndexFunc(r.Rows, func(row Row) bool { return row.Step == step && row.Contestant == contestant })
	if i < 0 {
		return Row{}, false
	}
	return r.Rows[i], true
}

// seconds is the sum of the medians of some contestants in a step, if all of
// them took part.
func (r Result) seconds(step string, contestants ...string) (sum float64, known bool) {
	for _, contestant := range contestants {
		row, found := r.row(step, contestant)
		if !found {
			return 0, false
		}
		sum += row.seconds()
	}
	return sum, sum > 0
}

// Results are those of all workloads, by name.
type Results map[string]Result

// ratio compares contestants in a step of a workload.
func (r Results) ratio(workload, step string, of, to []string) (ratio float64, known bool) {
	over, one := r[workload].seconds(step, of...)
	under, other := r[workload].seconds(step, to...)
	if !one || !other {
		return 0, false
	}
	return over / under, true
}
