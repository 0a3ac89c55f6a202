// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/chartorder"
	"github.com/ordered-helm/helm/internal/dag"
	"github.com/ordered-helm/helm/internal/objectid"
	"github.com/ordered-helm/helm/internal/resourceorder"
)

// Build computes the plan of a release: the graph in which its resources are deployed. If
// declarations are invalid, it returns one error for all of them, with the file, resource,
// key and value of each (docs/reference.md, "The graph").
//
// A reference that the order cannot satisfy is not an error, because the object may
// already exist in the cluster. Build returns such references in Plan.Unmet.
func Build(in Input) (*Plan, error) {
	b := newBuilder(in)
	if err := errors.Join(b.readResources(in), b.tree.Resolve(&b.dependencies), b.readExternal()); err != nil {
		return nil, err
	}
	b.makeNodes()
	b.makeSteps()
	b.connect()
	if cycle := b.graph.Cycle(); cycle != nil {
		declared := b.declaredEdges()
		return nil, cycleError(cycleEdges(cycle, declared), declared)
	}
	return b.buildPlan(), nil
}

// newBuilder returns a builder with the charts of in. readResources adds the resources.
func newBuilder(in Input) *builder {
	tree := chartorder.NewTree(in.Root, in.OrderFiles)
	b := &builder{input: in, tree: tree, reader: resourceorder.Reader{Rules: tree.Rules, WrittenKeys: in.WrittenKeys}, byPath: map[string]*draftChart{}}
	for _, c := range b.tree.Charts {
		draft := &draftChart{TreeChart: c, ignored: c.Ignored, layers: map[string]*draftNode{}}
		if c.Parent >= 0 {
			draft.parent = b.charts[c.Parent]
		}
		b.charts = append(b.charts, draft)
		b.byPath[c.Path] = draft
	}
	return b
}

// buildPlan converts b.graph, which must be acyclic, to a plan. It adds the unsatisfied
// references and the warnings.
func (b *builder) buildPlan() *Plan {
	b.connectExternalSteps()
	plan := b.newPlan()
	b.warnUnmatchedRules()
	c := orderChecker{builder: b, plan: plan, order: plan.graph.Reachability()}
	c.findUnmetNeeds()
	c.warnLateBindings()
	b.warnExpressions()
	b.warnIgnoredDeclarations()
	plan.Warnings = b.warnings
	return b.withoutSkipped(plan)
}

// builder holds the intermediate results of Build.
type builder struct {
	input     Input
	tree      *chartorder.Tree
	charts    []*draftChart // in the order of tree.Charts
	byPath    map[string]*draftChart
	reader    resourceorder.Reader
	resources []*draftResource
	byID      map[ID]*draftResource
	byName    map[[2]string][]*draftResource // by kind and name
	nodes     []*draftNode
	steps     []*Step
	graph     *dag.Graph
	// declarations lists all declared dependencies, for Plan.Edges.
	declarations []edgeDeclaration[draftEnd]
	dependencies chartorder.DependencyCounter
	warnings     []Warning
	// crds maps each custom kind that the release defines to its CustomResourceDefinition.
	crds map[objectid.GroupKind]ID
}

// draftChart is a chart while Build computes the plan, with its vertices in the graph.
type draftChart struct {
	*chartorder.TreeChart
	parent  *draftChart
	ignored bool // the chart or its resources declare an order that is ignored (see Chart.Sequenced)
	layers  map[string]*draftNode
	nodes   []*draftNode // sorted by compareNodes
	// preHooks and postHooks are the steps that run the hooks whose scope is this chart; nil if there are none.
	preHooks, postHooks *Step
	// external lists the external dependencies of the chart, and externalSteps the steps that wait for them.
	external      []externalDeclaration
	externalSteps []*Step
	// Gates are vertices without resources that stand for the beginning or end of a chart:
	// beforeAll comes before the chart and its subcharts, beforeOwn before the chart's own
	// resources, and afterAll after the chart and its subcharts.
	beforeAll, beforeOwn, afterAll int
}

// draftNode is a node of the deployment graph while Build computes the plan.
type draftNode struct {
	chart     *draftChart
	layer     string
	unlayered bool // it consists of the unlayered resources of the chart
	resources []*draftResource
	vertex    int   // its number in builder.graph
	planned   *Node // the same node in the plan; set by newPlan
	// externalSteps are the steps that wait for the external dependencies of the node.
	externalSteps []*Step
}

// makeNodes assigns each resource to a node: to the node of its layer, to a node of its
// own if it has no layer but depends on layers, or otherwise to the node of its chart's
// unlayered resources.
func (b *builder) makeNodes() {
	type key struct {
		chart *draftChart
		layer string
		alone *draftResource
	}
	nodes := map[key]*draftNode{}
	for _, r := range b.resources {
		k := key{chart: r.chart, layer: r.order.Layer}
		if k.layer == "" && (len(r.order.DependsOn) > 0 || len(r.external) > 0) {
			k.alone = r
		}
		n := nodes[k]
		if n == nil {
			n = &draftNode{chart: r.chart, layer: k.layer, unlayered: k.layer == "" && k.alone == nil}
			nodes[k] = n
			b.nodes = append(b.nodes, n)
		}
		n.resources = append(n.resources, r)
		r.node = n
	}
	slices.SortFunc(b.nodes, compareNodes)
	for v, n := range b.nodes {
		n.vertex = v
		n.chart.nodes = append(n.chart.nodes, n)
		if n.layer != "" {
			n.chart.layers[n.layer] = n
		}
	}
}

// compareNodes orders nodes by chart. Within a chart, the layers come first, by name, then
// the single resources that depend on layers, and last the unlayered resources.
func compareNodes(x, y *draftNode) int {
	rank := func(n *draftNode) int {
		switch {
		case n.unlayered:
			return 2
		case n.layer == "":
			return 1
		}
		return 0
	}
	return cmp.Or(
		strings.Compare(x.chart.Path, y.chart.Path),
		cmp.Compare(rank(x), rank(y)),
		strings.Compare(x.layer, y.layer),
		cmp.Compare(x.resources[0].index, y.resources[0].index),
	)
}

// newPlan converts the graph to a plan. It sorts the nodes by level and renumbers the
// vertices of the graph accordingly: nodes come first, then steps, and last gates (see draftChart).
func (b *builder) newPlan() *Plan {
	reverse := b.graph.Reverse()
	levels, dependents, followers := b.graph.Depths(len(b.nodes)), reverse.Depths(len(b.nodes)), reverse.Depths(len(b.nodes)+len(b.steps))
	sorted := slices.Clone(b.nodes)
	slices.SortStableFunc(sorted, func(x, y *draftNode) int { return cmp.Compare(levels[x.vertex], levels[y.vertex]) })
	numbers := make([]int, b.graph.Len())
	for v := range numbers {
		numbers[v] = v
	}
	p := &Plan{Operation: b.input.Operation, Nodes: make([]*Node, 0, len(sorted)), declarations: make([]edgeDeclaration[EdgeEnd], 0, len(b.declarations))}
	for i, n := range sorted {
		numbers[n.vertex] = i
		n.planned = n.plannedNode()
		n.planned.index, n.planned.Level, n.planned.Awaited = i, levels[n.vertex], dependents[n.vertex] > 0
		n.planned.AwaitedByStep = !n.planned.Awaited && followers[n.vertex] > 0
		p.Nodes = append(p.Nodes, n.planned)
	}
	p.graph, p.Steps = b.graph.Renumbered(numbers), b.steps
	makeIDsUnique(p.Nodes)
	for _, s := range p.Steps {
		if s.waiting != nil {
			s.Node, s.waiting = s.waiting.planned, nil
		}
	}
	for _, d := range b.declarations {
		p.declarations = append(p.declarations, edgeDeclaration[EdgeEnd]{d.first.planned(), d.then.planned(), d.reason})
	}
	for _, c := range b.charts {
		planned := &PlannedChart{Path: c.Path, After: b.sortedPaths(c.After), OwnAfter: b.sortedPaths(c.OwnAfter), Sequenced: c.Sequenced, ReleaseScope: c.ReleaseScope}
		if c.HookScope >= 0 {
			planned.HookScope = b.charts[c.HookScope].Path
		}
		p.Charts = append(p.Charts, planned)
	}
	return p
}

// makeIDsUnique adds a suffix to each ID that an earlier node already has, which happens
// if two resources in different namespaces have the same kind and name.
func makeIDsUnique(nodes []*Node) {
	seen := make(map[string]int, len(nodes))
	for _, n := range nodes {
		id := n.ID()
		if seen[id]++; seen[id] > 1 {
			n.suffix = fmt.Sprintf("#%d", seen[id])
		}
	}
}

// plannedNode converts n to a node of the plan. The caller sets its index and level, and
// Awaited.
func (n *draftNode) plannedNode() *Node {
	node := &Node{Chart: n.chart.Path, Layer: n.layer, Unsequenced: n.unlayered}
	for _, r := range n.resources {
		node.Resources = append(node.Resources, &r.PlannedResource)
		for _, layer := range r.order.DependsOn {
			if n.chart.layers[layer] != nil {
				node.DependsOn = append(node.DependsOn, layer)
			}
		}
	}
	slices.Sort(node.DependsOn)
	node.DependsOn = slices.Compact(node.DependsOn)
	return node
}

// sortedPaths returns the paths of charts, given by their indexes.
func (b *builder) sortedPaths(charts []int) []string {
	var paths []string
	for _, i := range charts {
		paths = append(paths, b.charts[i].Path)
	}
	slices.Sort(paths)
	return paths
}
