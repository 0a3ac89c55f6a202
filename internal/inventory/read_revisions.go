// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/patch"
	"github.com/ordered-helm/helm/internal/placeholder"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// ReadAsHelm builds the objects that base declares, as Helm does; building an object means
// looking up the API resource of its kind in the cluster. If any of the revisions was
// deployed in order, it also builds the objects of the others.
func (inv *Inventory) ReadAsHelm(c cluster.Builder) error {
	if err := placeholder.CheckReadable(inv.base); err != nil {
		return err
	}
	list, err := c.Build([]byte(inv.base.Manifest), false)
	if err != nil {
		return unknownKindError(err)
	}
	inv.objects, inv.declared = list, object.Contents(list)
	for i, info := range list {
		id := object.IDOf(info)
		inv.index[id], inv.byID[id], inv.newest[id], inv.ofBase[id], inv.wasDeployed[id] = i, info, inv.base.Version, info, true
	}
	if !inv.IsOrdered() {
		return nil
	}
	for _, rel := range inv.revisions {
		if rel != inv.base {
			if err := inv.addRevision(c, rel, true); err != nil {
				return err
			}
		}
		if err := inv.addLeftovers(c, rel); err != nil {
			return err
		}
	}
	return nil
}

// ReadPlans rebuilds the deployment graphs of all revisions, and builds their objects. If
// lenient is true, a revision whose order record cannot be used counts as one without an
// order; otherwise ReadPlans returns an error for it.
func (inv *Inventory) ReadPlans(ctx context.Context, c cluster.Builder, lenient bool) error {
	for _, rel := range inv.revisions {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		if err := inv.addRevision(c, rel, lenient); err != nil {
			return err
		}
		if err := inv.addLeftovers(c, rel); err != nil {
			return err
		}
	}
	return nil
}

// unknownKindError wraps err, an error of building the objects of a revision, in Helm's
// message. If the cluster does not know the kind of an object, the message says so.
func unknownKindError(err error) error {
	if strings.Contains(err.Error(), `unable to recognize "": no matches for kind`) {
		return fmt.Errorf("current release manifest contains removed kubernetes api(s) for this "+
			"kubernetes version and it is therefore unable to build the kubernetes "+
			"objects for performing the diff. error from kubernetes: %w", err)
	}
	return fmt.Errorf("unable to build kubernetes objects from current release manifest: %w", err)
}

// addRevision adds the deployment graph and the objects of a revision.
func (inv *Inventory) addRevision(c cluster.Builder, rel *release.Release, lenient bool) error {
	var options history.PlanOptions
	if rel == inv.base {
		options = inv.basePlan
	}
	plan, err := history.PlanOrSingleNode(rel, lenient, options)
	if err != nil {
		return err
	}
	if rel == inv.base {
		inv.planOfBase = plan
	}
	list, err := inv.addPlan(c, rel, plan)
	if rel == inv.base {
		for _, info := range list {
			inv.ofBase[object.IDOf(info)] = info
		}
	}
	if inv.deployed[rel] {
		inv.markDeployed(plan, deployedBy(rel))
	}
	return err
}

// deployedBy returns the operation that has deployed a revision in order; "" if all resources took part in it.
func deployedBy(rel *release.Release) sequencer.Operation {
	rec, err := orderrecord.Read(rel)
	if err != nil || rec == nil {
		return ""
	}
	return rec.Operation
}

// markDeployed sets wasDeployed for the resources of the graph of a deployed revision that took part in the operation
// that has deployed it.
func (inv *Inventory) markDeployed(plan *sequencer.Plan, operation sequencer.Operation) {
	for _, n := range plan.Nodes {
		for _, res := range n.Resources {
			if id, exists := inv.ids[res]; exists && res.TakesPartIn(operation) {
				inv.wasDeployed[id] = true
			}
		}
	}
}

// addLeftovers adds the objects that earlier revisions may have left according to the order
// record of rel.
func (inv *Inventory) addLeftovers(c cluster.Builder, rel *release.Release) error {
	plan := leftoversPlan(rel)
	if plan == nil {
		return nil
	}
	_, err := inv.addPlan(c, rel, plan)
	return err
}

// addPlan adds a graph of revision rel and the objects of the graph. It returns the objects.
func (inv *Inventory) addPlan(c cluster.Builder, rel *release.Release, plan *sequencer.Plan) (kube.ResourceList, error) {
	list, resources, err := inv.objectsOf(c, rel, plan)
	if err != nil {
		return nil, fmt.Errorf("revision %d: %w", rel.Version, err)
	}
	inv.plans = append(inv.plans, plan)
	for i, info := range list {
		id := object.IDOf(info)
		inv.ids[resources[i]] = id
		if err := inv.add(id, info, rel.Version); err != nil {
			return nil, fmt.Errorf("revision %d: %w", rel.Version, err)
		}
	}
	return list, nil
}

// objectsOf builds the objects of a graph of revision rel, and returns them with the
// resource of each. It omits objects of a kind that the cluster does not know, because they
// cannot exist. In base, an unknown kind is an error, as in Helm, unless the release defines
// the kind itself.
func (inv *Inventory) objectsOf(c cluster.Builder, rel *release.Release, plan *sequencer.Plan) (kube.ResourceList, []*sequencer.PlannedResource, error) {
	var resources []*sequencer.PlannedResource
	var contents []map[string]any
	for _, n := range plan.Nodes {
		for _, res := range n.Resources {
			content := res.Object()
			if rel != inv.base || res.SelfDefined {
				var err error
				if content, err = c.InServedVersion(content); err != nil {
					return nil, nil, err
				}
			}
			if content != nil {
				resources, contents = append(resources, res), append(contents, content)
			}
		}
	}
	list, err := c.BuildReferences(contents, inv.base.Namespace)
	if err != nil {
		return nil, nil, unknownKindError(err)
	}
	return list, resources, nil
}

// add adds an object of a revision. If another revision has already added the object, it
// merges the declarations, so that a field counts as set by the release if any revision sets
// it.
func (inv *Inventory) add(id sequencer.ID, info *object.Info, revision int) error {
	inv.declared = append(inv.declared, object.Contents(kube.ResourceList{info})...)
	known := inv.byID[id]
	if known == nil {
		inv.index[id], inv.byID[id], inv.newest[id] = len(inv.objects), info, revision
		inv.objects.Append(info)
		return nil
	}
	older, newer := *known, *info
	if inv.newest[id] > revision {
		older, newer = newer, older
	}
	inv.newest[id] = max(inv.newest[id], revision)
	from, isFrom := older.Object.(*unstructured.Unstructured)
	to, isTo := newer.Object.(*unstructured.Unstructured)
	both := newer.Object
	if isFrom && isTo {
		var err error
		if both, err = patch.MergeDeclarations(from, to); err != nil {
			return fmt.Errorf("%s: %w", object.Describe(info), err)
		}
	}
	merged := *known
	merged.Object, merged.Mapping, merged.Client = both, newer.Mapping, newer.Client
	inv.byID[id], inv.objects[inv.index[id]] = &merged, &merged
	return nil
}
