// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/dag"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/chartgen"
	"github.com/ordered-helm/helm/internal/testutil/plans"
)

// edgesOf returns the edges, one per line.
func edgesOf(p *sequencer.Plan) string {
	var b strings.Builder
	for _, e := range p.Edges() {
		fmt.Fprintf(&b, "%s < %s", e.First.ID(), e.Then.ID())
		if e.Implied {
			b.WriteString(" (implied)")
		}
		for _, r := range e.Reasons {
			if r.Implicit {
				b.WriteString(" | implicit")
			} else {
				fmt.Fprintf(&b, " | %s %s %s=%s", r.File, r.Resource, r.Key, r.Value)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestEdges(t *testing.T) {
	named := plans.V3("shop", plans.V3("a"), plans.V3("b"))
	named.DependsOnKey = "depends-on.helm.sh/subcharts"
	const layers = "depends-on.helm.sh/layers"
	tests := []struct {
		name string
		root *sequencer.Chart
		list []sequencer.Resource
		want string
	}{
		{"none", plans.V3("shop"), plans.Resources("shop Job/a", "shop Job/b"), ""},
		{"no order", plans.V2("shop"), plans.Resources("shop Job/a layer=x", "shop Job/b after=x"), ""},
		{
			"every reason", plans.V3("shop"), plans.Resources("shop Job/a layer=x", "shop Job/b layer=y after=x", "shop Job/c layer=y after=x", "shop Job/d after=y"),
			"shop:x < shop:y | shop/templates/b.yaml Job/b " + layers + "=x | shop/templates/c.yaml Job/c " + layers + "=x\n" +
				"shop:y < shop:(Job/d) | shop/templates/d.yaml Job/d " + layers + "=y\n",
		},
		{
			"implied", plans.V3("shop"), plans.Resources("shop Job/a layer=x", "shop Job/b layer=y after=x", "shop Job/c layer=z after=x,y"),
			"shop:x < shop:y | shop/templates/b.yaml Job/b " + layers + "=x\n" +
				"shop:x < shop:z (implied) | shop/templates/c.yaml Job/c " + layers + "=x\n" +
				"shop:y < shop:z | shop/templates/c.yaml Job/c " + layers + "=y\n",
		},
		{
			"implicit, where nothing implies it", plans.V3("shop"), plans.Resources("shop Job/a layer=x", "shop Job/b layer=y after=x", "shop Job/c"),
			"shop:x < shop:y | shop/templates/b.yaml Job/b " + layers + "=x\nshop:y < shop | implicit\n",
		},
		{"layer that is not there", plans.V3("shop"), plans.Resources("shop Job/a layer=x after=gone"), ""},
		{
			"charts as wholes", plans.OwnAfter(plans.WithDependencies(plans.V3("shop", plans.V3("a"), plans.V3("b"), plans.V3("c")), plans.Tagged(plans.Dependency("a"), "t"), plans.Tagged(plans.Dependency("b", "a"), "t"), plans.Dependency("c", "t")), "a", "c"),
			plans.Resources("shop Job/x", "shop/a Job/y", "shop/b Job/z", "shop/c Job/u"),
			"all of shop/a < own of shop (implied) | shop/Chart.yaml  helm.sh/depends-on/subcharts=a\n" +
				"all of shop/c < own of shop | shop/Chart.yaml  helm.sh/depends-on/subcharts=c\n" +
				"all of shop/a < all of shop/b | shop/Chart.yaml  depends-on of dependency b=a\n" +
				"all of shop/a < all of shop/c (implied) | shop/Chart.yaml  depends-on of dependency c=t\n" +
				"all of shop/b < all of shop/c | shop/Chart.yaml  depends-on of dependency c=t\n",
		},
		{
			"key as it is written", plans.OwnAfter(named, "b"), plans.Resources("shop Job/x", "shop/b Job/y"),
			"all of shop/b < own of shop | shop/Chart.yaml  depends-on.helm.sh/subcharts=b\n",
		},
		{
			"subchart's file", plans.V3("shop", plans.WithDependencies(plans.V3("a", plans.V3("b"), plans.V3("c")), plans.Dependency("c as d"), plans.Dependency("b", "c"))), nil,
			"all of shop/a/c < all of shop/a/b | shop/charts/a/Chart.yaml  depends-on of dependency b=c\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := sequencer.Build(sequencer.Input{Root: tt.root, Resources: tt.list, Namespace: "default"})
			if err != nil {
				t.Fatal(err)
			}
			if got := edgesOf(p); got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
	if e := sequencer.SingleNode("shop").Edges(); len(e) > 0 {
		t.Errorf("the whole has edges: %v", e)
	}
}

// edgeGraph builds a graph of the nodes of a plan only from edges. It has a gate before and
// after the content of each chart. The gates of a chart without content are connected
// directly.
func edgeGraph(p *sequencer.Plan, edges []sequencer.Edge) *dag.Graph {
	g := dag.New(len(p.Nodes))
	begin, end := map[string]int{}, map[string]int{} // by chart, and by chart for its own nodes
	for _, c := range p.Charts {
		for _, own := range []bool{false, true} {
			id := sequencer.EdgeEnd{Chart: c.Path, Own: own}.ID()
			begin[id], end[id] = g.AddVertex(), g.AddVertex()
			if !own {
				g.AddEdge(end[id], begin[id])
			}
		}
	}
	for i, n := range p.Nodes {
		begin[n.ID()], end[n.ID()] = i, i
		for _, c := range p.Charts {
			whole := c.Path == n.Chart || strings.HasPrefix(n.Chart, c.Path+"/")
			for _, own := range []bool{false, true} {
				if id := (sequencer.EdgeEnd{Chart: c.Path, Own: own}).ID(); whole && !own || c.Path == n.Chart {
					g.AddEdge(i, begin[id])
					g.AddEdge(end[id], i)
				}
			}
		}
	}
	for _, e := range edges {
		g.AddEdge(begin[e.Then.ID()], end[e.First.ID()])
	}
	return g
}

// TestEdgesAreTheOrder checks, for random charts, that the edges that are not implied
// result in the same order as the plan. It also checks that removing any of these edges
// changes the order.
func TestEdgesAreTheOrder(t *testing.T) {
	total, implied := 0, 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		p, err := sequencer.Build(chartgen.Random(r).Input())
		if err != nil {
			t.Fatal(err)
		}
		want := dag.New(len(p.Nodes))
		for i := range p.Nodes {
			for _, j := range p.Dependencies(i) {
				want.AddEdge(i, j)
			}
		}
		var edges []sequencer.Edge
		for _, e := range p.Edges() {
			if total++; e.Implied {
				implied++
				continue
			}
			edges = append(edges, e)
		}
		got := edgeGraph(p, edges)
		for i := range p.Nodes {
			if !slices.Equal(got.Reachable(i)[:len(p.Nodes)], want.Reachable(i)) {
				t.Fatalf("seed %d: %s comes after other nodes than in the plan:\n%s", seed, p.Nodes[i].ID(), edgesOf(p))
			}
		}
	}
	if total < 500 || implied < 50 {
		t.Errorf("only %d edges, %d of them implied: the charts declare too little to tell", total, implied)
	}
}

// TestEdgesOfALargeChart checks that there are not more edges than declarations.
func TestEdgesOfALargeChart(t *testing.T) {
	const n = 2000
	sub := plans.V3("sub")
	var list []sequencer.Resource
	for i := range n {
		list = append(list, plans.Resource(fmt.Sprintf("shop/sub Job/s%d layer=l%d", i, i)), plans.Resource(fmt.Sprintf("shop Job/o%d layer=l%d", i, i)))
	}
	p, err := sequencer.Build(sequencer.Input{Root: plans.OwnAfter(plans.V3("shop", sub), "sub"), Resources: append(list, plans.Resource("shop Job/rest")), Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	if got := len(p.Edges()); got != n+1 {
		t.Errorf("%d edges, want %d", got, n+1)
	}
}
