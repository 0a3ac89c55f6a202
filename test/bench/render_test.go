// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"testing"

	"github.com/ordered-helm/helm/test/bench/report"
)

// BenchmarkRender runs `helm template` for the charts of the other benchmarks, with Ordered
// Helm also in order, and `helm dag`. It needs no cluster.
func BenchmarkRender(b *testing.B) {
	helm, ordered, graph := tool{name: report.Ours}, tool{name: report.Ordered}, tool{name: report.Graph}
	plain, newer := tool{name: report.Stock}, tool{name: report.Helm4}
	oursIs, stockIs, newerIs := ours(b, nil), stock(b, nil), helm4(b, nil)
	for _, chart := range charts(b) {
		if chart.path == "" {
			continue
		}
		template := append([]string{"template", "rel", chart.path}, chart.flags...)
		step := report.RenderStep(chart.name)
		plain.steps = append(plain.steps, stockIs.does(step, template...))
		newer.steps = append(newer.steps, newerIs.does(step, template...))
		helm.steps = append(helm.steps, oursIs.does(step, template...))
		ordered.steps = append(ordered.steps, oursIs.does(step, append(template, "--wait=ordered")...))
		graph.steps = append(graph.steps, oursIs.does(step, append([]string{"dag", chart.path}, chart.flags...)...))
	}
	measure(b, nil, workload{
		name: report.RenderName, title: "template and dag",
		about: "`helm template` of the charts of the other workloads; *ours, ordered* is `helm template --wait=ordered`, and *ours, dag* is " +
			"`helm dag`, which stock does not have. No cluster is used.",
		base: []string{report.Stock}, tools: []tool{plain, newer, helm, ordered, graph},
	})
}

// namedChart is a chart with a name for its step.
type namedChart struct {
	name, path string
	flags      []string
}

func charts(b *testing.B) []namedChart {
	b.Helper()
	const layers = 5
	archive, flags := stackChart(b)
	return []namedChart{
		{name: "chain of 10", path: chain(10).layersChart(b)},
		{name: "chain of 30", path: chain(30).layersChart(b)},
		{name: "chain of 100", path: chain(100).layersChart(b)},
		{name: "30 subcharts", path: random(30).subcharts(b)},
		{name: "fan-out 1–100–1", path: fanOut(100).layersChart(b)},
		{name: "20 hook Jobs", path: hookChart(b, 20)},
		{name: "200 hook Jobs", path: hookChart(b, 200)},
		{name: "100 small objects", path: objectsChart(b, 100, layers)},
		{name: "1,000 small objects", path: objectsChart(b, 1000, layers)},
		{name: "5,000 small objects", path: objectsChart(b, 5000, layers)},
		{"kube-prometheus-stack", archive, flags},
	}
}
