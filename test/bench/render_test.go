// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"testing"

	"github.com/ordered-helm/helm/test/bench/report"
)

// BenchmarkRender runs `helm template` for the charts of the other benchmarks, and `helm dag`
// for those that declare an order. It needs no cluster.
func BenchmarkRender(b *testing.B) {
	helm := tool{name: report.Ours}
	plain := tool{name: report.Stock}
	oursIs, stockIs := ours(b, nil), stock(b, nil)
	for _, chart := range charts(b) {
		if chart.path == "" {
			continue
		}
		template := append([]string{"template", "rel", chart.path}, chart.flags...)
		plain.steps = append(plain.steps, stockIs.does("template: "+chart.name, template...))
		helm.steps = append(helm.steps, oursIs.does("template: "+chart.name, template...),
			oursIs.does("dag: "+chart.name, append([]string{"dag", chart.path}, chart.flags...)...))
	}
	measure(b, nil, workload{
		name: report.RenderName, title: "template and dag",
		about: "`helm template` of the charts of the other workloads, and `helm dag`, which stock does not have. No cluster is used.",
		base:  []string{report.Stock}, tools: []tool{plain, helm},
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
