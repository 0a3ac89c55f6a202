// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package inventory finds out what the earlier revisions of a release may have left in
// the cluster, and which of it belongs to the release (docs/reference.md, "Upgrade").
package inventory

import (
	"slices"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/releaserecord"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Inventory is what a release may have in the cluster already: the objects of every
// revision since the last one that was deployed, so that failed revisions leave nothing
// behind.
type Inventory struct {
	// base is the revision that Helm compares the new one with.
	base *release.Release
	// revisions are the revisions since the last deployed one, including that one, the
	// oldest first. Base is among them.
	revisions []*release.Release
	// deployed are the revisions that were deployed, and not uninstalled since, not even
	// in part. removed is whether the release was.
	deployed map[*release.Release]bool
	removed  bool

	// plans are the graphs of the revisions, in the order in which they count.
	plans []*sequencer.Plan
	// objects are the objects of the revisions, each once, as all of the revisions
	// together declare it.
	objects kube.ResourceList
	byID    map[sequencer.ID]*object.Info
	// newest is the newest revision that has an object. declared is everything that the
	// revisions declare, an object once for each.
	newest   map[sequencer.ID]int
	declared []map[string]any
	// ofBase are the objects that the base declares, known those that were part of a
	// deployed revision. Of the others it is not known whether they are in the cluster:
	// an object of such a name may belong to somebody else.
	ofBase, known map[sequencer.ID]bool
	// ids are the identities, as the cluster has them, of the resources in plans that can
	// exist there.
	ids map[*sequencer.PlannedResource]sequencer.ID
}

// New takes from a history the revisions since the last deployed one. If none is deployed
// now, that is the last one that ever was, or whose uninstall has failed. If none ever
// was, it takes all of them. Base is always among them. The objects are to be read by
// ReadBase or ReadPlans.
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
		byID: map[sequencer.ID]*object.Info{}, newest: map[sequencer.ID]int{}, ids: map[*sequencer.PlannedResource]sequencer.ID{},
		ofBase: map[sequencer.ID]bool{}, known: map[sequencer.ID]bool{},
	}
	for _, rel := range slices.Backward(inv.revisions) {
		inv.removed = inv.removed || wasRemoved(rel)
		inv.deployed[rel] = wasDeployed(rel) && !inv.removed
	}
	return inv
}

// wasDeployed reports whether the operation on a revision completed.
func wasDeployed(rel *release.Release) bool {
	switch rel.Info.Status {
	case release.StatusDeployed, release.StatusSuperseded, release.StatusUninstalled:
		return true
	}
	return false
}

// wasRemoved reports whether an uninstall has begun on a revision, or on an earlier one
// that it remembers, whatever its result.
func wasRemoved(rel *release.Release) bool {
	earlier := earlierOf(rel)
	return !rel.Info.Deleted.IsZero() || earlier != nil && earlier.UninstallStarted
}

// earlierOf is what a revision remembers of earlier ones; nil if its record cannot be
// used.
func earlierOf(rel *release.Release) *releaserecord.EarlierRevisions {
	rec, err := releaserecord.Read(rel)
	if err != nil {
		return nil
	}
	return rec.EarlierFor(rel.Version)
}

// Revisions are the revisions that the inventory is of, the oldest first.
func (inv *Inventory) Revisions() []*release.Release { return inv.revisions }

// IsOrdered reports whether any of the revisions was deployed in order. A revision whose
// record cannot be read counts, because it most likely was.
func (inv *Inventory) IsOrdered() bool {
	return slices.ContainsFunc(inv.revisions, func(rel *release.Release) bool {
		rec, err := releaserecord.Read(rel)
		return err != nil || rec != nil && (rec.Ordered || rec.EarlierFor(rel.Version) != nil)
	})
}

// Plans are the graphs of the revisions, in the order in which they count.
func (inv *Inventory) Plans() []*sequencer.Plan { return inv.plans }

// Objects are the objects of the revisions.
func (inv *Inventory) Objects() kube.ResourceList { return inv.objects }

// Declared is everything that the revisions declare.
func (inv *Inventory) Declared() []map[string]any { return inv.declared }

// IDOf is the identity of a resource of one of the plans in the cluster. It reports false
// if the resource cannot exist there.
func (inv *Inventory) IDOf(res *sequencer.PlannedResource) (sequencer.ID, bool) {
	id, exists := inv.ids[res]
	return id, exists
}

// InfoOf is the object of a resource of one of the plans; nil if it cannot exist.
func (inv *Inventory) InfoOf(res *sequencer.PlannedResource) *object.Info {
	id, exists := inv.ids[res]
	if !exists {
		return nil
	}
	return inv.byID[id]
}

// Find is an object as the revisions declare it; nil if none does. A nil inventory has no
// objects.
func (inv *Inventory) Find(info *object.Info) *object.Info {
	if inv == nil {
		return nil
	}
	return inv.byID[object.IDOf(info)]
}

// IsOfBase reports whether the base declares an object.
func (inv *Inventory) IsOfBase(id sequencer.ID) bool { return inv.ofBase[id] }

// IsKnown reports whether an object was part of a deployed revision.
func (inv *Inventory) IsKnown(info *object.Info) bool {
	return inv != nil && inv.known[object.IDOf(info)]
}

// Without lists the objects of the revisions that are not in a list.
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

// Policies are the resource policies of the objects, as the newest revision that has them
// declares them.
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

// WhyKeep says why an object that is no longer in the chart is not deleted, given its
// state in the cluster. An empty text means that it is deleted. The policy on the object
// itself counts, too, but not for objects of the base if the manifest alone decides.
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

// KeptByPolicy says that an object is kept by its resource policy.
const KeptByPolicy = "its resource policy keeps it; it no longer belongs to the release"

// Earlier is what a new revision, which declares a list of objects, has to remember of the
// earlier revisions; nil if that is nothing. Spared are objects that are never deleted.
func (inv *Inventory) Earlier(revision int, list kube.ResourceList, spared map[sequencer.ID]bool) *releaserecord.EarlierRevisions {
	leftovers := inv.leftovers(list, spared)
	if len(leftovers) == 0 && !inv.removed {
		return nil
	}
	return &releaserecord.EarlierRevisions{Revision: revision, Leftovers: leftovers, UninstallStarted: inv.removed}
}

// leftovers are the objects of the revisions that are not in a list, without those that
// are spared or kept by a policy.
func (inv *Inventory) leftovers(list kube.ResourceList, spared map[sequencer.ID]bool) []releaserecord.Leftover {
	policies := inv.Policies()
	var leftovers []releaserecord.Leftover
	for _, info := range inv.Without(list) {
		if id := object.IDOf(info); !spared[id] && !object.Keeps(policies[id]) && !object.Keeps(object.DeclaredPolicy(info)) {
			apiVersion, kind := info.Mapping.GroupVersionKind.ToAPIVersionAndKind()
			leftovers = append(leftovers, releaserecord.Leftover{APIVersion: apiVersion, Kind: kind, Namespace: object.Namespace(info), Name: info.Name})
		}
	}
	return leftovers
}

// leftoversPlan is the plan of the objects that a revision knows to be left of earlier
// ones, which may be deleted by now; nil if there are none. They have no order.
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
