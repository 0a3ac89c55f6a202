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

// findUnmetNeeds looks for references to objects that are deployed too late (see UnmetNeed)
// and adds them to p.Unmet.
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

// proposeLayers sets the layer to suggest in messages about unmet needs. If layers of one
// chart need an object of that chart too early, it is the first of these layers in the
// order. If no layer comes before all others, there is no suggestion.
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

// checkNeed is called if resource i refers to resource j. It adds the reference to p.Unmet
// if the order does not deploy j in time.
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

// mustComeFirst reports whether the API server rejects the object that refers to an object
// of this kind until the latter exists. sameNode says that both are in one node, which
// creates its namespaces first.
func mustComeFirst(kind string, sameNode bool) bool {
	return kind == "CustomResourceDefinition" || kind == "Namespace" && !sameNode
}

// warnLateBindings warns about each role binding that is deployed only after a workload
// with a bound service account is ready.
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

// serviceAccountUsers maps each service account to the workloads that use it. It includes
// only workloads in nodes that have dependents.
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

// boundWorkloads returns the workloads whose service account is a subject of the role
// binding.
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

// orderIndex answers whether one node of a plan comes after another. It caches the
// transitive dependents of nodes.
type orderIndex struct {
	plan       *Plan
	dependents *dag.Graph
	cache      map[int][]bool
}

// maxCachedNodes limits the cache. A small one is sufficient, because callers ask about one
// node after the other.
const maxCachedNodes = 64

func newOrderIndex(p *Plan) *orderIndex {
	return &orderIndex{plan: p, dependents: p.graph.Reverse(), cache: map[int][]bool{}}
}

// comesAfter reports whether node x depends on node y, directly or indirectly.
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
