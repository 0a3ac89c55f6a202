// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"testing"

	"github.com/ordered-helm/helm/test/bench/report"
	"github.com/ordered-helm/helm/test/cluster"
)

// BenchmarkGrowth measures how the cost of operations grows with the number of objects.
func BenchmarkGrowth(b *testing.B) {
	c := cluster.Shared(b)
	helm := ours(b, c)
	result := report.Result{
		Name: report.GrowthName, Title: "Scaling",
		About: "Costs of N ConfigMaps with one short key each, with Ordered Helm and without an order.",
	}
	for _, n := range []int{100, 300, 1000, 3000, 10000} {
		t := helmLifecycle(report.Ours, helm, lifecycle{chart: objectsChart(b, n, 0)}).without(report.Changed)
		w := workload{tools: []tool{t}, rounds: 3, size: n}
		result.Rounds = w.counted(b)
		result.Rows = append(result.Rows, rows(b, c, w)...)
	}
	collect(b, result)
}
