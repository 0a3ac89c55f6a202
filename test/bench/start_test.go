// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"os"
	"testing"

	"github.com/ordered-helm/helm/test/bench/report"
	"github.com/ordered-helm/helm/test/binaries"
)

// BenchmarkStart measures short commands, whose cost is mostly the start of the program. It
// needs no cluster.
func BenchmarkStart(b *testing.B) {
	chart := writeChart(b, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n")
	var tools []tool
	for _, t := range versionsOfHelm(b, nil) {
		tools = append(tools, tool{name: t.name, steps: []step{
			t.program.does("version", "version"),
			t.program.does("template", "template", "web", chart),
			t.program.does("__complete", "__complete", "install", "--wa"),
		}})
	}
	const rounds = 50
	measure(b, nil, workload{
		name: report.StartName, title: "Cold start",
		about: "Short commands, without a cluster: `version`, `template` of a chart of one object, and the completion of a flag.",
		base:  []string{report.Stock}, tools: tools, rounds: rounds,
	})
}

// BenchmarkSize reports the sizes of the binaries.
func BenchmarkSize(b *testing.B) {
	programs := binaries.Get(b)
	size := func(path string) float64 {
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		const mebi = 1 << 20
		return float64(info.Size()) / mebi
	}
	b.ReportMetric(size(programs.Helm), "ours-MiB")
	b.ReportMetric(size(programs.Stock), "stock-MiB")
	b.ReportMetric(size(programs.Helm)/size(programs.Stock), "ours/stock")
	b.ReportMetric(0, "ns/op")
}
