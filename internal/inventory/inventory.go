// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package inventory finds out which objects the earlier revisions of a release may have left
// in the cluster, and which of them certainly belong to the release (docs/reference.md,
// "Upgrade"). Package apply computes changes from the declarations of these objects, and
// package prune deletes the objects that are no longer in the chart.
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

// Inventory contains the objects that a release may have in the cluster: those of all
// revisions since the last deployed one, because failed revisions may have created objects,
// too. A nil *Inventory contains no objects.
type Inventory struct {
	// base is the revision that Helm compares the new revision with.
	base *release.Release
	// revisions are the revisions from the last deployed one to the newest, the oldest
	// first. base is one of them.
	revisions []*release.Release
	// deployed contains the revisions that were deployed, except those before an uninstall.
	deployed map[*release.Release]bool
	// uninstallStarted says whether an uninstall has started on any of the revisions, even
	// if it failed.
	uninstallStarted bool

	// plans are the deployment graphs of the revisions. If their orders contradict each
	// other, the graph that comes first takes precedence.
	plans []*sequencer.Plan
	// basePlan says for what ReadPlans builds the deployment graph of base, which is planOfBase.
	basePlan   history.PlanOptions
	planOfBase *sequencer.Plan
	// objects are the objects of all revisions, without duplicates. If several revisions
	// declare an object, its declarations are merged. byID contains the same objects by
	// identity, and index the index of each in objects.
	objects kube.ResourceList
	byID    map[sequencer.ID]*object.Info
	index   map[sequencer.ID]int
	// newest contains the number of the newest revision that declares each object. declared
	// contains the content of each object once for each revision that declares it.
	newest   map[sequencer.ID]int
	declared []map[string]any
	// ofBase contains the objects as base declares them, and wasDeployed those that were part
	// of a deployed revision. Other objects may never have been created: if there is an
	// object with that name in the cluster, it may belong to another owner.
	ofBase      map[sequencer.ID]*object.Info
	wasDeployed map[sequencer.ID]bool
	// ids maps each resource of plans to its identity in the cluster. It omits resources
	// that cannot exist there.
	ids map[*sequencer.PlannedResource]sequencer.ID
}

// New returns the Inventory for a new revision; revisions is the whole history. The
// Inventory begins with the last revision that is deployed or, if there is none, with the
// last revision that was deployed earlier or whose uninstall failed. If there is no such
// revision either, it contains the whole history. It always contains base, the revision that
// Helm compares the new one with. The caller must call ReadAsHelm or ReadPlans to read the
// objects.
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
		byID: map[sequencer.ID]*object.Info{}, index: map[sequencer.ID]int{}, newest: map[sequencer.ID]int{}, ids: map[*sequencer.PlannedResource]sequencer.ID{},
		ofBase: map[sequencer.ID]*object.Info{}, wasDeployed: map[sequencer.ID]bool{},
	}
	for _, rel := range slices.Backward(inv.revisions) {
		inv.uninstallStarted = inv.uninstallStarted || hasUninstallStarted(rel)
		inv.deployed[rel] = wasDeployed(rel) && !inv.uninstallStarted
	}
	return inv
}

// PlanBaseFor makes ReadPlans build the deployment graph of base for an operation, with the steps that run
// hooks of charts.
func (inv *Inventory) PlanBaseFor(o history.PlanOptions) { inv.basePlan = o }

// BasePlan returns the deployment graph of base; nil before ReadPlans.
func (inv *Inventory) BasePlan() *sequencer.Plan { return inv.planOfBase }

// wasDeployed reports whether a revision is deployed, or was before it was superseded or
// uninstalled.
func wasDeployed(rel *release.Release) bool {
	switch rel.Info.Status {
	case release.StatusDeployed, release.StatusSuperseded, release.StatusUninstalled:
		return true
	}
	return false
}

// hasUninstallStarted reports whether an uninstall has started on a revision or, according
// to its order record, on an earlier one. It does not matter whether the uninstall
// succeeded.
func hasUninstallStarted(rel *release.Release) bool {
	earlier := earlierOf(rel)
	return !rel.Info.Deleted.IsZero() || earlier != nil && earlier.UninstallStarted
}

// earlierOf returns what the order record of a revision says about earlier revisions; nil if
// it says nothing or cannot be used.
func earlierOf(rel *release.Release) *orderrecord.EarlierRevisions {
	rec, err := orderrecord.Read(rel)
	if err != nil {
		return nil
	}
	return rec.EarlierFor(rel.Version)
}

// Revisions returns the revisions whose objects the Inventory contains, the oldest first.
func (inv *Inventory) Revisions() []*release.Release { return inv.revisions }

// IsOrdered reports whether any of the revisions was deployed in order. A revision whose
// order record cannot be used counts as ordered, because it probably was.
func (inv *Inventory) IsOrdered() bool {
	return slices.ContainsFunc(inv.revisions, func(rel *release.Release) bool {
		rec, err := orderrecord.Read(rel)
		return err != nil || rec != nil && (rec.Ordered || rec.EarlierFor(rel.Version) != nil)
	})
}

// Plans returns the deployment graphs of the revisions. If their orders contradict each
// other, the graph that comes first takes precedence.
func (inv *Inventory) Plans() []*sequencer.Plan { return inv.plans }

// Objects returns the objects of all revisions, without duplicates.
func (inv *Inventory) Objects() kube.ResourceList { return inv.objects }

// Declared returns the contents of all objects, once for each revision that declares the
// object.
func (inv *Inventory) Declared() []map[string]any { return inv.declared }

// IDOf returns the identity in the cluster of a resource of Plans. exists is false if the
// resource cannot exist there.
func (inv *Inventory) IDOf(res *sequencer.PlannedResource) (id sequencer.ID, exists bool) {
	id, exists = inv.ids[res]
	return id, exists
}

// InfoOf returns the object of a resource of Plans, or nil if it cannot exist in the
// cluster.
func (inv *Inventory) InfoOf(res *sequencer.PlannedResource) *object.Info {
	id, exists := inv.ids[res]
	if !exists {
		return nil
	}
	return inv.byID[id]
}

// Find returns the object with the identity of info as the revisions declare it, or nil if
// none of them does.
func (inv *Inventory) Find(info *object.Info) *object.Info {
	if inv == nil {
		return nil
	}
	return inv.byID[object.IDOf(info)]
}

// Base returns the revision that Helm compares the new one with.
func (inv *Inventory) Base() *release.Release { return inv.base }

// IsOfBase reports whether an object is declared by the revision that Helm compares the new
// one with.
func (inv *Inventory) IsOfBase(id sequencer.ID) bool { return inv.ofBase[id] != nil }

// FindInBase returns the object with the identity of info as base declares it, or nil if it does not.
func (inv *Inventory) FindInBase(info *object.Info) *object.Info {
	return inv.ofBase[object.IDOf(info)]
}

// HasLaterRevisions reports whether there are revisions after base: operations that have failed.
func (inv *Inventory) HasLaterRevisions() bool {
	return inv.revisions[len(inv.revisions)-1].Version > inv.base.Version
}

// WasDeployed reports whether an object was part of a deployed revision.
func (inv *Inventory) WasDeployed(info *object.Info) bool {
	return inv != nil && inv.wasDeployed[object.IDOf(info)]
}

// Without returns the objects of the Inventory that are not in list.
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

// Policies returns the resource policy (helm.sh/resource-policy) of each object, as the
// newest revision that contains the object declares it.
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

// WhyKeep returns the reason why an object that is no longer in the chart is kept, or "" if
// it is to be deleted. live is the object in the cluster, and policies the result of
// Policies. A resource policy on live also keeps the object, unless manifestDecides is true
// and base, the revision that Helm compares the new one with, declares the object.
func (inv *Inventory) WhyKeep(live *unstructured.Unstructured, policies map[sequencer.ID]string, manifestDecides bool) string {
	id := object.LiveID(live)
	livePolicyCounts := !manifestDecides || !inv.IsOfBase(id)
	if object.PolicyKeeps(policies[id]) || livePolicyCounts && object.PolicyKeeps(object.ResourcePolicy(live)) {
		return KeptByPolicy
	}
	owner := object.OwningRelease{Name: inv.base.Name, Namespace: inv.base.Namespace}
	if whose, other := object.OwnedByOther(live, owner); other {
		return whose
	}
	if !inv.wasDeployed[id] && object.CheckOwner(live, owner) != nil {
		if inv.uninstallStarted {
			return "it is not labeled as owned by the release, which was partly uninstalled"
		}
		return "it is not labeled as owned by the release, and no deployed revision contains it"
	}
	return ""
}

// KeptByPolicy is the result of WhyKeep for an object that is kept because of its resource
// policy.
const KeptByPolicy = "its resource policy keeps it; it no longer belongs to the release"

// Earlier returns the data about earlier revisions that the order record of a new revision
// must contain; nil if there is none. list contains the objects of the new revision, and
// spared those that must not be deleted.
func (inv *Inventory) Earlier(revision int, list kube.ResourceList, spared map[sequencer.ID]bool) *orderrecord.EarlierRevisions {
	leftovers := inv.leftovers(list, spared)
	if len(leftovers) == 0 && !inv.uninstallStarted {
		return nil
	}
	return &orderrecord.EarlierRevisions{Revision: revision, Leftovers: leftovers, UninstallStarted: inv.uninstallStarted}
}

// leftovers returns the objects of the Inventory that are not in list. It omits objects that
// are spared or kept by a resource policy.
func (inv *Inventory) leftovers(list kube.ResourceList, spared map[sequencer.ID]bool) []orderrecord.Leftover {
	policies := inv.Policies()
	var leftovers []orderrecord.Leftover
	for _, info := range inv.Without(list) {
		if id := object.IDOf(info); !spared[id] && !object.PolicyKeeps(policies[id]) && !object.PolicyKeeps(object.DeclaredResourcePolicy(info)) {
			apiVersion, kind := info.Mapping.GroupVersionKind.ToAPIVersionAndKind()
			leftovers = append(leftovers, orderrecord.Leftover{APIVersion: apiVersion, Kind: kind, Namespace: object.Namespace(info), Name: info.Name})
		}
	}
	return leftovers
}

// leftoversPlan returns a graph, with a single node, of the objects that earlier revisions
// may have left according to the order record of rel; nil if there are none.
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
