// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// goal is a goal of the benchmarks: a required value of some measurement.
type goal struct {
	// name says what is measured. target is the required value.
	name, target string
	evaluate     func(Results) verdict
}

// verdict contains the measured value for a goal, and whether the goal is met.
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

// goals returns all goals, in the order of the page.
func goals() []goal {
	thousand := ObjectsName(1000)
	handAndStock := []string{Hand, Stock}
	large := RenderStep("5,000 small objects")
	return []goal{
		atMost(1.10, "Chain of 10: ours ÷ (by hand + stock without waiting)", ratioOf{ChainName(10), Install, []string{Ours}, handAndStock}),
		atLeast(3, "Chain of 10: stock with `--wait`, without order ÷ ours", ratioOf{ChainName(10), Install, []string{Waiting}, []string{Ours}}),
		atMost(1.10, "30 subcharts: ours ÷ (critical path by hand + stock without waiting)", ratioOf{SubchartsName, Install, []string{Ours}, handAndStock}),
		atMost(1.15, "20 hook Jobs: ours ÷ by hand", ratioOf{HooksName(20), Install, []string{Ours}, []string{Hand}}),
		atMost(0.30, "1,000 objects, install: ours ÷ stock", toStock(thousand, Install)),
		atMost(0.09, "1,000 objects, no-op upgrade: ours ÷ stock", toStock(thousand, Noop)),
		atMost(0.35, "1,000 objects, uninstall: ours ÷ stock", toStock(thousand, Uninstall)),
		atMost(0.27, "1,000 ordered objects, uninstall: ours ÷ stock", ratioOf{thousand, Uninstall, []string{Ordered}, []string{Stock}}),
		atMost(1.10, "5,000 ordered objects, `template --wait=ordered`: ours ÷ stock's `template`", ratioOf{RenderName, large, []string{Ordered}, []string{Stock}}),
		atMost(1.10, "5,000 ordered objects, `dag`: ours ÷ stock's `template`", ratioOf{RenderName, large, []string{Graph}, []string{Stock}}),
		{"1,000 objects: ours ÷ kapp, the worst step", "< 1", func(r Results) verdict { return fasterThanKapp(r, thousand) }},
		atMost(0.10, "No-op `upgrade --wait` of 100 ready Deployments: ours ÷ stock", toStock(WaitName, Noop)),
		atMostWithoutHand(0.50, "`list` of 1,000 releases: ours ÷ stock, both without the server's time", ListName, List),
		atMost(0.10, "Releases as objects: `list` of 1,000 releases of 300 KiB: ours ÷ stock with Secrets", ratioOf{ListObjectsName, List, []string{Objects}, []string{Stock}}),
		atMostMemory(0.10, "Releases as objects: peak memory of this `list`: ours ÷ stock with Secrets", ListObjectsName, List),
		atMost(0.10, "Releases as objects: `history` of 200 revisions of 300 KiB: ours ÷ stock with Secrets", ratioOf{HistoryName, History, []string{Objects}, []string{Stock}}),
		atMostMemory(0.10, historyMemoryGoal, HistoryName, History),
		{"Small release in order: releases as objects ÷ in Secrets, the worst step", fmt.Sprintf("≤ %.2f", maxStorageRatio), func(r Results) verdict { return storageCost(r, StorageName) }},
		{"Small release without an order: releases as objects ÷ in Secrets, the worst step", fmt.Sprintf("≤ %.2f", maxStorageRatio), func(r Results) verdict { return storageCost(r, UnorderedStorageName) }},
		atMost(2, "Release of 20 MiB: install as objects ÷ its bytes by hand", ratioOf{LargeReleaseName, Install, []string{Objects}, []string{Hand}}),
		atMost(0.50, "200 HelmRequests until all are ready ÷ 200 runs of `install` in eight processes", ratioOf{ControllerName, Install, []string{Controller}, []string{Objects}}),
		stepGoal("Controller: median time from a change of a HelmRequest to the first write of the release", "< 200 ms", stepOf{ControllerName, FirstWrite, Controller}, func(r Row) (string, bool) {
			return fmt.Sprintf("%.0f ms", 1000*r.seconds()), r.seconds() < maxFirstWrite.Seconds()
		}),
		stepGoal("Controller: memory with 1,000 unchanged HelmRequests", "< 200 MiB", stepOf{IdleControllerName, Idle, Controller}, func(r Row) (string, bool) {
			return fmt.Sprintf("%.0f MiB", r.Peak), r.Peak < maxIdleMemory
		}),
		atMost(2, "`helm drift` of 5,000 objects ÷ `kubectl get -o name` of them", ratioOf{DriftName, Drift, []string{Ours}, []string{Kubectl}}),
		atMost(2, "`FindDrift` of 5,000 objects ÷ listing and decoding them, both in a Go program", ratioOf{DriftName, Drift, []string{Package}, []string{Hand}}),
		atMost(1.20, "1,000 unchanged objects: `upgrade --only-if-changed` ÷ `plan`", ratioOf{UnchangedName, Unchanged, []string{OnlyIfChanged}, []string{Plan}}),
		stepGoal("Saved plan of 5,000 objects: time to read and verify it, without that of the server", "< 500 ms", stepOf{SavedPlanName, Verify, Ours}, func(r Row) (string, bool) {
			return fmt.Sprintf("%.0f ms", 1000*r.seconds()), r.seconds() < maxVerify.Seconds()
		}),
		atMostWithoutHand(0.35, "kube-prometheus-stack, install, without its two Jobs: ours ÷ stock", StackName, Install),
		{"`template` of charts of the format helm.sh/v3, CPU time: ÷ the same flat charts, the worst step", fmt.Sprintf("≤ %.2f", maxFormatRatio), formatCost},
		atMostCPU(1.05, "`template` of one object, without scripts, CPU time: ours ÷ stock", ScriptsName, ScriptsStep(1)),
		atMostCPU(1.05, "`template` of 5,000 objects, without scripts, CPU time: ours ÷ stock", ScriptsName, ScriptsStep(5000)),
		atMostMore(10*time.Millisecond, "`template` of one object, CPU time: what an empty handler of each event costs", ScriptsName, ScriptsStep(1)),
		atMostMore(500*time.Millisecond, "`template` of 5,000 objects, CPU time: what a handler of post-render costs", ScriptsName, ScriptsStep(5000)),
		atMostLonger(500*time.Millisecond, "`template` of 5,000 objects: what a handler of post-render costs that changes each of them", ScriptsName, ScriptsChangeStep(5000)),
		{"Peak memory of short commands: what ours needs more than stock ÷ what its binary is larger", "≤ 1", shortMemory},
		{largeMemoryGoal, "≤ 1.10", func(r Results) verdict { return largeMemory(r, large) }},
		{memoryGoal, "≤ 1", peakMemory},
		{"Requests of a no-op upgrade of 100, 1,000 and 5,000 objects", "the same", sameRequests},
		{"Exponent e if the time for N objects grows like N^e, the worst step", fmt.Sprintf("≤ %.2f", maxLinearExponent), growsLinearly},
	}
}

// ratioOf identifies a ratio: the time of the tools in of, divided by the time of the tools in
// to, in a step of a workload.
type ratioOf struct {
	workload, step string
	of, to         []string
}

// toStock returns the ratio of ours to stock Helm in a step of a workload.
func toStock(workload, step string) ratioOf {
	return ratioOf{workload, step, []string{Ours}, []string{Stock}}
}

func (q ratioOf) in(r Results) (float64, bool) { return r.ratio(q.workload, q.step, q.of, q.to) }

// atMost returns the goal that a ratio is at most limit.
func atMost(limit float64, name string, q ratioOf) goal {
	return goal{name, fmt.Sprintf("≤ %.2f", limit), func(r Results) verdict {
		return evaluateRatio(q, r, func(ratio float64) bool { return ratio <= limit })
	}}
}

// atLeast returns the goal that a ratio is at least limit.
func atLeast(limit float64, name string, q ratioOf) goal {
	return goal{name, fmt.Sprintf("≥ %.2f", limit), func(r Results) verdict {
		return evaluateRatio(q, r, func(ratio float64) bool { return ratio >= limit })
	}}
}

// atMostWithoutHand returns the goal that the ratio of ours to stock Helm in a step of a workload
// is at most limit, if the time that the step takes by hand is subtracted from both.
func atMostWithoutHand(limit float64, name, workload, step string) goal {
	return goal{name, fmt.Sprintf("≤ %.2f", limit), func(r Results) verdict {
		hand, known := r[workload].seconds(step, Hand)
		ours, knownOurs := r[workload].seconds(step, Ours)
		stock, knownStock := r[workload].seconds(step, Stock)
		if !known || !knownOurs || !knownStock {
			return verdict{}
		}
		ratio := (ours - hand) / (stock - hand)
		return verdict{fmt.Sprintf("%.3f", ratio), ratio <= limit}
	}}
}

// atMostCPU returns the goal that the ratio of ours, without scripts, to stock Helm in a step of a workload
// is at most limit, in CPU time.
func atMostCPU(limit float64, name, workload, step string) goal {
	return goal{name, fmt.Sprintf("≤ %.2f", limit), func(r Results) verdict {
		plain, found := r[workload].row(step, Plain)
		stock, foundStock := r[workload].row(step, Stock)
		if !found || !foundStock || stock.CPU == 0 {
			return verdict{}
		}
		ratio := plain.CPU / stock.CPU
		return verdict{fmt.Sprintf("%.3f", ratio), ratio <= limit}
	}}
}

// atMostMemory returns the goal that the ratio of ours with objects to stock Helm in a step of a workload is at most
// limit, in peak memory.
func atMostMemory(limit float64, name, workload, step string) goal {
	return goal{name, fmt.Sprintf("≤ %.2f", limit), func(r Results) verdict {
		objects, found := r[workload].row(step, Objects)
		stock, foundStock := r[workload].row(step, Stock)
		if !found || !foundStock || stock.Peak == 0 {
			return verdict{}
		}
		ratio := objects.Peak / stock.Peak
		return verdict{fmt.Sprintf("%.3f", ratio), ratio <= limit}
	}}
}

// atMostMore returns the goal that a step of a workload takes at most limit more CPU time with scripts than
// without them.
func atMostMore(limit time.Duration, name, workload, step string) goal {
	return goal{name, fmt.Sprintf("≤ %d ms", limit.Milliseconds()), func(r Results) verdict {
		plain, found := r[workload].row(step, Plain)
		scripts, foundScripts := r[workload].row(step, Scripts)
		if !found || !foundScripts {
			return verdict{}
		}
		more := scripts.CPU - plain.CPU
		return verdict{fmt.Sprintf("%.1f ms", 1000*more), more <= limit.Seconds()}
	}}
}

// atMostLonger returns the goal that a step of a workload takes at most limit longer with scripts than without
// them.
func atMostLonger(limit time.Duration, name, workload, step string) goal {
	return goal{name, fmt.Sprintf("≤ %d ms", limit.Milliseconds()), func(r Results) verdict {
		plain, found := r[workload].row(step, Plain)
		scripts, foundScripts := r[workload].row(step, Scripts)
		if !found || !foundScripts {
			return verdict{}
		}
		more := scripts.seconds() - plain.seconds()
		return verdict{fmt.Sprintf("%.0f ms", 1000*more), more <= limit.Seconds()}
	}}
}

const (
	// maxFirstWrite is the maximum time from a change of a HelmRequest to the first write of the release, and
	// maxIdleMemory the maximum memory of the controller, in MiB.
	maxFirstWrite = 200 * time.Millisecond
	maxIdleMemory = 200
	// maxVerify is the maximum time in which a saved plan is read and verified.
	maxVerify = 500 * time.Millisecond
)

// stepOf identifies a step of a workload with a tool.
type stepOf struct{ workload, step, tool string }

// stepGoal returns a goal about one step.
func stepGoal(name, limit string, of stepOf, evaluate func(Row) (measured string, met bool)) goal {
	return goal{name, limit, func(r Results) verdict {
		row, found := r[of.workload].row(of.step, of.tool)
		if !found {
			return verdict{}
		}
		measured, met := evaluate(row)
		return verdict{measured, met}
	}}
}

func evaluateRatio(q ratioOf, r Results, met func(float64) bool) verdict {
	ratio, known := q.in(r)
	if !known {
		return verdict{}
	}
	return verdict{fmt.Sprintf("%.3f", ratio), met(ratio)}
}

// fasterThanKapp evaluates whether ours is faster than kapp in every step of a workload. It
// reports the step with the highest ratio.
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

// maxStorageRatio is the maximum cost of releases as objects, compared with releases in Secrets.
const maxStorageRatio = 1.05

// storageCost evaluates how much longer the steps of a workload take if releases are stored as objects. It reports
// the step with the highest ratio.
func storageCost(r Results, workload string) verdict {
	worst, where := 0.0, ""
	for _, step := range []string{Install, Noop, Changed, Uninstall} {
		ratio, known := r.ratio(workload, step, []string{Objects}, []string{Ours})
		if !known {
			return verdict{}
		}
		if ratio > worst {
			worst, where = ratio, step
		}
	}
	return verdict{fmt.Sprintf("%.3f (%s)", worst, where), worst <= maxStorageRatio}
}

// shortMemory evaluates whether short commands of ours need at most as much more memory than
// those of stock Helm as the binary is larger. It reports the command with the highest ratio.
func shortMemory(r Results) verdict {
	start := r[StartName]
	larger := start.Binaries[Ours] - start.Binaries[Stock]
	worst, where := math.Inf(-1), ""
	for _, ours := range start.Rows {
		stock, found := start.row(ours.Step, Stock)
		if ours.Tool != Ours || !found || stock.Peak == 0 || larger <= 0 {
			continue
		}
		if ratio := (ours.Peak - stock.Peak) / larger; ratio > worst {
			worst, where = ratio, ours.Step
		}
	}
	if where == "" {
		return verdict{}
	}
	return verdict{fmt.Sprintf("%.3f (%s)", worst, where), worst <= 1}
}

// largeMemory evaluates the peak memory of template --wait=ordered and dag of many ordered
// objects, compared with that of stock's template. It reports the higher ratio.
func largeMemory(r Results, step string) verdict {
	stock, found := r[RenderName].row(step, Stock)
	ordered, foundOrdered := r[RenderName].row(step, Ordered)
	graph, foundGraph := r[RenderName].row(step, Graph)
	if !found || !foundOrdered || !foundGraph || stock.Peak == 0 {
		return verdict{}
	}
	ratio := max(ordered.Peak, graph.Peak) / stock.Peak
	return verdict{fmt.Sprintf("%.3f", ratio), ratio <= 1.10}
}

// maxFormatRatio is the maximum cost of the format helm.sh/v3, compared with flat charts.
const maxFormatRatio = 1.03

// formatCost evaluates how much more CPU time commands need for charts of the format helm.sh/v3 than
// for the same charts in the flat format. It reports the step with the highest ratio.
func formatCost(r Results) verdict {
	worst, where := 0.0, ""
	for _, flat := range r[FormatName].Rows {
		format, found := r[FormatName].row(flat.Step, Format)
		if flat.Tool != Flat || !found || flat.CPU == 0 {
			continue
		}
		if ratio := format.CPU / flat.CPU; ratio > worst {
			worst, where = ratio, flat.Step
		}
	}
	if where == "" {
		return verdict{}
	}
	return verdict{fmt.Sprintf("%.3f (%s)", worst, where), worst <= maxFormatRatio}
}

// peakMemory evaluates whether ours never needs more memory than stock Helm. It reports the
// workload and step with the highest ratio.
func peakMemory(r Results) verdict {
	worst, where := 0.0, ""
	for _, name := range slices.Sorted(maps.Keys(r)) {
		for _, ours := range r[name].Rows {
			stock, found := r[name].row(ours.Step, Stock)
			if ours.Tool != Ours || !found || stock.Peak == 0 {
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

// sameRequests evaluates whether the number of requests of a no-op upgrade is independent of
// the number of objects.
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

// maxLinearExponent is the maximum exponent for which a cost counts as linear, because a
// measured exponent is never exactly 1.
const maxLinearExponent = 1.10

// growsLinearly evaluates whether the time of each step grows at most linearly with the number
// of objects. It reports the step with the highest exponent.
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
	return verdict{fmt.Sprintf("%.2f (%s)", worst, where), worst <= maxLinearExponent}
}
