// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/binaries"
)

// BenchmarkStart compares what short commands take with our binary and with stock
// Helm: the start of the program, for the most part. It needs no cluster.
func BenchmarkStart(b *testing.B) {
	chart := writeChart(b, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n")
	for _, command := range [][]string{
		{"version"},
		{"template", "web", chart},
		{"__complete", "install", "--wa"},
	} {
		b.Run(command[0], func(b *testing.B) {
			programs := binaries.Get(b)
			home := b.TempDir()
			start := func(program string) time.Duration {
				return started(b, exec.CommandContext(b.Context(), program, command...), home)
			}
			// In turn, and each as often the first: what else the machine does meets
			// both alike.
			const rounds, warmUp = 100, 2
			var ours, stock []time.Duration
			for i := range rounds + warmUp {
				var a, b time.Duration
				if i%2 == 0 {
					a = start(programs.Helm)
				}
				b = start(programs.Stock)
				if i%2 == 1 {
					a = start(programs.Helm)
				}
				if i >= warmUp {
					ours, stock = append(ours, a), append(stock, b)
				}
			}
			b.ReportMetric(median(ours).Seconds()*1000, "ours-ms")
			b.ReportMetric(median(stock).Seconds()*1000, "stock-ms")
			b.ReportMetric(median(ours).Seconds()/median(stock).Seconds(), "ours/stock")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// started runs a program to its end and returns how long that took.
func started(b *testing.B, cmd *exec.Cmd, home string) time.Duration {
	b.Helper()
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatal(fmt.Errorf("%s: %w\n%s", cmd, err, out))
	}
	return time.Since(began)
}

// BenchmarkSize compares the sizes of the binaries.
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
