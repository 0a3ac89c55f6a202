// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import "fmt"

// findNeeds follows the references between resources and notes those that
// point at what is only deployed after the resource that needs it is ready.
func (b *builder) findNeeds(p *Plan) {
	later := newLater(p)
	for i := range b.resources {
		from := &b.resources[i]
		fromNode := b.nodeOf[i]
		if !p.Nodes[fromNode].Awaited {
			continue
		}
		for _, id := range b.references(from) {
			j, inRelease := b.byID[id]
			if inRelease && later.is(b.nodeOf[j], fromNode) {
				p.Unmet = append(p.Unmet, UnmetNeed{
					From: &from.PlannedResource, To: &b.resources[j].PlannedResource,
					FromNode: p.Nodes[fromNode], ToNode: p.Nodes[b.nodeOf[j]],
				})
			}
		}
	}
	p.Unmet = uniqueNeeds(p.Unmet)
	b.warnLateBindings(p, later)
}

func uniqueNeeds(needs []UnmetNeed) []UnmetNeed {
	seen := map[[2]*PlannedResource]bool{}
	var unique []UnmetNeed
	for _, n := range needs {
		if edge := [2]*PlannedResource{n.From, n.To}; !seen[edge] {
			seen[edge] = true
			unique = append(unique, n)
		}
	}
	return unique
}

// warnLateBindings warns of role bindings that are deployed only after the
// workload whose account they serve is ready.
func (b *builder) warnLateBindings(p *Plan, later *later) {
	users := b.accountUsers(p)
	for i := range b.resources {
		r := &b.resources[i]
		if r.ID.Kind != "RoleBinding" && r.ID.Kind != "ClusterRoleBinding" {
			continue
		}
		for _, user := range b.servedBy(r, users) {
			if later.is(b.nodeOf[i], b.nodeOf[user]) {
				w := &b.resources[user]
				b.warnings = append(b.warnings, fmt.Sprintf(
					"%s in %s (%s) is deployed only after %s in %s (%s), whose service account it serves: annotate it with the same layer or an earlier one",
					r.ID, p.Nodes[b.nodeOf[i]].Title(), r.File, w.ID, p.Nodes[b.nodeOf[user]].Title(), w.File))
			}
		}
	}
}

// accountUsers lists, for each service account, the awaited workloads that run
// under it.
func (b *builder) accountUsers(p *Plan) map[ID][]int {
	users := map[ID][]int{}
	for i := range b.resources {
		r := &b.resources[i]
		spec := podSpec(r.ID.Kind, r.object)
		if name := text(spec, "serviceAccountName"); name != "" && p.Nodes[b.nodeOf[i]].Awaited {
			account := ID{Kind: "ServiceAccount", Namespace: r.ID.Namespace, Name: name}
			users[account] = append(users[account], i)
		}
	}
	return users
}

func (b *builder) servedBy(binding *resource, users map[ID][]int) []int {
	var served []int
	for _, subject := range children(binding.object, "subjects") {
		if text(subject, "kind") != "ServiceAccount" {
			continue
		}
		account := ID{Kind: "ServiceAccount", Namespace: text(subject, "namespace"), Name: text(subject, "name")}
		if account.Namespace == "" {
			account.Namespace = binding.ID.Namespace
		}
		served = append(served, users[account]...)
	}
	return uniqueInts(served)
}

// later answers which nodes are deployed only after another one is ready. It
// looks at what comes after a node at most once.
type later struct {
	plan       *Plan
	dependents interface{ Descendants(int) []bool }
	known      map[int][]bool
}

func newLater(p *Plan) *later {
	return &later{plan: p, dependents: p.graph.Reverse(), known: map[int][]bool{}}
}

// is reports whether node x comes after node y.
func (l *later) is(x, y int) bool {
	if l.plan.Nodes[x].Level <= l.plan.Nodes[y].Level {
		return false
	}
	after, known := l.known[y]
	if !known {
		after = l.dependents.Descendants(y)
		l.known[y] = after
	}
	return after[x]
}
