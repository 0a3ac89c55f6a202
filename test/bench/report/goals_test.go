// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"strings"
	"testing"
)

// made returns a result in which the time, the peak memory and the number of requests of each
// tool all have the given value.
func made(name, step string, values map[string]float64) Result {
	r := Result{Name: name, Title: "made " + name}
	for _, tool := range []string{Ours, Stock, Hand, Waiting, Kapp, Flat, Format, Plain, Scripts, Objects, Controller} {
		if v, found := values[tool]; found {
			r.Rows = append(r.Rows, Row{
				Step: step, Tool: tool, Wall: []float64{v}, CPU: v, Peak: v, Requests: map[string]int{"get": int(v)},
			})
		}
	}
	return r
}

// merged combines the rows of results with the same name.
func merged(list ...Result) Results {
	all := Results{}
	for _, r := range list {
		r.Rows = append(slices.Clone(all[r.Name].Rows), r.Rows...)
		all[r.Name] = r
	}
	return all
}

// started returns a result of short commands, with a binary that is larger than that of stock
// Helm by the given number of MiB.
func started(larger float64, r Result) Result {
	r.Binaries = map[string]float64{Ours: 60 + larger, Stock: 60}
	return r
}

// rendered adds to a result the peak memory of ordered templates and of graphs.
func rendered(r Result, ordered, graph float64) Result {
	step := r.Rows[0].Step
	r.Rows = append(r.Rows, Row{Step: step, Tool: Ordered, Peak: ordered}, Row{Step: step, Tool: Graph, Peak: graph})
	return r
}

func TestGoals(t *testing.T) {
	thousand := ObjectsName(1000)
	life := func(ours, kapp float64) (list []Result) {
		for _, step := range []string{Install, Noop, Changed, Uninstall} {
			list = append(list, made(thousand, step, map[string]float64{Ours: ours, Kapp: kapp}))
			ours++
		}
		return list
	}
	stored := func(objects ...float64) (list []Result) {
		for i, ratio := range objects {
			list = append(list, made(StorageName, []string{Install, Noop, Changed, Uninstall}[i], map[string]float64{Ours: 100, Objects: ratio}))
		}
		return list
	}
	noops := func(counts ...float64) (list []Result) {
		for i, n := range []int{100, 1000, 5000} {
			if i < len(counts) {
				list = append(list, made(ObjectsName(n), Noop, map[string]float64{Ours: counts[i]}))
			}
		}
		return list
	}
	grown := func(times ...float64) (list []Result) {
		for i, seconds := range times {
			r := made(GrowthName, Install, map[string]float64{Ours: seconds})
			r.Rows[0].Size = []int{300, 1000, 10000}[i]
			list = append(list, r)
		}
		return list
	}
	for _, test := range []struct {
		name, what     string
		results        []Result
		measured, says string
	}{
		{"nothing", "Chain of 10: ours", nil, "", "not measured"},
		{"a base is missing", "Chain of 10: ours", []Result{made(ChainName(10), Install, map[string]float64{Ours: 1, Hand: 1})}, "", "not measured"},
		{"at the limit", "Chain of 10: ours", []Result{made(ChainName(10), Install, map[string]float64{Ours: 11, Hand: 8, Stock: 2})}, "1.100", "yes"},
		{"above", "Chain of 10: ours", []Result{made(ChainName(10), Install, map[string]float64{Ours: 12, Hand: 8, Stock: 2})}, "1.200", "**no**"},
		{"at least", "Chain of 10: stock", []Result{made(ChainName(10), Install, map[string]float64{Ours: 1, Waiting: 3})}, "3.000", "yes"},
		{"not at least", "Chain of 10: stock", []Result{made(ChainName(10), Install, map[string]float64{Ours: 1, Waiting: 2.9})}, "2.900", "**no**"},
		{"a step", "1,000 objects, no-op", []Result{made(thousand, Noop, map[string]float64{Ours: 8, Stock: 100})}, "0.080", "yes"},
		{"kapp is slower", "1,000 objects: ours ÷ kapp", life(1, 8), "0.500 (uninstall)", "yes"},
		{"kapp is faster once", "1,000 objects: ours ÷ kapp", life(1, 3), "1.333 (uninstall)", "**no**"},
		{"kapp took no part", "1,000 objects: ours ÷ kapp", noops(1, 1), "", "not measured"},
		{"list", "`list`", []Result{made(ListName, List, map[string]float64{Ours: 3, Stock: 6, Hand: 2})}, "0.250", "yes"},
		{"list is slow", "`list`", []Result{made(ListName, List, map[string]float64{Ours: 5, Stock: 6, Hand: 2})}, "0.750", "**no**"},
		{"time of the server is missing", "`list`", []Result{made(ListName, List, map[string]float64{Ours: 3, Stock: 6})}, "", "not measured"},
		{"list of objects", "Releases as objects: `list`", []Result{made(ListObjectsName, List, map[string]float64{Objects: 1, Stock: 10})}, "0.100", "yes"},
		{"list of objects is slow", "Releases as objects: `list`", []Result{made(ListObjectsName, List, map[string]float64{Objects: 2, Stock: 10})}, "0.200", "**no**"},
		{"history of objects", "Releases as objects: `history`", []Result{made(HistoryName, History, map[string]float64{Objects: 1, Stock: 20})}, "0.050", "yes"},
		{"memory of objects", "Releases as objects: peak memory of this `history`", []Result{made(HistoryName, History, map[string]float64{Objects: 1, Stock: 20})}, "0.050", "yes"},
		{"much memory", "Releases as objects: peak memory of this `list`", []Result{made(ListObjectsName, List, map[string]float64{Objects: 3, Stock: 20})}, "0.150", "**no**"},
		{"no objects", "Releases as objects: peak memory of this `list`", []Result{made(ListObjectsName, List, map[string]float64{Ours: 3, Stock: 20})}, "", "not measured"},
		{"memory", "Peak memory: ", []Result{
			made("a", Install, map[string]float64{Ours: 1, Stock: 2}), made("b", Install, map[string]float64{Ours: 3, Stock: 2}),
			made("c", Install, map[string]float64{Ours: 9}),
		}, "1.500 (made b, install)", "**no**"},
		{"less memory", "Peak memory: ", []Result{made("a", Install, map[string]float64{Ours: 1, Stock: 2})}, "0.500 (made a, install)", "yes"},
		{"without the Jobs", "kube-prometheus-stack", []Result{made(StackName, Install, map[string]float64{Ours: 3, Stock: 6, Hand: 2})}, "0.250", "yes"},
		{"without the Jobs, too long", "kube-prometheus-stack", []Result{made(StackName, Install, map[string]float64{Ours: 4, Stock: 6, Hand: 2})}, "0.500", "**no**"},
		{"Jobs not measured", "kube-prometheus-stack", []Result{made(StackName, Install, map[string]float64{Ours: 3, Stock: 6})}, "", "not measured"},
		{"a larger binary", "Peak memory of short commands", []Result{started(5, made(StartName, "version", map[string]float64{Ours: 44, Stock: 40}))}, "0.800 (version)", "yes"},
		{"more than a larger binary", "Peak memory of short commands", []Result{started(2, made(StartName, "version", map[string]float64{Ours: 44, Stock: 40}))}, "2.000 (version)", "**no**"},
		{"memory of a plan", "5,000 ordered objects, peak", []Result{rendered(made(RenderName, RenderStep("5,000 small objects"), map[string]float64{Stock: 10}), 11, 12)}, "1.200", "**no**"},
		{"the format costs little", "`template` of charts of the format", []Result{
			made(FormatName, "a", map[string]float64{Flat: 100, Format: 103}), made(FormatName, "b", map[string]float64{Flat: 100, Format: 99}),
		}, "1.030 (a)", "yes"},
		{"the format costs more", "`template` of charts of the format", []Result{made(FormatName, "a", map[string]float64{Flat: 100, Format: 104})}, "1.040 (a)", "**no**"},
		{"the format was not measured", "`template` of charts of the format", []Result{made(FormatName, "a", map[string]float64{Flat: 100})}, "", "not measured"},
		{"scripts cost little", "`template` of one object, CPU", []Result{made(ScriptsName, ScriptsStep(1), map[string]float64{Plain: 1, Scripts: 1.009})}, "9.0 ms", "yes"},
		{"scripts cost more", "`template` of 5,000 objects, CPU", []Result{made(ScriptsName, ScriptsStep(5000), map[string]float64{Plain: 1, Scripts: 1.6})}, "600.0 ms", "**no**"},
		{"scripts were not measured", "`template` of 5,000 objects, CPU", []Result{made(ScriptsName, ScriptsStep(5000), map[string]float64{Plain: 1})}, "", "not measured"},
		{"changes of all objects cost little", "`template` of 5,000 objects: what", []Result{made(ScriptsName, ScriptsChangeStep(5000), map[string]float64{Plain: 1, Scripts: 1.4})}, "400 ms", "yes"},
		{"changes of all objects cost more", "`template` of 5,000 objects: what", []Result{made(ScriptsName, ScriptsChangeStep(5000), map[string]float64{Plain: 1, Scripts: 1.6})}, "600 ms", "**no**"},
		{"changes were not measured", "`template` of 5,000 objects: what", []Result{made(ScriptsName, ScriptsChangeStep(5000), map[string]float64{Plain: 1})}, "", "not measured"},
		{"no cost without scripts", "`template` of one object, without", []Result{made(ScriptsName, ScriptsStep(1), map[string]float64{Plain: 104, Stock: 100})}, "1.040", "yes"},
		{"costs without scripts", "`template` of 5,000 objects, without", []Result{made(ScriptsName, ScriptsStep(5000), map[string]float64{Plain: 106, Stock: 100})}, "1.060", "**no**"},
		{"stock was not measured", "`template` of one object, without", []Result{made(ScriptsName, ScriptsStep(1), map[string]float64{Plain: 1})}, "", "not measured"},
		{"objects cost little", "Small release in order", stored(101, 102, 105, 99), "1.050 (upgrade, 1 % changed)", "yes"},
		{"objects cost more", "Small release in order", stored(106, 102, 105, 99), "1.060 (install)", "**no**"},
		{"not all steps with objects", "Small release in order", stored(101), "", "not measured"},
		{"a large release", "Release of 20 MiB", []Result{made(LargeReleaseName, Install, map[string]float64{Objects: 4, Hand: 2})}, "2.000", "yes"},
		{"the controller", "200 HelmRequests", []Result{made(ControllerName, Install, map[string]float64{Controller: 4, Objects: 8})}, "0.500", "yes"},
		{"the controller reacts", "Controller: median", []Result{made(ControllerName, FirstWrite, map[string]float64{Controller: 0.199})}, "199 ms", "yes"},
		{"the controller is slow", "Controller: median", []Result{made(ControllerName, FirstWrite, map[string]float64{Controller: 0.2})}, "200 ms", "**no**"},
		{"the controller needs memory", "Controller: memory", []Result{made(IdleControllerName, Idle, map[string]float64{Controller: 200})}, "200 MiB", "**no**"},
		{"the controller was not measured", "Controller: memory", nil, "", "not measured"},
		{"as many requests", "Requests", noops(9, 9, 9), "9, 9, 9", "yes"},
		{"more requests", "Requests", noops(9, 9, 10), "9, 9, 10", "**no**"},
		{"not all sizes", "Requests", noops(9, 9), "", "not measured"},
		{"linear", "Exponent e", grown(1, 2, 20), "1.00 (install)", "yes"},
		{"superlinear", "Exponent e", grown(1, 2, 200), "2.00 (install)", "**no**"},
		{"one size", "Exponent e", grown(1, 2), "", "not measured"},
	} {
		t.Run(test.name, func(t *testing.T) {
			results, found := merged(test.results...), 0
			for _, g := range goals() {
				if !strings.HasPrefix(g.name, test.what) {
					continue
				}
				found++
				if v := g.evaluate(results); v.measured != test.measured || v.String() != test.says {
					t.Errorf("%s: %q, %s; want %q, %s", g.name, v.measured, v, test.measured, test.says)
				}
			}
			if found != 1 {
				t.Errorf("%d goals have names that begin with %q", found, test.what)
			}
		})
	}
}

// TestNotesBelongToGoals checks that every note belongs to a goal.
func TestNotesBelongToGoals(t *testing.T) {
	known := map[string]bool{}
	for _, g := range goals() {
		known[g.name] = true
	}
	for what := range notes {
		if !known[what] {
			t.Errorf("no goal has the name %q", what)
		}
	}
}
