// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"slices"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/releaserecord"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// prior is what a release may have in the cluster already: the objects of every
// revision since the last one that was deployed, so that revisions which failed
// leave nothing behind (docs/reference.md, "Upgrade").
type prior struct {
	// base is the revision that Helm compares the new one with.
	base *release.Release
	// revisions are the revisions since the last deployed one, that one included,
	// the oldest first; base is among them.
	revisions []*release.Release

	// deployed are those of the revisions that were deployed, and not uninstalled
	// since, not even in part: removed is whether the release was.
	deployed map[*release.Release]bool
	removed  bool

	// plans are the graphs of the revisions, in the order in which they count.
	plans []*sequencer.Plan
	// objects are what the revisions consist of, each object once, as all of them
	// together declared it.
	objects kube.ResourceList
	byID    map[sequencer.ID]*kubeInfo
	// newest is the newest revision that has an object; declared is all that the
	// revisions declared, an object once for each.
	newest   map[sequencer.ID]int
	declared []map[string]any
	// ofBase are those of them that the base declares; established are those that
	// were part of a deployed revision. Of others it is not known whether they are
	// there: what bears such a name may be somebody else's.
	ofBase, established map[sequencer.ID]bool
	// of is the identity, as the cluster has it, of each resource in plans that
	// can exist there.
	of map[*sequencer.PlannedResource]sequencer.ID
}

// idOf is the identity of an object as the cluster has it.
func idOf(info *kubeInfo) sequencer.ID {
	gvk := info.Object.GetObjectKind().GroupVersionKind()
	if info.Mapping != nil { // as clients in other people's tests may leave it
		gvk = info.Mapping.GroupVersionKind
	}
	return sequencer.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: scopeOf(info), Name: info.Name}
}

// scopeOf is the namespace that an object is in. The manifest of one outside
// namespaces may name one all the same.
func scopeOf(info *kubeInfo) string {
	if info.Mapping != nil && !info.Namespaced() {
		return ""
	}
	return info.Namespace
}

// newPrior takes from a history the revisions from the last deployed one on. If
// none is deployed now, that is the last that once was, or whose uninstall has
// failed; if none ever was, they are all taken. Base is always among them.
func newPrior(history []*release.Release, base *release.Release) *prior {
	sorted := slices.Clone(history)
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
	p := &prior{
		base: base, revisions: sorted[first:], deployed: map[*release.Release]bool{},
		byID: map[sequencer.ID]*kubeInfo{}, newest: map[sequencer.ID]int{}, of: map[*sequencer.PlannedResource]sequencer.ID{},
		ofBase: map[sequencer.ID]bool{}, established: map[sequencer.ID]bool{},
	}
	for _, rel := range slices.Backward(p.revisions) {
		p.removed = p.removed || wasRemoved(rel)
		p.deployed[rel] = wasDeployed(rel) && !p.removed
	}
	return p
}

// wasDeployed reports whether a revision came to its end.
func wasDeployed(rel *release.Release) bool {
	switch rel.Info.Status {
	case release.StatusDeployed, release.StatusSuperseded, release.StatusUninstalled:
		return true
	}
	return false
}

// wasRemoved reports whether an uninstall has begun on a revision, whatever came
// of it, or on one before that it remembers.
func wasRemoved(rel *release.Release) bool {
	earlier := earlierOf(rel)
	return !rel.Info.Deleted.IsZero() || earlier != nil && earlier.UninstallStarted
}

// earlierOf is what a revision knows of those before it; nil if its record cannot
// be used.
func earlierOf(rel *release.Release) *releaserecord.EarlierRevisions {
	rec, err := releaserecord.Read(rel)
	if err != nil {
		return nil
	}
	return rec.EarlierFor(rel.Version)
}

// isOrdered reports whether any of the revisions was deployed in order. One
// whose record cannot be read was, most likely.
func (p *prior) isOrdered() bool {
	return slices.ContainsFunc(p.revisions, func(rel *release.Release) bool {
		rec, err := releaserecord.Read(rel)
		return err != nil || rec != nil && (rec.Ordered || rec.EarlierFor(rel.Version) != nil)
	})
}

// chartName is the name of a release's chart; that of the release, if it was stored
// without one.
func chartName(rel *release.Release) string {
	if rel.Chart == nil || rel.Chart.Metadata == nil {
		return rel.Name
	}
	return rel.Chart.Name()
}

// leftoversPlan is of what a revision knows to be left of others that may be
// forgotten by now. They have no order.
func leftoversPlan(rel *release.Release) *sequencer.Plan {
	earlier, name := earlierOf(rel), chartName(rel)
	if earlier == nil || len(earlier.Leftovers) == 0 {
		return nil
	}
	var resources []sequencer.Resource
	for _, l := range earlier.Leftovers {
		resources = append(resources, sequencer.Resource{Chart: name, Object: named(l.APIVersion, l.Kind, l.Namespace, l.Name)})
	}
	return sequencer.Unordered(name, resources, rel.Namespace)
}

// named is an object of which no more is known than its name.
func named(apiVersion, kind, namespace, name string) map[string]any {
	return map[string]any{"apiVersion": apiVersion, "kind": kind, "metadata": map[string]any{"name": name, "namespace": namespace}}
}

// earlier is what a new revision, which declares a list, is to know of the
// revisions; nil if that is nothing.
func (p *prior) earlier(revision int, list kube.ResourceList, spared map[sequencer.ID]bool) *releaserecord.EarlierRevisions {
	leftovers := p.leftovers(list, spared)
	if len(leftovers) == 0 && !p.removed {
		return nil
	}
	return &releaserecord.EarlierRevisions{Revision: revision, Leftovers: leftovers, UninstallStarted: p.removed}
}

// leftovers are what the revisions have and a list has not, without what is spared
// or a policy keeps.
func (p *prior) leftovers(list kube.ResourceList, spared map[sequencer.ID]bool) []releaserecord.Leftover {
	policies := p.policies()
	var leftovers []releaserecord.Leftover
	for _, info := range p.without(list) {
		if id := idOf(info); !spared[id] && !keeps(policies[id]) && !keeps(policyOf(info)) {
			apiVersion, kind := info.Mapping.GroupVersionKind.ToAPIVersionAndKind()
			leftovers = append(leftovers, releaserecord.Leftover{APIVersion: apiVersion, Kind: kind, Namespace: scopeOf(info), Name: info.Name})
		}
	}
	return leftovers
}

// revisionPlan rebuilds the graph of a revision; one that was not deployed in
// order is a single node, and so are, if lenient, those whose record is of no
// use.
func revisionPlan(rel *release.Release, lenient bool) (*sequencer.Plan, error) {
	plan, _, err := storedPlan(rel)
	if plan != nil {
		return plan, nil
	}
	var invalid *releaserecord.InvalidError
	if err != nil && (!lenient || !errors.As(err, &invalid)) {
		return nil, err
	}
	name := chartName(rel)
	resources, err := render.Resources(rel.Manifest, nil, &sequencer.Chart{Name: name}, false)
	if err != nil {
		return nil, err
	}
	return sequencer.Unordered(name, resources, rel.Namespace), nil
}

// policies are the resource policies of the objects, as the newest revision that
// has them says.
func (p *prior) policies() map[sequencer.ID]string {
	policies := map[sequencer.ID]string{}
	for _, plan := range p.plans {
		for _, n := range plan.Nodes {
			for _, res := range n.Resources {
				if id, exists := p.of[res]; exists {
					policies[id] = res.Policy
				}
			}
		}
	}
	return policies
}

// infoOf finds the object of a resource of one of the plans.
func (p *prior) infoOf(res *sequencer.PlannedResource) *kubeInfo {
	id, exists := p.of[res]
	if !exists {
		return nil
	}
	return p.byID[id]
}

// without lists what the revisions have and a list does not.
func (p *prior) without(list kube.ResourceList) kube.ResourceList {
	listed := keyed(list)
	var others kube.ResourceList
	for _, info := range p.objects {
		if listed[idOf(info)] == nil {
			others = append(others, info)
		}
	}
	return others
}

// whySpare says why an object that is gone from the release is left alone, as it
// is in the cluster; an empty text deletes it. Besides the policies in manifests
// it heeds the one on the object itself, but not for objects of the base if the
// manifest alone is to decide.
func (p *prior) whySpare(live *unstructured.Unstructured, policies map[sequencer.ID]string, manifestDecides bool) string {
	id := sequencer.ID{
		Group: live.GroupVersionKind().Group, Kind: live.GetKind(), Namespace: live.GetNamespace(), Name: live.GetName(),
	}
	heedsLive := !manifestDecides || !p.ofBase[id]
	if keeps(policies[id]) || heedsLive && keeps(live.GetAnnotations()[kube.ResourcePolicyAnno]) {
		return "its resource policy keeps it; it no longer belongs to the release"
	}
	if whose := ofAnother(live, p.base.Name, p.base.Namespace); whose != "" {
		return whose
	}
	if !p.established[id] && checkOwner(live, p.base.Name, p.base.Namespace) != nil {
		if p.removed {
			return "it does not bear the marks of the release, which was uninstalled in part"
		}
		return "it does not bear the marks of the release, which never was deployed with it"
	}
	return ""
}
