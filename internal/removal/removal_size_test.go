// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package removal

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/ordered-helm/helm/internal/dag"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// widePlans returns plans with a number of nodes. Half of them are in a chart that must be
// ready as a whole before the chart with the other half, so that as many pairs of nodes as
// possible are ordered. In the second plan some objects are in other nodes, and the third
// plan contradicts both.
func widePlans(tb testing.TB, nodes int) []*sequencer.Plan {
	tb.Helper()
	var plans []*sequencer.Plan
	for i, first := range []string{"a", "a", "b"} {
		then := map[string]string{"a": "b", "b": "a"}[first]
		in := sequencer.Input{Namespace: "big", Root: &sequencer.Chart{
			Name: "umbrella", Sequenced: true,
			Subcharts:    []*sequencer.Chart{{Name: "a", Sequenced: true}, {Name: "b", Sequenced: true}},
			Dependencies: []sequencer.Dependency{{Name: first}, {Name: then, DependsOn: []string{first}}},
		}}
		for n := range nodes {
			chart, layer := "a", n
			if n%2 == 1 {
				chart = "b"
			}
			if i == 1 && n%10 < 4 {
				layer = (n + 2) % nodes
			}
			in.Resources = append(in.Resources, sequencer.Resource{Chart: "umbrella/" + chart, Object: map[string]any{
				"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{
					"name": fmt.Sprint(n), "annotations": map[string]any{"helm.sh/layer": fmt.Sprint("l", layer)},
				},
			}})
		}
		p, err := sequencer.Build(in)
		if err != nil {
			tb.Fatal(err)
		}
		plans = append(plans, p)
	}
	return plans
}

func all(r *sequencer.PlannedResource) (sequencer.ID, bool) { return r.ID, true }

// size returns the number of vertices and edges of a graph.
func size(g *dag.Graph) (vertices, edges int) {
	for v := range g.Len() {
		edges += len(g.Dependencies(v))
	}
	return g.Len(), edges
}

// TestRemovalGrowsWithThePlans checks that the size of the graph is proportional to the
// size of the plans, not to the number of ordered pairs of nodes.
func TestRemovalGrowsWithThePlans(t *testing.T) {
	for _, nodes := range []int{100, 10000} {
		plans := widePlans(t, nodes)
		bound := 0
		for _, p := range plans {
			vertices, edges := size(sequencer.Graph(p))
			bound += 5*vertices + edges
		}
		r := OrderOf(plans, all)
		if vertices, edges := size(r.graph); vertices+edges > bound {
			t.Errorf("%d nodes: %d vertices and %d edges, want no more than %d together", nodes, vertices, edges, bound)
		}
		var removed atomic.Int64
		err := r.Execute(t.Context(), func(_ context.Context, g, _ *Group) error {
			removed.Add(int64(len(g.Resources)))
			return nil
		})
		if err != nil || removed.Load() != int64(nodes) {
			t.Errorf("removed %d of %d, %v", removed.Load(), nodes, err)
		}
	}
}

// BenchmarkRemoval plans and executes the removal of three plans. The time per node should
// be the same for all sizes.
func BenchmarkRemoval(b *testing.B) {
	for _, nodes := range []int{1000, 10000, 100000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			plans := widePlans(b, nodes)
			b.ReportAllocs()
			for b.Loop() {
				r := OrderOf(plans, all)
				if err := r.Execute(b.Context(), func(context.Context, *Group, *Group) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(nodes), "ns/node")
		})
	}
}
