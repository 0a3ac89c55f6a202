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

// objectsTemplate renders ConfigMaps with one short key. The first of them are changed.
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

// objectsChart writes a chart of n ConfigMaps, in layers if layers is not 0.
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

// BenchmarkObjects runs all operations of a release with small objects.
func BenchmarkObjects(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			const layers = 5
			c := cluster.Shared(b)
			plain, layered := objectsChart(b, n, 0), objectsChart(b, n, layers)
			contestants := []contestant{
				helmLife(report.Stock, stock(b, c), life{plain, n / 100, nil}),
				helmLife(report.Ours, ours(b, c), life{plain, n / 100, nil}),
				helmLife(report.Ordered, ours(b, c), life{layered, n / 100, []string{"--wait=ordered"}}),
			}
			if p, takesPart := peer(b, c, kappEnv); takesPart {
				contestants = append(contestants, kappLife(b, p, plain, n/100))
			}
			if p, takesPart := peer(b, c, nelmEnv); takesPart {
				contestants = append(contestants, nelmLife(p, plain, n/100))
			}
			w := workload{
				name: report.ObjectsName(n), title: report.Thousands(n) + " small objects",
				about: "ConfigMaps with one short key each. *ours, ordered* deploys them in five layers with `--wait=ordered`, the other tools " +
					"without an order. kapp gets a rendered manifest, and does not store it.",
				base: []string{report.Stock}, contestants: contestants,
			}
			if n > 1000 {
				w.rounds, w.cold = 1, true // a round takes many minutes
			}
			measure(b, c, w)
		})
	}
}

// life returns the steps of a Helm program with a chart of objects.
type life struct {
	chart   string
	changed int
	flags   []string
}

func helmLife(name string, p program, l life) contestant {
	does := func(step string, args ...string) step {
		return p.does(step, append(args, l.flags...)...)
	}
	return contestant{name, []step{
		does(report.Install, "install", "rel", l.chart),
		does(report.Noop, "upgrade", "rel", l.chart),
		does(report.Changed, "upgrade", "rel", l.chart, "--set", fmt.Sprint("changed=", l.changed)),
		p.does(report.Uninstall, "uninstall", "rel"), // the record contains the order
	}, p.agent}
}

// without removes a step.
func (c contestant) without(name string) contestant {
	c.steps = slices.DeleteFunc(c.steps, func(s step) bool { return s.name == name })
	return c
}

// kappLife deploys the output of stock Helm for the chart with kapp.
func kappLife(b *testing.B, p program, chart string, changed int) contestant {
	b.Helper()
	first, second := rendered(b, chart), rendered(b, chart, "--set", fmt.Sprint("changed=", changed))
	return contestant{report.Kapp, []step{
		p.does(report.Install, "deploy", "-y", "-a", "rel", "-f", first),
		p.does(report.Noop, "deploy", "-y", "-a", "rel", "-f", first),
		p.does(report.Changed, "deploy", "-y", "-a", "rel", "-f", second),
		p.does(report.Uninstall, "delete", "-y", "-a", "rel"),
	}, p.agent}
}

func nelmLife(p program, chart string, changed int) contestant {
	return contestant{report.Nelm, []step{
		p.does(report.Install, "release", "install", "-r", "rel", chart),
		p.does(report.Noop, "release", "install", "-r", "rel", chart),
		p.does(report.Changed, "release", "install", "-r", "rel", chart, "--set", fmt.Sprint("changed=", changed)),
		p.does(report.Uninstall, "release", "uninstall", "-r", "rel"),
	}, p.agent}
}

// rendered returns a file with the rendered chart.
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
