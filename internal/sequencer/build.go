// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/ordered-helm/helm/internal/dag"
)

// Build computes the plan of a release. It reports all errors in the declarations together.
// Each error names the file, resource, key and value (docs/reference.md, "The graph").
//
// A reference that the order makes impossible to satisfy is not an error here, because only
// the cluster can tell whether the object exists already. Build returns such references in
// Plan.Unmet.
func Build(in Input) (*Plan, error) {
	b := newBuilder(in)
	if err := errors.Join(b.readResources(in), b.resolveSubcharts()); err != nil {
		return nil, err
	}
	b.makeNodes()
	b.connect()
	if cycle := b.graph.Cycle(); cycle != nil {
		return nil, b.cycleError(cycle)
	}
	return b.buildPlan(), nil
}

// newBuilder returns a builder that contains the charts of in. The caller reads the
// resources.
func newBuilder(in Input) *builder {
	b := &builder{namespace: in.Namespace, byPath: map[string]int{}}
	b.addChart(in.Root, -1)
	return b
}

// buildPlan converts the graph, which must be acyclic, to a plan, and adds the unmet needs
// and the warnings to it.
func (b *builder) buildPlan() *Plan {
	plan := b.newPlan()
	b.findUnmetNeeds(plan)
	b.warnExpressions()
	b.warnNotSequenced()
	plan.Warnings = append(plan.Warnings, b.warnings...)
	return plan
}

// builder collects what Build needs to compute a plan. It identifies charts, resources and
// nodes by their index in the slices below.
type builder struct {
	namespace string
	charts    []*chartEntry
	byPath    map[string]int
	resources []resource
	byID      map[ID]int
	nodes     []*nodeEntry
	nodeOf    []int // per resource, the index of its node
	graph     *dag.Graph
	reasons   map[[2]int]reason
	// declarations are all declared dependencies between nodes or charts, for Plan.Edges.
	declarations []declaration
	// dependencies counts the declared dependencies. unknownSubcharts counts the names of
	// subcharts that do not exist.
	dependencies     dependencyCounter
	unknownSubcharts int
	warnings         []Warning
	// definitions maps a group and kind to the CustomResourceDefinition of the release that
	// defines it.
	definitions map[[2]string]ID
}

// chartEntry is a chart with its place in the tree of charts and in the graph.
type chartEntry struct {
	*Chart
	path, file string
	parent     int
	subcharts  []int
	// after are the siblings that must be ready before the chart, and ownAfter the
	// subcharts that must be ready before its own resources. Both are indexes in
	// builder.charts.
	after, ownAfter []int
	layers          map[string]int // the node of each layer
	nodes           []int          // all nodes of the chart, its unlayered resources last
	// These vertices are gates: vertices without resources that stand for the beginning or
	// end of a chart. beforeAll comes before the chart and its subcharts, beforeOwn before
	// the chart's own resources, and afterAll after the chart and its subcharts.
	beforeAll, beforeOwn, afterAll int
}

// nodeEntry is a node while the plan is built. vertex is its vertex in the graph.
type nodeEntry struct {
	chart       int
	layer       string
	unsequenced bool
	resources   []int
	vertex      int
}

// reason says where an edge of the graph is declared, for the message about a cycle.
type reason struct{ from, to, file, key string }

// addChart adds the chart c and, sorted by name, its subcharts. parent is the index of its
// parent, or -1 for the root chart.
func (b *builder) addChart(c *Chart, parent int) {
	entry := &chartEntry{Chart: c, path: c.Name, file: c.Name, parent: parent, layers: map[string]int{}}
	if parent >= 0 {
		entry.path = b.charts[parent].path + "/" + c.Name
		entry.file = b.charts[parent].file + "/charts/" + c.Name
	}
	index := len(b.charts)
	if _, taken := b.byPath[entry.path]; taken {
		return // two versions of one subchart, whose templates Helm also merges
	}
	b.charts = append(b.charts, entry)
	b.byPath[entry.path] = index
	if parent >= 0 {
		b.charts[parent].subcharts = append(b.charts[parent].subcharts, index)
	}
	subcharts := slices.Clone(c.Subcharts)
	slices.SortStableFunc(subcharts, func(x, y *Chart) int { return cmp.Compare(x.Name, y.Name) })
	for _, sub := range subcharts {
		b.addChart(sub, index)
	}
}

// makeNodes assigns each resource to a node: that of its layer, a node of its own if it has
// no layer but depends on layers, or otherwise the node of the chart's unlayered resources.
func (b *builder) makeNodes() {
	b.nodeOf = make([]int, len(b.resources))
	unsequenced := map[int]int{}
	for i := range b.resources {
		r := &b.resources[i]
		c := b.charts[r.chart]
		switch {
		case r.order.Layer != "":
			addToNode(b, i, c.layers, r.order.Layer, nodeEntry{chart: r.chart, layer: r.order.Layer})
		case len(r.order.DependsOn) > 0:
			b.nodeOf[i] = b.addNode(nodeEntry{chart: r.chart})
			b.nodes[b.nodeOf[i]].resources = []int{i}
		default:
			addToNode(b, i, unsequenced, r.chart, nodeEntry{chart: r.chart, unsequenced: true})
		}
	}
	slices.SortFunc(b.nodes, b.compareNodes)
	for v, n := range b.nodes {
		n.vertex = v
		c := b.charts[n.chart]
		c.nodes = append(c.nodes, v)
		if n.layer != "" {
			c.layers[n.layer] = v
		}
		for _, r := range n.resources {
			b.nodeOf[r] = v
		}
	}
}

func (b *builder) addNode(n nodeEntry) int {
	b.nodes = append(b.nodes, &n)
	return len(b.nodes) - 1
}

// addToNode adds a resource to the node that nodes has for key. If there is none, it
// creates the node from fresh.
func addToNode[K comparable](b *builder, resource int, nodes map[K]int, key K, fresh nodeEntry) {
	v, exists := nodes[key]
	if !exists {
		v = b.addNode(fresh)
		nodes[key] = v
	}
	b.nodes[v].resources = append(b.nodes[v].resources, resource)
}

// compareNodes sorts nodes by chart. Within a chart, layers come first, sorted by name.
// Then come nodes of a single resource, and last the unlayered resources.
func (b *builder) compareNodes(x, y *nodeEntry) int {
	order := func(n *nodeEntry) int {
		switch {
		case n.unsequenced:
			return 2
		case n.layer == "":
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(b.charts[x.chart].path, b.charts[y.chart].path),
		cmp.Compare(order(x), order(y)),
		cmp.Compare(x.layer, y.layer),
		cmp.Compare(x.resources[0], y.resources[0]),
	)
}

// newPlan converts the graph to a plan. It computes the levels, sorts the nodes by level
// and renumbers everything accordingly. In the plan's graph, the nodes come first and the
// gates last.
func (b *builder) newPlan() *Plan {
	n := len(b.nodes)
	levels := b.graph.Depths(n)
	dependents := b.graph.Reverse().Depths(n)
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int { return cmp.Compare(levels[x], levels[y]) })
	p := &Plan{graph: dag.New(b.graph.Len())}
	renumbered := make([]int, b.graph.Len())
	for v := range renumbered {
		renumbered[v] = v
	}
	for to, from := range order {
		renumbered[from] = to
		node := b.planNode(b.nodes[from])
		node.Level, node.Awaited = levels[from], dependents[from] > 0
		p.Nodes = append(p.Nodes, node)
	}
	for v := range renumbered {
		for _, w := range b.graph.Dependencies(v) {
			p.graph.AddEdge(renumbered[v], renumbered[w])
		}
	}
	p.graph.Normalize()
	for i, r := range b.nodeOf {
		b.nodeOf[i] = renumbered[r]
	}
	makeIDsUnique(p.Nodes)
	p.declarations = b.declarations
	for i := range p.declarations {
		p.declarations[i].renumber(renumbered)
	}
	for _, c := range b.charts {
		p.Charts = append(p.Charts, &PlannedChart{Path: c.path, After: b.paths(c.after), OwnAfter: b.paths(c.ownAfter)})
	}
	return p
}

// makeIDsUnique adds a suffix to the ID of a node if an earlier node has the same ID. This
// happens if two resources have the same kind and name, but different namespaces.
func makeIDsUnique(nodes []*Node) {
	seen := make(map[string]int, len(nodes))
	for _, n := range nodes {
		id := n.ID()
		if seen[id]++; seen[id] > 1 {
			n.suffix = fmt.Sprintf("#%d", seen[id])
		}
	}
}

func (b *builder) planNode(n *nodeEntry) *Node {
	node := &Node{Chart: b.charts[n.chart].path, Layer: n.layer, Unsequenced: n.unsequenced}
	for _, i := range n.resources {
		r := &b.resources[i]
		node.Resources = append(node.Resources, &r.PlannedResource)
		for _, layer := range r.order.DependsOn {
			if _, exists := b.charts[n.chart].layers[layer]; exists {
				node.DependsOn = append(node.DependsOn, layer)
			}
		}
	}
	slices.Sort(node.DependsOn)
	node.DependsOn = slices.Compact(node.DependsOn)
	return node
}

// paths returns the sorted paths of charts that are given by index.
func (b *builder) paths(charts []int) []string {
	var paths []string
	for _, c := range charts {
		paths = append(paths, b.charts[c].path)
	}
	slices.Sort(paths)
	return paths
}
