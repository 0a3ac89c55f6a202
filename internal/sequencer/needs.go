// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ordered-helm/helm/internal/dag"
	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/reference"
)

// orderChecker looks for resources that a plan deploys too late for others.
type orderChecker struct {
	*builder
	plan  *Plan
	order *dag.Reachability
}

// comesAfter reports whether node x depends on node y, directly or indirectly.
func (c *orderChecker) comesAfter(x, y *Node) bool {
	return x.Level > y.Level && c.order.DependsOn(x.index, y.index)
}

// findUnmetNeeds looks for references to objects that are deployed too late (see UnmetNeed)
// and sets Plan.Unmet.
func (c *orderChecker) findUnmetNeeds() {
	for _, n := range c.nodes {
		for _, from := range n.resources {
			seen := map[*resource]bool{from: true}
			for _, id := range c.references(from) {
				if to := c.byID[id]; to != nil && !seen[to] {
					seen[to] = true
					c.checkNeed(from, to)
				}
			}
		}
	}
	c.proposeLayers()
}

// references returns the objects that must exist so that r can become ready: its namespace,
// the objects that it refers to, and the CustomResourceDefinition of its kind.
func (c *orderChecker) references(r *resource) []ID {
	var ids []ID
	if r.ID.Namespace != c.namespace && r.ID.Namespace != "" { // the namespace of the release exists, because the release is stored in it
		ids = append(ids, ID{Kind: "Namespace", Name: r.ID.Namespace})
	}
	for _, ref := range reference.Of(r.ID.Kind, r.ID.Namespace, r.object) {
		ids = append(ids, ID(ref))
	}
	if definition, custom := c.definitions[r.ID.groupKind()]; custom {
		ids = append(ids, definition)
	}
	return ids
}

// checkNeed is called if the resource from refers to the resource to. It adds the reference
// to Plan.Unmet if the order does not deploy to in time.
func (c *orderChecker) checkNeed(from, to *resource) {
	need := UnmetNeed{
		From: &from.PlannedResource, To: &to.PlannedResource, FromNode: from.node.planned, ToNode: to.node.planned,
	}
	switch {
	case c.comesAfter(need.ToNode, need.FromNode):
	case !mustComeFirst(to.ID.Kind, need.FromNode == need.ToNode) || c.comesAfter(need.FromNode, need.ToNode):
		return
	default:
		need.unordered = true
	}
	c.plan.Unmet = append(c.plan.Unmet, need)
}

// mustComeFirst reports whether the API server rejects the object that refers to an object
// of this kind until the latter exists. sameNode says that both are in one node, which
// creates its namespaces first.
func mustComeFirst(kind string, sameNode bool) bool {
	return kind == "CustomResourceDefinition" || kind == "Namespace" && !sameNode
}

// proposeLayers sets the layer to suggest in messages about unmet needs. If layers of one
// chart need an object of that chart too early, it is the first of these layers in the
// order. If no layer comes before all others, there is no suggestion.
func (c *orderChecker) proposeLayers() {
	first, mixed := map[*PlannedResource]*Node{}, map[*PlannedResource]bool{}
	var inOwnChart []*UnmetNeed
	for i := range c.plan.Unmet {
		n := &c.plan.Unmet[i]
		if n.FromNode.Layer == "" || n.FromNode.Chart != n.ToNode.Chart {
			continue
		}
		inOwnChart = append(inOwnChart, n)
		if before := first[n.To]; before == nil || n.FromNode.Level < before.Level {
			first[n.To] = n.FromNode
		}
	}
	for _, n := range inOwnChart {
		if f := first[n.To]; n.FromNode != f && !c.comesAfter(n.FromNode, f) {
			mixed[n.To] = true
		}
	}
	for _, n := range inOwnChart {
		if !mixed[n.To] {
			n.layer = first[n.To].Layer
		}
	}
}

// warnLateBindings warns about each role binding that is deployed only after a workload
// with a bound service account is ready.
func (c *orderChecker) warnLateBindings() {
	users := c.serviceAccountUsers()
	for _, r := range c.resources {
		if r.ID.Kind != "RoleBinding" && r.ID.Kind != "ClusterRoleBinding" {
			continue
		}
		for _, w := range boundWorkloads(r, users) {
			if c.comesAfter(r.node.planned, w.node.planned) {
				c.warn(WarningLateBinding, r, "", "", fmt.Sprintf(
					"%s in %s (%s) is deployed after %s in %s (%s), whose service account it grants permissions to: "+
						"put the binding into the same layer or an earlier one",
					r.ID, r.node.planned.Title(), r.File, w.ID, w.node.planned.Title(), w.File))
			}
		}
	}
}

// serviceAccountUsers maps each service account to the workloads that use it. It includes
// only workloads in nodes that have dependents.
func (c *orderChecker) serviceAccountUsers() map[ID][]*resource {
	users := map[ID][]*resource{}
	for _, r := range c.resources {
		spec := reference.PodSpec(r.ID.Kind, r.object)
		if spec == nil || !r.node.planned.Awaited {
			continue
		}
		account := ID{Kind: "ServiceAccount", Namespace: r.ID.Namespace, Name: cmp.Or(reference.ServiceAccountName(spec), "default")}
		users[account] = append(users[account], r)
	}
	return users
}

// boundWorkloads returns the workloads whose service account is a subject of the role
// binding.
func boundWorkloads(binding *resource, users map[ID][]*resource) []*resource {
	var bound []*resource
	for _, subject := range field.Maps(binding.object, "subjects") {
		if field.String(subject, "kind") == "ServiceAccount" {
			namespace := cmp.Or(field.String(subject, "namespace"), binding.ID.Namespace)
			bound = append(bound, users[ID{Kind: "ServiceAccount", Namespace: namespace, Name: field.String(subject, "name")}]...)
		}
	}
	slices.SortFunc(bound, func(x, y *resource) int { return cmp.Compare(x.index, y.index) })
	return slices.Compact(bound)
}
