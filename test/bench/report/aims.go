// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// aim is a goal of the benchmarks.
type aim struct {
	// what says what is measured. goal is the required result.
	what, goal string
	judge      func(Results) verdict
}

// verdict is the state of an aim.
type verdict struct {
	// measured is empty if nothing was measured.
	measured string
	met      bool
}

func (v verdict) String() string {
	switch {
	case v.measured == "":
		return "not measured"
	case v.met:
		return "yes"
	default:
		return "**no**"
	}
}

// aims returns the aims on the page, in order.
func aims() []aim {
	thousand := ObjectsName(1000)
	handAndStock := []string{Hand, Stock}
	return []aim{
		atMost(1.10, "Chain of 10: ours ÷ (by hand + stock without waiting)", ratioOf{ChainName(10), Install, []string{Ours}, handAndStock}),
		atLeast(3, "Chain of 10: stock with `--wait`, without order ÷ ours", ratioOf{ChainName(10), Install, []string{Waiting}, []string{Ours}}),
		atMost(1.10, "30 subcharts: ours ÷ (critical path by hand + stock without waiting)", ratioOf{SubchartsName, Install, []string{Ours}, handAndStock}),
		atMost(1.15, "20 hook Jobs: ours ÷ by hand", ratioOf{HooksName(20), Install, []string{Ours}, []string{Hand}}),
		atMost(0.30, "1,000 objects, install: ours ÷ stock", toStock(thousand, Install)),
		atMost(0.09, "1,000 objects, no-op upgrade: ours ÷ stock", toStock(thousand, Noop)),
		atMost(0.35, "1,000 objects, uninstall: ours ÷ stock", toStock(thousand, Uninstall)),
		{"1,000 objects: ours ÷ kapp, the worst step", "< 1", func(r Results) verdict { return fasterThanKapp(r, thousand) }},
		atMost(0.10, "No-op `upgrade --wait` of 100 ready Deployments: ours ÷ stock", toStock(WaitName, Noop)),
		atMost(0.50, stackAim, toStock(StackName, Install)),
		{memoryAim, "≤ 1", peakMemory},
		{"Requests of a no-op upgrade of 100, 1,000 and 5,000 objects", "the same", sameRequests},
		{"Exponent e if the time for N objects grows like N^e, the worst step", fmt.Sprintf("≤ %.2f", linear), growsLinearly},
	}
}

// ratioOf is the ratio of contestants in a step of a workload.
type ratioOf struct {
	workload, step string
	of, to         []string
}

func toStock(workload, step string) ratioOf {
	return ratioOf{workload, step, []string{Ours}, []string{Stock}}
}

func (q ratioOf) in(r Results) (float64, bool) { return r.ratio(q.workload, q.step, q.of, q.to) }

func atMost(limit float64, what string, q ratioOf) aim {
	return aim{what, fmt.Sprintf("≤ %.2f", limit), func(r Results) verdict {
		return judged(q, r, func(ratio float64) bool { return ratio <= limit })
	}}
}

func atLeast(limit float64, what string, q ratioOf) aim {
	return aim{what, fmt.Sprintf("≥ %.2f", limit), func(r Results) verdict {
		return judged(q, r, func(ratio float64) bool { return ratio >= limit })
	}}
}

func judged(q ratioOf, r Results, met func(float64) bool) verdict {
	ratio, known := q.in(r)
	if !known {
		return verdict{}
	}
	return verdict{fmt.Sprintf("%.3f", ratio), met(ratio)}
}

// fasterThanKapp finds the step in which kapp comes closest to ours.
func fasterThanKapp(r Results, workload string) verdict {
	worst, where := 0.0, ""
	for _, step := range []string{Install, Noop, Changed, Uninstall} {
		ratio, known := r.ratio(workload, step, []string{Ours}, []string{Kapp})
		if !known {
			return verdict{}
		}
		if ratio > worst {
			worst, where = ratio, step
		}
	}
	return verdict{fmt.Sprintf("%.3f (%s)", worst, where), worst < 1}
}

// peakMemory finds the workload and step in which ours uses the most memory compared with
// stock Helm.
func peakMemory(r Results) verdict {
	worst, where := 0.0, ""
	for _, name := range slices.Sorted(maps.Keys(r)) {
		for _, ours := range r[name].Rows {
			stock, found := r[name].row(ours.Step, Stock)
			if ours.Contestant != Ours || !found || stock.Peak == 0 {
				continue
			}
			if ratio := ours.Peak / stock.Peak; ratio > worst {
				worst, where = ratio, fmt.Sprintf("%s, %s", r[name].Title, ours.Step)
			}
		}
	}
	if where == "" {
		return verdict{}
	}
	return verdict{fmt.Sprintf("%.3f (%s)", worst, where), worst <= 1}
}

// sameRequests checks whether the number of requests depends on the number of objects.
func sameRequests(r Results) verdict {
	var counts []string
	for _, n := range []int{100, 1000, 5000} {
		row, found := r[ObjectsName(n)].row(Noop, Ours)
		if !found {
			return verdict{}
		}
		counts = append(counts, fmt.Sprint(row.requests()))
	}
	return verdict{strings.Join(counts, ", "), len(slices.Compact(slices.Clone(counts))) == 1}
}

// linear is the maximum exponent for which a cost counts as linear, because a measured
// exponent is never exactly 1.
const linear = 1.10

func growsLinearly(r Results) verdict {
	worst, where := math.Inf(-1), ""
	for _, step := range growthSteps {
		if e, known := growthOf(r[GrowthName], step).exponent(); known && e > worst {
			worst, where = e, step
		}
	}
	if where == "" {
		return verdict{}
	}
	return verdict{fmt.Sprintf("%.2f (%s)", worst, where), worst <= linear}
}
