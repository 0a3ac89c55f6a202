// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package inventory finds out which objects the earlier revisions of a release may have
// left in the cluster, and which of them certainly belong to the release
// (docs/reference.md, "Upgrade"). Package apply uses their declarations as bases of merges,
// and package prune deletes those that the release no longer has.
package inventory

import (
	"slices"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Inventory lists the objects that a release may already have in the cluster: the objects
// of every revision since the last deployed one, so that objects of failed revisions are
// also deleted. A nil Inventory has no objects.
type Inventory struct {
	// base is the revision with which Helm compares the new one.
	base *release.Release
	// revisions are the revisions since the last deployed one, including that one, the
	// oldest first. base is among them.
	revisions []*release.Release
	// deployed are the revisions that were deployed and have not been even partly
	// uninstalled since. removed says whether an uninstall has started on any of the
	// revisions.
	deployed map[*release.Release]bool
	removed  bool

	// plans are the dependency graphs of the revisions. If their orders contradict each
	// other, the first of them takes precedence.
	plans []*sequencer.Plan
	// objects are the objects of all revisions without duplicates. An object that several
	// revisions have is declared as the merged declarations of all of them. place has the
	// index in objects of each object.
	objects kube.ResourceList
	byID    map[sequencer.ID]*object.Info
	place   map[sequencer.ID]int
	// newest has the number of the newest revision that declares each object. declared has
	// the content of each object as declared, once for each revision that declares it.
	newest   map[sequencer.ID]int
	declared []map[string]any
	// ofBase are the objects that base declares. known are the objects that were part of a
	// deployed revision. The other objects may never have been created: an object with the
	// same name in the cluster may belong to another owner.
	ofBase, known map[sequencer.ID]bool
	// ids maps each resource in plans to its identity in the cluster, if it can exist
	// there.
	ids map[*sequencer.PlannedResource]sequencer.ID
}

// New returns the Inventory of the revisions since the last deployed one; revisions is the
// whole history. If no revision is currently deployed, the inventory begins with the last
// revision that was deployed earlier, or whose uninstall failed. If no revision was ever
// deployed, it has all revisions. It always includes base, the revision with which Helm
// compares the new one. The caller must read the objects with ReadAsHelm or ReadPlans.
func New(revisions []*release.Release, base *release.Release) *Inventory {
	sorted := slices.Clone(revisions)
	releaseutil.SortByRevision(sorted)
	first, found := 0, false
	for i, rel := range sorted {
		switch {
		case rel.Info.Status == release.StatusDeployed:
			first, found = i, true
		case !found && (wasDeployed(rel) || !rel.Info.Deleted.IsZero()):
			first = i
		}
	}
	if i := slices.IndexFunc(sorted, func(rel *release.Release) bool { return rel.Version == base.Version }); i >= 0 {
		first, sorted[i] = min(first, i), base
	}
	inv := &Inventory{
		base: base, revisions: sorted[first:], deployed: map[*release.Release]bool{},
		byID: map[sequencer.ID]*object.Info{}, place: map[sequencer.ID]int{}, newest: map[sequencer.ID]int{}, ids: map[*sequencer.PlannedResource]sequencer.ID{},
		ofBase: map[sequencer.ID]bool{}, known: map[sequencer.ID]bool{},
	}
	for _, rel := range slices.Backward(inv.revisions) {
		inv.removed = inv.removed || wasRemoved(rel)
		inv.deployed[rel] = wasDeployed(rel) && !inv.removed
	}
	return inv
}

// wasDeployed reports whether a revision is or once was deployed successfully.
func wasDeployed(rel *release.Release) bool {
	switch rel.Info.Status {
	case release.StatusDeployed, release.StatusSuperseded, release.StatusUninstalled:
		return true
	}
	return false
}

// wasRemoved reports whether an uninstall has started on a revision, whatever its result.
// It also returns true if the record of the revision says so about an earlier revision.
func wasRemoved(rel *release.Release) bool {
	earlier := earlierOf(rel)
	return !rel.Info.Deleted.IsZero() || earlier != nil && earlier.UninstallStarted
}

// earlierOf returns what the record of a revision says about revisions before it; nil if it
// says nothing or cannot be used.
func earlierOf(rel *release.Release) *orderrecord.EarlierRevisions {
	rec, err := orderrecord.Read(rel)
	if err != nil {
		return nil
	}
	return rec.EarlierFor(rel.Version)
}

// Revisions returns the revisions of the inventory, the oldest first.
func (inv *Inventory) Revisions() []*release.Release { return inv.revisions }

// IsOrdered reports whether any of the revisions was deployed in order. A revision whose
// record cannot be read counts as ordered, because it most likely was.
func (inv *Inventory) IsOrdered() bool {
	return slices.ContainsFunc(inv.revisions, func(rel *release.Release) bool {
		rec, err := orderrecord.Read(rel)
		return err != nil || rec != nil && (rec.Ordered || rec.EarlierFor(rel.Version) != nil)
	})
}

// Plans returns the dependency graphs of the revisions. If their orders contradict each
// other, the first of them takes precedence.
func (inv *Inventory) Plans() []*sequencer.Plan { return inv.plans }

// Objects returns the objects of all revisions, without duplicates.
func (inv *Inventory) Objects() kube.ResourceList { return inv.objects }

// Declared returns the contents of all objects as each of the revisions declares them.
func (inv *Inventory) Declared() []map[string]any { return inv.declared }

// IDOf returns the identity in the cluster of a resource of one of the plans. It returns
// false if the resource cannot exist there.
func (inv *Inventory) IDOf(res *sequencer.PlannedResource) (sequencer.ID, bool) {
	id, exists := inv.ids[res]
	return id, exists
}

// InfoOf returns the object of a resource of one of the plans; nil if it cannot exist in
// the cluster.
func (inv *Inventory) InfoOf(res *sequencer.PlannedResource) *object.Info {
	id, exists := inv.ids[res]
	if !exists {
		return nil
	}
	return inv.byID[id]
}

// Find returns the object with the identity of info as the revisions declare it; nil if no
// revision declares it.
func (inv *Inventory) Find(info *object.Info) *object.Info {
	if inv == nil {
		return nil
	}
	return inv.byID[object.IDOf(info)]
}

// IsOfBase reports whether an object is declared by the revision with which Helm compares
// the new one.
func (inv *Inventory) IsOfBase(id sequencer.ID) bool { return inv.ofBase[id] }

// IsKnown reports whether an object was part of a deployed revision.
func (inv *Inventory) IsKnown(info *object.Info) bool {
	return inv != nil && inv.known[object.IDOf(info)]
}

// Without returns the objects of the revisions that are not in list.
func (inv *Inventory) Without(list kube.ResourceList) kube.ResourceList {
	listed := object.ByID(list)
	var others kube.ResourceList
	for _, info := range inv.objects {
		if listed[object.IDOf(info)] == nil {
			others = append(others, info)
		}
	}
	return others
}

// Policies returns the resource policy of each object in the plans, as the newest revision
// with the object declares it.
func (inv *Inventory) Policies() map[sequencer.ID]string {
	policies := map[sequencer.ID]string{}
	for _, plan := range inv.plans {
		for _, n := range plan.Nodes {
			for _, res := range n.Resources {
				if id, exists := inv.ids[res]; exists {
					policies[id] = res.Policy
				}
			}
		}
	}
	return policies
}

// WhyKeep says why an object that is no longer in the chart is not deleted; empty if it is
// deleted. live is the object in the cluster, and policies is the result of Policies. An
// annotation with a resource policy on live counts, too. If manifestDecides is true, it
// does not count for objects of base, for which only the manifest counts.
func (inv *Inventory) WhyKeep(live *unstructured.Unstructured, policies map[sequencer.ID]string, manifestDecides bool) string {
	id := object.LiveID(live)
	livePolicyCounts := !manifestDecides || !inv.ofBase[id]
	if object.Keeps(policies[id]) || livePolicyCounts && object.Keeps(object.Policy(live)) {
		return KeptByPolicy
	}
	owner := object.Owner{Name: inv.base.Name, Namespace: inv.base.Namespace}
	if whose, other := object.OwnedByOther(live, owner); other {
		return whose
	}
	if !inv.known[id] && object.CheckOwner(live, owner) != nil {
		if inv.removed {
			return "it is not labelled as owned by the release, which was partly uninstalled"
		}
		return "it is not labelled as owned by the release, which was never deployed with it"
	}
	return ""
}

// KeptByPolicy is the result of WhyKeep for an object that is kept by its resource policy.
const KeptByPolicy = "its resource policy keeps it; it no longer belongs to the release"

// Earlier returns the data about earlier revisions that the record of a new revision must
// contain; nil if there is none. list has the objects of the new revision. spared are
// objects that are never deleted.
func (inv *Inventory) Earlier(revision int, list kube.ResourceList, spared map[sequencer.ID]bool) *orderrecord.EarlierRevisions {
	leftovers := inv.leftovers(list, spared)
	if len(leftovers) == 0 && !inv.removed {
		return nil
	}
	return &orderrecord.EarlierRevisions{Revision: revision, Leftovers: leftovers, UninstallStarted: inv.removed}
}

// leftovers returns the objects of the revisions that may still exist and are not in list.
// It omits objects that are spared or kept by a policy.
func (inv *Inventory) leftovers(list kube.ResourceList, spared map[sequencer.ID]bool) []orderrecord.Leftover {
	policies := inv.Policies()
	var leftovers []orderrecord.Leftover
	for _, info := range inv.Without(list) {
		if id := object.IDOf(info); !spared[id] && !object.Keeps(policies[id]) && !object.Keeps(object.DeclaredPolicy(info)) {
			apiVersion, kind := info.Mapping.GroupVersionKind.ToAPIVersionAndKind()
			leftovers = append(leftovers, orderrecord.Leftover{APIVersion: apiVersion, Kind: kind, Namespace: object.Namespace(info), Name: info.Name})
		}
	}
	return leftovers
}

// leftoversPlan returns a plan with the objects that, according to the record of rel,
// revisions before it may have left; nil if there are none. The plan has no order.
func leftoversPlan(rel *release.Release) *sequencer.Plan {
	earlier, name := earlierOf(rel), history.ChartName(rel)
	if earlier == nil || len(earlier.Leftovers) == 0 {
		return nil
	}
	var resources []sequencer.Resource
	for _, l := range earlier.Leftovers {
		resources = append(resources, sequencer.Resource{Chart: name, Object: object.Reference(l.APIVersion, l.Kind, l.Namespace, l.Name)})
	}
	return sequencer.Unordered(name, resources, rel.Namespace)
}
