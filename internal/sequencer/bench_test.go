// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/orderfile"
)

// bigInput returns an umbrella chart with subcharts. Each has a hundred resources in five
// layers and without a layer, with the same kinds of references as real workloads.
func bigInput(charts int) Input {
	root := &Chart{Name: "umbrella", Sequenced: true}
	in := Input{Root: root, Namespace: "big"}
	for c := range charts {
		name := fmt.Sprintf("sub%04d", c)
		root.Subcharts = append(root.Subcharts, &Chart{Name: name, Sequenced: true})
		d := Dependency{Name: name}
		if c > 0 {
			d.DependsOn = []string{fmt.Sprintf("sub%04d", (c-1)/2)}
		}
		root.Dependencies = append(root.Dependencies, d)
		for i := range 100 {
			in.Resources = append(in.Resources, bigResource(name, i))
		}
	}
	return in
}

func bigResource(chart string, i int) Resource {
	name := fmt.Sprintf("%s-%d", chart, i)
	annotations := map[string]any{"app.kubernetes.io/part-of": "umbrella"}
	if layer := i % 6; layer < 5 {
		annotations["helm.sh/layer"] = fmt.Sprintf("layer%d", layer)
		if layer > 0 {
			annotations["depends-on.helm.sh/layers"] = fmt.Sprintf(`["layer%d"]`, layer-1)
		}
	}
	object := map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{"name": name, "annotations": annotations},
	}
	if i >= 60 {
		object["apiVersion"], object["kind"] = "apps/v1", "Deployment"
		object["spec"] = map[string]any{"template": map[string]any{"spec": map[string]any{
			"serviceAccountName": chart,
			"containers": []any{map[string]any{"name": "main", "envFrom": []any{
				map[string]any{"configMapRef": map[string]any{"name": fmt.Sprintf("%s-%d", chart, i-60)}},
			}}},
			"volumes": []any{map[string]any{"name": "v", "configMap": map[string]any{"name": fmt.Sprintf("%s-%d", chart, i-54)}}},
		}}}
	}
	return Resource{Chart: "umbrella/" + chart, File: "umbrella/charts/" + chart + "/templates/all.yaml", Object: object}
}

// BenchmarkBuild plans fewer resources than BenchmarkBuild100k. The time per resource
// should be the same.
func BenchmarkBuild(b *testing.B) {
	for _, charts := range []int{10, 100} {
		b.Run(fmt.Sprintf("%dk", charts/10), func(b *testing.B) { benchmarkBuild(b, charts) })
	}
}

// BenchmarkBuild100k plans 100,000 resources in 1,000 charts. It should take less than a
// second.
func BenchmarkBuild100k(b *testing.B) { benchmarkBuild(b, 1000) }

func benchmarkBuild(b *testing.B, charts int) {
	in := bigInput(charts)
	b.ReportAllocs()
	for b.Loop() {
		plan, err := Build(in)
		if err != nil {
			b.Fatal(err)
		}
		if len(plan.Unmet) > 0 || len(plan.Nodes) != 6*charts {
			b.Fatalf("%d nodes, %d unmet needs", len(plan.Nodes), len(plan.Unmet))
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(in.Resources)), "ns/resource")
}

// BenchmarkOrderFile plans 10,000 resources in 100 charts with an order file of 1,000 rules that match names. It should
// take less than a second.
func BenchmarkOrderFile(b *testing.B) {
	const charts, rules = 100, 1000
	in := bigInput(charts)
	var text strings.Builder
	text.WriteString("apiVersion: helm.sh/v1alpha1\nkind: Order\nresources:\n")
	for i := range rules {
		fmt.Fprintf(&text, "- match: {chart: sub%04d, kind: ConfigMap, name: \"*-%d\"}\n  external: [Secret/s%d]\n", i%charts, i/charts*6, i)
	}
	f, err := orderfile.Parse("order.yaml", "umbrella", []byte(text.String()))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		in.OrderFiles = orderfile.NewSet([]*orderfile.File{f})
		plan, err := Build(in)
		if err != nil {
			b.Fatal(err)
		}
		if len(plan.Steps) == 0 || len(plan.Warnings) > 0 {
			b.Fatalf("%d waits for external dependencies, warnings: %v", len(plan.Steps), plan.Warnings)
		}
	}
}
