// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import "slices"

// Part returns a plan for some of the resources of p: those for which keep returns true. It
// has only the nodes that contain any of them. A node waits for the same nodes as in p,
// even if it depends on them only through nodes that the result does not have. The nodes have
// the order and the levels that they have in p. Steps, warnings, unmet needs and declarations are
// omitted.
func (p *Plan) Part(keep func(*PlannedResource) bool) *Plan {
	part, _ := p.part(keep, nil)
	return part
}

// part is like Part, but the result has the given steps of p. It also returns the nodes of the result by those
// of p.
func (p *Plan) part(keep func(*PlannedResource) bool, steps []*Step) (*Plan, map[*Node]*Node) {
	part := &Plan{Operation: p.Operation, Charts: p.Charts}
	kept := map[*Node]*Node{}
	var others []int // the vertices that are no longer those of nodes
	numbers := make([]int, p.graph.Len())
	for i, n := range p.Nodes {
		resources := slices.DeleteFunc(slices.Clone(n.Resources), func(r *PlannedResource) bool { return !keep(r) })
		if len(resources) == 0 {
			others = append(others, i)
			continue
		}
		copied := *n
		copied.Resources, copied.index = resources, len(part.Nodes)
		numbers[i], kept[n] = copied.index, &copied
		part.Nodes = append(part.Nodes, &copied)
	}
	isStep := map[int]bool{}
	for _, s := range steps {
		copied := *s
		copied.vertex, copied.Node = len(part.Nodes)+len(part.Steps), kept[s.Node]
		numbers[s.vertex], isStep[s.vertex] = copied.vertex, true
		part.Steps = append(part.Steps, &copied)
	}
	for v := len(p.Nodes); v < len(numbers); v++ {
		if !isStep[v] {
			others = append(others, v)
		}
	}
	for i, v := range others {
		numbers[v] = len(part.Nodes) + len(part.Steps) + i
	}
	part.graph = p.graph.Renumbered(numbers)
	part.setDependencies()
	return part, kept
}

// setDependencies sets Awaited, AwaitedByStep and DependsOn of the nodes according to the graph.
func (p *Plan) setDependencies() {
	reverse := p.graph.Reverse()
	dependents, followers := reverse.Depths(len(p.Nodes)), reverse.Depths(len(p.Nodes)+len(p.Steps))
	for i, n := range p.Nodes {
		n.Awaited, n.DependsOn = dependents[i] > 0, nil
		n.AwaitedByStep = !n.Awaited && followers[i] > 0
		for _, first := range p.Dependencies(i) {
			if d := p.Nodes[first]; d.Chart == n.Chart && d.Layer != "" {
				n.DependsOn = append(n.DependsOn, d.Layer)
			}
		}
		slices.Sort(n.DependsOn)
	}
}

// takesPart reports whether a resource is created and changed in the operation.
func (in Input) takesPart(r *PlannedResource) bool {
	return in.IgnoreDeployOn || r.TakesPartIn(in.Operation)
}

// TakesPartIn reports whether the resource is created and changed in an operation; deleted, in an uninstall. It takes
// part in the operation "", which stands for any.
func (r *PlannedResource) TakesPartIn(o Operation) bool {
	return len(r.DeployOn) == 0 || slices.Contains(r.DeployOn, string(o)) || o == "" || o == Uninstall
}

// withoutSkipped returns the plan without the resources that do not take part in the operation, which it lists in
// Plan.Skipped. They count as ready.
func (b *builder) withoutSkipped(p *Plan) *Plan {
	var skipped []*PlannedResource
	for _, n := range p.Nodes {
		for _, r := range n.Resources {
			if !b.input.takesPart(r) {
				skipped = append(skipped, r)
			}
		}
	}
	if len(skipped) == 0 {
		return p
	}
	kept, nodes := p.part(b.input.takesPart, p.Steps)
	kept.Skipped, kept.Warnings = skipped, p.Warnings
	for _, u := range p.Unmet {
		u.FromNode, u.ToNode = nodes[u.FromNode], nodes[u.ToNode]
		if b.input.takesPart(u.From) && b.input.takesPart(u.To) {
			kept.Unmet = append(kept.Unmet, u)
		}
	}
	for _, d := range p.declarations {
		first, isKept := d.first.in(nodes)
		then, isAlsoKept := d.then.in(nodes)
		if isKept && isAlsoKept {
			kept.declarations = append(kept.declarations, edgeDeclaration[EdgeEnd]{first, then, d.reason})
		}
	}
	return kept
}

// in returns the end with the node of another plan, and whether that plan has it.
func (e EdgeEnd) in(nodes map[*Node]*Node) (end EdgeEnd, is bool) {
	if e.Node == nil {
		return e, true
	}
	e.Node = nodes[e.Node]
	return e, e.Node != nil
}

// SkippingOperation returns Plan.Operation if resources do not take part in it, otherwise "".
func (p *Plan) SkippingOperation() Operation {
	if p == nil || len(p.Skipped) == 0 {
		return ""
	}
	return p.Operation
}
