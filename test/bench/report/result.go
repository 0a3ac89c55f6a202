// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package report stores the measurements of the benchmarks in docs/benchmarks.json, compares
// them with the goals, and writes the page docs/benchmarks.md.
package report

import (
	"maps"
	"slices"
	"time"
)

// The names of steps and tools that occur in more than one workload.
const (
	Install   = "install"
	Noop      = "no-op upgrade"
	Changed   = "upgrade, 1 % changed"
	Uninstall = "uninstall"
	List      = "list"
	History   = "history"
	// FirstWrite is the time from a change of a HelmRequest to the first write of a revision, and Idle a minute without
	// changes.
	FirstWrite = "change to first write"
	Idle       = "a minute"
	// Drift is the search for drift, Unchanged an upgrade without changes, and Verify the check of a saved plan.
	Drift     = "drift"
	Unchanged = "nothing changed"
	Verify    = "read and verify"

	Ours    = "ours"
	Ordered = "ours, ordered"
	Graph   = "ours, dag"
	Flat    = "ours, flat"
	Format  = "ours, helm.sh/v3"
	Plain   = "ours, without scripts"
	Scripts = "ours, with scripts"
	// Objects is ours with the storage driver crd.
	Objects = "ours, crd"
	// Plan and OnlyIfChanged are ours, with the command plan, and with upgrade --only-if-changed.
	Plan          = "ours, plan"
	OnlyIfChanged = "ours, --only-if-changed"
	// Package is ours, as a Go package in a program that runs already.
	Package = "ours, Go package"
	// Controller is the controller.
	Controller = "controller"
	Stock      = "stock"
	Waiting    = "stock --wait"
	Helm4      = "Helm 4"
	// Helm4Waiting is Helm 4 with --wait=watcher, which is what its plain --wait means.
	Helm4Waiting = "Helm 4 --wait=watcher"
	Hand         = "hand"
	Kubectl      = "kubectl"
	Kapp         = "kapp"
	Nelm         = "nelm"
)

// Sample is one measurement of a step. Unknown values are zero.
type Sample struct {
	Wall, CPU time.Duration
	// Peak is the peak memory, in MiB.
	Peak float64
	// Requests counts the requests to the API server, by verb.
	Requests map[string]int
}

// Row contains the measurements of one tool in one step of a workload, in all rounds.
type Row struct {
	Step string `json:"step"`
	Tool string `json:"tool"`
	// Size is the number of objects, if a workload has several sizes.
	Size int `json:"size,omitempty"`
	// Wall contains the seconds of each round. The other values are medians.
	Wall     []float64      `json:"wall"`
	CPU      float64        `json:"cpu,omitempty"`
	Peak     float64        `json:"mib,omitempty"`
	Requests map[string]int `json:"requests,omitempty"`
}

// NewRow returns the row for the samples of all rounds.
func NewRow(step, tool string, samples []Sample) Row {
	row := Row{Step: step, Tool: tool}
	var cpu, peak []float64
	verbs := map[string][]float64{}
	for i, s := range samples {
		row.Wall = append(row.Wall, rounded(s.Wall.Seconds(), 4))
		cpu = append(cpu, s.CPU.Seconds())
		peak = append(peak, s.Peak)
		for verb, count := range s.Requests {
			if verbs[verb] == nil {
				verbs[verb] = make([]float64, len(samples)) // a round without requests counts too
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

// seconds returns the median time of the rounds.
func (r Row) seconds() float64 { return median(r.Wall) }

// requests returns the total number of requests.
func (r Row) requests() int {
	sum := 0
	for count := range maps.Values(r.Requests) {
		sum += count
	}
	return sum
}

// Result contains the measurements of a workload.
type Result struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// About describes what the tools did.
	About string `json:"about"`
	// Base contains the tools with which all tools are compared: the denominator of the ratios
	// is the sum of their times.
	Base []string `json:"base,omitempty"`
	// Binaries contains the sizes of the programs, in MiB, where they matter.
	Binaries map[string]float64 `json:"binaries,omitempty"`
	Rounds   int                `json:"rounds"`
	Date     string             `json:"date"`
	Commit   string             `json:"commit"`
	Machine  Machine            `json:"machine"`
	Rows     []Row              `json:"rows"`
}

// row returns the row of a tool in a step.
func (r Result) row(step, tool string) (Row, bool) {
	i := slices.IndexFunc(r.Rows, func(row Row) bool { return row.Step == step && row.Tool == tool })
	if i < 0 {
		return Row{}, false
	}
	return r.Rows[i], true
}

// seconds returns the sum of the median times of tools in a step. known is false if one of
// them was not measured.
func (r Result) seconds(step string, tools ...string) (sum float64, known bool) {
	for _, tool := range tools {
		row, found := r.row(step, tool)
		if !found {
			return 0, false
		}
		sum += row.seconds()
	}
	return sum, sum > 0
}

// Results contains the results of all workloads, by name.
type Results map[string]Result

// ratio returns the time of the tools in of, divided by the time of the tools in to. known is
// false if one of them was not measured.
func (r Results) ratio(workload, step string, of, to []string) (ratio float64, known bool) {
	over, one := r[workload].seconds(step, of...)
	under, other := r[workload].seconds(step, to...)
	if !one || !other {
		return 0, false
	}
	return over / under, true
}
