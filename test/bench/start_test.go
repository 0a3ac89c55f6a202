// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"math"
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
		base:  []string{report.Stock}, tools: tools, rounds: rounds, binaries: sizes(b),
	})
}

// sizes returns the sizes of ours and of stock Helm, in MiB.
func sizes(b *testing.B) map[string]float64 {
	b.Helper()
	programs, found := binaries.Get(b), map[string]float64{}
	for name, path := range map[string]string{report.Ours: programs.Helm, report.Stock: programs.Stock} {
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		const mebi = 1 << 20
		found[name] = math.Round(float64(info.Size())/mebi*10) / 10
	}
	return found
}
