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
	"github.com/ordered-helm/helm/internal/patch"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// ReadAsHelm builds the objects that base declares, as Helm does. If any of the revisions
// was deployed in order, it also builds the objects of the other revisions. To build an
// object is to find the API resource of its kind in the cluster.
func (inv *Inventory) ReadAsHelm(c cluster.Builder) error {
	list, err := c.Build([]byte(inv.base.Manifest), false)
	if err != nil {
		return unknownKindError(err)
	}
	inv.objects, inv.declared = list, object.Contents(list)
	for i, info := range list {
		id := object.IDOf(info)
		inv.place[id], inv.byID[id], inv.newest[id], inv.ofBase[id], inv.known[id] = i, info, inv.base.Version, true, true
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

// ReadPlans builds the objects and plans of all revisions. The plan of the last deployed
// revision takes precedence over the others. If lenient is true, a revision whose record
// cannot be used counts as one without an order.
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

// unknownKindError adds Helm's message to an error of building the objects of base.
func unknownKindError(err error) error {
	if strings.Contains(err.Error(), `unable to recognize "": no matches for kind`) {
		return fmt.Errorf("current release manifest contains removed kubernetes api(s) for this "+
			"kubernetes version and it is therefore unable to build the kubernetes "+
			"objects for performing the diff. error from kubernetes: %w", err)
	}
	return fmt.Errorf("unable to build kubernetes objects from current release manifest: %w", err)
}

// addRevision adds to the inventory the plan of a revision and the objects that it
// declares.
func (inv *Inventory) addRevision(c cluster.Builder, rel *release.Release, lenient bool) error {
	plan, err := history.PlanOrSingleNode(rel, lenient)
	if err != nil {
		return err
	}
	ids, err := inv.addPlan(c, rel, plan)
	for _, id := range ids {
		inv.ofBase[id] = inv.ofBase[id] || rel == inv.base
		inv.known[id] = inv.known[id] || inv.deployed[rel]
	}
	return err
}

// addLeftovers adds to the inventory the objects that, according to the record of rel,
// revisions before it may have left.
func (inv *Inventory) addLeftovers(c cluster.Builder, rel *release.Release) error {
	plan := leftoversPlan(rel)
	if plan == nil {
		return nil
	}
	_, err := inv.addPlan(c, rel, plan)
	return err
}

// addPlan adds to the inventory a plan of the revision rel and the objects of the plan. It
// returns the identities of the objects.
func (inv *Inventory) addPlan(c cluster.Builder, rel *release.Release, plan *sequencer.Plan) ([]sequencer.ID, error) {
	list, resources, err := inv.objectsOf(c, rel, plan)
	if err != nil {
		return nil, fmt.Errorf("revision %d: %w", rel.Version, err)
	}
	inv.plans = append(inv.plans, plan)
	ids := make([]sequencer.ID, len(list))
	for i, info := range list {
		ids[i] = object.IDOf(info)
		inv.ids[resources[i]] = ids[i]
		if err := inv.add(ids[i], info, rel.Version); err != nil {
			return nil, fmt.Errorf("revision %d: %w", rel.Version, err)
		}
	}
	return ids, nil
}

// objectsOf builds the objects of a plan of the revision rel, and returns them with the
// resource of each. It omits objects of a kind that the cluster does not know, because they
// cannot exist. In base, an unknown kind is an error, as in Helm, unless the release
// defines the kind itself.
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
	list, err := c.References(contents, inv.base.Namespace)
	if err != nil {
		return nil, nil, unknownKindError(err)
	}
	return list, resources, nil
}

// add adds an object of a revision to the inventory. If several revisions have the object,
// it merges their declarations, so that every field that any of them set counts as set by
// the release.
func (inv *Inventory) add(id sequencer.ID, info *object.Info, revision int) error {
	inv.declared = append(inv.declared, object.Contents(kube.ResourceList{info})...)
	known := inv.byID[id]
	if known == nil {
		inv.place[id], inv.byID[id], inv.newest[id] = len(inv.objects), info, revision
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
	inv.byID[id], inv.objects[inv.place[id]] = &merged, &merged
	return nil
}
