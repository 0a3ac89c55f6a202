// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/cluster"
)

// BenchmarkThousand takes a thousand ConfigMaps in five layers of two hundred
// through the life of a release: with stock Helm, with ours as a drop-in, and with
// ours in order. What counts are the ratios to stock in each step.
func BenchmarkThousand(b *testing.B) {
	c := cluster.Shared(b)
	chart, changed := layersChart(b, "one"), layersChart(b, "two")
	stock, ours := binaries.Get(b).Stock, binaries.Get(b).Helm
	tools := []struct {
		name, binary string
		wait         []string
	}{
		{"stock", stock, nil},
		{"ours", ours, nil},
		{"ordered", ours, []string{"--wait=ordered"}},
	}
	steps := []struct {
		name string
		args []string
	}{
		{"install", []string{"install", "rel", chart}},
		{"noop", []string{"upgrade", "rel", chart}},
		{"one-changed", []string{"upgrade", "rel", changed}},
		{"rollback", []string{"rollback", "rel"}},
		{"uninstall", []string{"uninstall", "rel"}},
	}
	times := map[string][]time.Duration{}
	for round := range rounds + 1 {
		for _, tool := range tools {
			namespace := c.Namespace(b)
			for _, step := range steps {
				args := append(append([]string{}, step.args...), "-n", namespace)
				if step.name != "rollback" && step.name != "uninstall" { // there the record decides
					args = append(args, tool.wait...)
				}
				begin := time.Now()
				if err := run(b.Context(), b, c, tool.binary, args...); err != nil {
					b.Fatal(err)
				}
				if round > 0 {
					key := tool.name + " " + step.name
					times[key] = append(times[key], time.Since(begin))
				}
			}
		}
	}
	for _, step := range steps {
		base := median(times["stock "+step.name]).Seconds()
		b.ReportMetric(base, "stock-"+step.name+"-s")
		for _, tool := range tools[1:] {
			b.ReportMetric(median(times[tool.name+" "+step.name]).Seconds()/base, tool.name+"/stock-"+step.name)
		}
	}
	b.ReportMetric(0, "ns/op")
}

// layersChart makes a chart of five layers, each after the one before, of two
// hundred ConfigMaps each. The value stands in one of them.
func layersChart(b *testing.B, value string) string {
	b.Helper()
	const layers, each = 5, 200
	var text strings.Builder
	for layer := range layers {
		for i := range each {
			fmt.Fprintf(&text, "---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c%d-%03d\n  annotations:\n    helm.sh/layer: l%d\n", layer, i, layer)
			if layer > 0 {
				fmt.Fprintf(&text, "    depends-on.helm.sh/layers: l%d\n", layer-1)
			}
			content := "same"
			if layer == 2 && i == 100 {
				content = value
			}
			fmt.Fprintf(&text, "data:\n  key: %s\n", content)
		}
	}
	return writeChart(b, text.String())
}
