// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"cmp"
	"fmt"

	"github.com/ordered-helm/helm/internal/dag"
	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/reference"
)

// findUnmetNeeds adds the references to objects that are deployed only after the
// referring resource is ready.
func (b *builder) findUnmetNeeds(p *Plan) {
	later := newOrderIndex(p)
	for _, n := range b.nodes {
		seen := map[[2]int]bool{}
		for _, i := range n.resources {
			for _, id := range b.references(&b.resources[i]) {
				j, inRelease := b.byID[id]
				if inRelease && i != j && !seen[[2]int{i, j}] {
					seen[[2]int{i, j}] = true
					b.checkNeed(p, later, i, j)
				}
			}
		}
	}
	p.proposeLayers(later)
	b.warnLateBindings(p, later)
}

// proposeLayers finds a layer for each object that layers of its chart need too early: the
// first of these layers in the order.
func (p *Plan) proposeLayers(later *orderIndex) {
	if len(p.Unmet) == 0 {
		return
	}
	index := map[*Node]int{}
	for i, n := range p.Nodes {
		index[n] = i
	}
	first, mixed := map[*PlannedResource]*Node{}, map[*PlannedResource]bool{}
	inOwnChart := func(n UnmetNeed) bool { return n.FromNode.Layer != "" && n.FromNode.Chart == n.ToNode.Chart }
	for _, n := range p.Unmet {
		if before := first[n.To]; inOwnChart(n) && (before == nil || n.FromNode.Level < before.Level) {
			first[n.To] = n.FromNode
		}
	}
	for _, n := range p.Unmet {
		if f := first[n.To]; inOwnChart(n) && n.FromNode != f && !later.comesAfter(index[n.FromNode], index[f]) {
			mixed[n.To] = true
		}
	}
	for i, n := range p.Unmet {
		if inOwnChart(n) && !mixed[n.To] {
			p.Unmet[i].layer = first[n.To].Layer
		}
	}
}

// checkNeed adds an unmet need if the order does not deploy resource j before resource i
// needs it.
func (b *builder) checkNeed(p *Plan, later *orderIndex, i, j int) {
	from, to := b.nodeOf[i], b.nodeOf[j]
	need := UnmetNeed{
		From: &b.resources[i].PlannedResource, To: &b.resources[j].PlannedResource,
		FromNode: p.Nodes[from], ToNode: p.Nodes[to],
	}
	switch {
	case later.comesAfter(to, from):
	case !mustComeFirst(need.To.ID.Kind, from == to) || later.comesAfter(from, to):
		return
	default:
		need.unordered = true
	}
	p.Unmet = append(p.Unmet, need)
}

// mustComeFirst reports whether the API server rejects an object before an object of this
// kind exists. Within a node, namespaces are created first.
func mustComeFirst(kind string, sameNode bool) bool {
	return kind == "CustomResourceDefinition" || kind == "Namespace" && !sameNode
}

// warnLateBindings adds warnings for role bindings that are deployed only after the
// workload that needs them is ready.
func (b *builder) warnLateBindings(p *Plan, later *orderIndex) {
	users := b.serviceAccountUsers(p)
	for i := range b.resources {
		r := &b.resources[i]
		if r.ID.Kind != "RoleBinding" && r.ID.Kind != "ClusterRoleBinding" {
			continue
		}
		for _, user := range b.boundWorkloads(r, users) {
			if later.comesAfter(b.nodeOf[i], b.nodeOf[user]) {
				w := &b.resources[user]
				b.warn(WarningLateBinding, b.charts[r.chart].path, r, "", fmt.Sprintf(
					"%s in %s (%s) is deployed after %s in %s (%s), whose service account it binds: annotate it with the same or an earlier layer",
					r.ID, p.Nodes[b.nodeOf[i]].Title(), r.File, w.ID, p.Nodes[b.nodeOf[user]].Title(), w.File))
			}
		}
	}
}

// serviceAccountUsers returns the awaited workloads of each service account.
func (b *builder) serviceAccountUsers(p *Plan) map[ID][]int {
	users := map[ID][]int{}
	for i := range b.resources {
		r := &b.resources[i]
		spec := reference.PodSpec(r.ID.Kind, r.object)
		if spec == nil || !p.Nodes[b.nodeOf[i]].Awaited {
			continue
		}
		account := ID{Kind: "ServiceAccount", Namespace: r.ID.Namespace, Name: cmp.Or(reference.ServiceAccountName(spec), "default")}
		users[account] = append(users[account], i)
	}
	return users
}

func (b *builder) boundWorkloads(binding *resource, users map[ID][]int) []int {
	var served []int
	for _, subject := range field.Maps(binding.object, "subjects") {
		if field.String(subject, "kind") != "ServiceAccount" {
			continue
		}
		account := ID{Kind: "ServiceAccount", Namespace: field.String(subject, "namespace"), Name: field.String(subject, "name")}
		if account.Namespace == "" {
			account.Namespace = binding.ID.Namespace
		}
		served = append(served, users[account]...)
	}
	return sortUnique(served)
}

// orderIndex answers which nodes come after which. It caches the descendants of nodes.
type orderIndex struct {
	plan       *Plan
	dependents *dag.Graph
	cache      map[int][]bool
}

// maxCachedNodes limits the cache. Callers query one node after the other.
const maxCachedNodes = 64

func newOrderIndex(p *Plan) *orderIndex {
	return &orderIndex{plan: p, dependents: p.graph.Reverse(), cache: map[int][]bool{}}
}

// comesAfter reports whether node x comes after node y.
func (l *orderIndex) comesAfter(x, y int) bool {
	if l.plan.Nodes[x].Level <= l.plan.Nodes[y].Level {
		return false
	}
	after, known := l.cache[y]
	if !known {
		if len(l.cache) == maxCachedNodes {
			clear(l.cache)
		}
		after = l.dependents.Descendants(y)
		l.cache[y] = after
	}
	return after[x]
}
