// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ordered-helm/helm/test/bench/report"
	"github.com/ordered-helm/helm/test/cluster"
)

// objectsTemplate renders ConfigMaps with one short key. The values determine how many of them
// have changed content.
const objectsTemplate = `{{- $v := .Values }}
{{- range $i := until (int $v.count) }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: c{{ printf "%05d" $i }}
{{- if $v.layers }}
{{- $layer := div (mul $i $v.layers) $v.count | int }}
  annotations:
    helm.sh/layer: l{{ $layer }}
{{- if $layer }}
    depends-on.helm.sh/layers: l{{ sub $layer 1 }}
{{- end }}
{{- end }}
data: {key: {{ if lt $i (int $v.changed) }}changed{{ else }}same{{ end }}}
{{- end }}
`

// objectsChart writes a chart of n ConfigMaps, in the given number of layers. If layers is 0,
// they are unlayered.
func objectsChart(b *testing.B, n, layers int) string {
	b.Helper()
	metadata := plainChart
	if layers > 0 {
		metadata = orderedChart
	}
	return writeFiles(b, map[string]string{
		"Chart.yaml": metadata, "templates/all.yaml": objectsTemplate,
		"values.yaml": fmt.Sprintf("count: %d\nlayers: %d\nchanged: 0\n", n, layers),
	})
}

// BenchmarkObjects runs all operations on releases with many small objects.
func BenchmarkObjects(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			const layers = 5
			c := cluster.Shared(b)
			plain, layered := objectsChart(b, n, 0), objectsChart(b, n, layers)
			tools := []tool{
				helmLifecycle(report.Stock, stock(b, c), lifecycle{plain, n / 100, nil}),
				helmLifecycle(report.Helm4, helm4(b, c), lifecycle{plain, n / 100, nil}),
				helmLifecycle(report.Ours, ours(b, c), lifecycle{plain, n / 100, nil}),
				helmLifecycle(report.Ordered, ours(b, c), lifecycle{layered, n / 100, []string{"--wait=ordered"}}),
			}
			if p, found := optionalTool(b, c, kappEnv); found {
				tools = append(tools, kappLifecycle(b, p, plain, n/100))
			}
			if p, found := optionalTool(b, c, nelmEnv); found {
				tools = append(tools, nelmLifecycle(p, plain, n/100))
			}
			w := workload{
				name: report.ObjectsName(n), title: report.Thousands(n) + " small objects",
				about: "ConfigMaps with one short key each. *ours, ordered* deploys them in five layers with `--wait=ordered`, the other tools " +
					"without an order. kapp gets a rendered manifest, and does not store it.",
				base: []string{report.Stock}, tools: tools,
			}
			if n > 1000 {
				w.rounds, w.cold = 1, true // a round takes many minutes
			}
			measure(b, c, w)
		})
	}
}

// lifecycle contains the parameters of helmLifecycle.
type lifecycle struct {
	chart   string
	changed int
	flags   []string
}

func helmLifecycle(name string, p program, l lifecycle) tool {
	does := func(step string, args ...string) step {
		return p.does(step, append(args, l.flags...)...)
	}
	return tool{name, []step{
		does(report.Install, "install", "rel", l.chart),
		does(report.Noop, "upgrade", "rel", l.chart),
		does(report.Changed, "upgrade", "rel", l.chart, "--set", fmt.Sprint("changed=", l.changed)),
		p.does(report.Uninstall, "uninstall", "rel"), // the record contains the order
	}, p.agent}
}

// without returns the tool without one of its steps.
func (c tool) without(name string) tool {
	c.steps = slices.DeleteFunc(c.steps, func(s step) bool { return s.name == name })
	return c
}

// kappLifecycle deploys the output of stock Helm for the chart with kapp.
func kappLifecycle(b *testing.B, p program, chart string, changed int) tool {
	b.Helper()
	first, second := rendered(b, chart), rendered(b, chart, "--set", fmt.Sprint("changed=", changed))
	return tool{report.Kapp, []step{
		p.does(report.Install, "deploy", "-y", "-a", "rel", "-f", first),
		p.does(report.Noop, "deploy", "-y", "-a", "rel", "-f", first),
		p.does(report.Changed, "deploy", "-y", "-a", "rel", "-f", second),
		p.does(report.Uninstall, "delete", "-y", "-a", "rel"),
	}, p.agent}
}

func nelmLifecycle(p program, chart string, changed int) tool {
	return tool{report.Nelm, []step{
		p.does(report.Install, "release", "install", "-r", "rel", chart),
		p.does(report.Noop, "release", "install", "-r", "rel", chart),
		p.does(report.Changed, "release", "install", "-r", "rel", chart, "--set", fmt.Sprint("changed=", changed)),
		p.does(report.Uninstall, "release", "uninstall", "-r", "rel"),
	}, p.agent}
}

// rendered returns the path of a file with the chart as stock Helm renders it.
func rendered(b *testing.B, chart string, flags ...string) string {
	b.Helper()
	took, err := stock(b, nil).run(b.Context(), append([]string{"template", "rel", chart}, flags...)...)
	if err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(b.TempDir(), "all.yaml")
	if err := os.WriteFile(file, took.Output, 0o600); err != nil {
		b.Fatal(err)
	}
	return file
}
