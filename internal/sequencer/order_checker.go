// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ordered-helm/helm/internal/dag"
	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/neededobjects"
	"github.com/ordered-helm/helm/internal/objectid"
)

// orderChecker finds resources that the plan deploys too late for other resources.
type orderChecker struct {
	*builder
	plan  *Plan
	order *dag.Reachability
}

// comesAfter reports whether node x depends on node y, directly or indirectly.
func (c *orderChecker) comesAfter(x, y *Node) bool {
	return x.Level > y.Level && c.order.DependsOn(x.index, y.index)
}

// findUnmetNeeds sets Plan.Unmet: the references that the order cannot satisfy.
func (c *orderChecker) findUnmetNeeds() {
	for _, n := range c.nodes {
		for _, from := range n.resources {
			seen := map[*draftResource]bool{from: true}
			for _, id := range c.references(from) {
				if to := c.byID[id]; to != nil && !seen[to] {
					seen[to] = true
					c.checkNeed(from, to)
				}
			}
		}
	}
	c.suggestLayers()
}

// references returns the objects that must exist before r can become ready: its namespace,
// the objects that it refers to, and the CustomResourceDefinition of its kind.
func (c *orderChecker) references(r *draftResource) []ID {
	var ids []ID
	if r.ID.Namespace != c.input.Namespace && r.ID.Namespace != "" { // the namespace of the release exists, because the release is stored in it
		ids = append(ids, ID{Kind: "Namespace", Name: r.ID.Namespace})
	}
	for _, ref := range neededobjects.Of(r.ID.Kind, r.ID.Namespace, r.object) {
		ids = append(ids, ID(ref))
	}
	if definition, custom := c.crds[objectid.GroupKindOf(r.ID)]; custom {
		ids = append(ids, definition)
	}
	return ids
}

// checkNeed adds the reference from r to needed to Plan.Unmet if the order cannot satisfy it.
func (c *orderChecker) checkNeed(r, needed *draftResource) {
	need := UnmetNeed{
		From: &r.PlannedResource, To: &needed.PlannedResource, FromNode: r.node.planned, ToNode: needed.node.planned,
	}
	switch {
	case c.comesAfter(need.ToNode, need.FromNode):
	case !mustComeFirst(needed.ID.Kind, need.FromNode == need.ToNode) || c.comesAfter(need.FromNode, need.ToNode):
		return
	default:
		need.unordered = true
	}
	c.plan.Unmet = append(c.plan.Unmet, need)
}

// mustComeFirst reports whether an object of this kind must exist before the API server
// accepts the objects that need it. sameNode says that both are in one node, which creates
// its namespaces first.
func mustComeFirst(kind string, sameNode bool) bool {
	return kind == "CustomResourceDefinition" || kind == "Namespace" && !sameNode
}

// suggestLayers sets the layer that messages about unsatisfied references suggest for the
// needed object. If several layers of the object's chart need it too early, this is the
// layer that all the others depend on. If there is no such layer, none is suggested.
func (c *orderChecker) suggestLayers() {
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
			n.suggestedLayer = first[n.To].Layer
		}
	}
}

// warnLateBindings warns about each role binding that grants permissions to the service
// account of a workload, but is deployed only after the workload is ready.
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

// serviceAccountUsers maps each service account to the workloads that use it, except those
// in nodes without dependents: nothing is deployed after these.
func (c *orderChecker) serviceAccountUsers() map[ID][]*draftResource {
	users := map[ID][]*draftResource{}
	for _, r := range c.resources {
		spec := neededobjects.PodSpec(r.ID.Kind, r.object)
		if spec == nil || !r.node.planned.Awaited {
			continue
		}
		account := ID{Kind: "ServiceAccount", Namespace: r.ID.Namespace, Name: cmp.Or(neededobjects.ServiceAccountName(spec), "default")}
		users[account] = append(users[account], r)
	}
	return users
}

// boundWorkloads returns the workloads among users whose service account is a subject of
// the role binding.
func boundWorkloads(binding *draftResource, users map[ID][]*draftResource) []*draftResource {
	var bound []*draftResource
	for _, subject := range field.Maps(binding.object, "subjects") {
		if field.String(subject, "kind") == "ServiceAccount" {
			namespace := cmp.Or(field.String(subject, "namespace"), binding.ID.Namespace)
			bound = append(bound, users[ID{Kind: "ServiceAccount", Namespace: namespace, Name: field.String(subject, "name")}]...)
		}
	}
	slices.SortFunc(bound, func(x, y *draftResource) int { return cmp.Compare(x.index, y.index) })
	return slices.Compact(bound)
}
