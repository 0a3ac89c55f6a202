// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/record"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/pkg/sequencer"
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

	// plans are the graphs of the revisions, in the order in which they count.
	plans []*sequencer.Plan
	// objects are what the revisions consist of, each object once, as all of them
	// together declared it.
	objects kube.ResourceList
	byID    map[sequencer.ID]*kubeInfo
	// ofBase are those of them that the base has; established are those that were
	// part of a deployed revision. Of others it is not known whether they were ever
	// created: what bears such a name may be somebody else's.
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
	return &prior{
		base: base, revisions: sorted[first:],
		byID: map[sequencer.ID]*kubeInfo{}, of: map[*sequencer.PlannedResource]sequencer.ID{},
		ofBase: map[sequencer.ID]bool{}, established: map[sequencer.ID]bool{},
	}
}

// wasDeployed reports whether a revision came to its end.
func wasDeployed(rel *release.Release) bool {
	switch rel.Info.Status {
	case release.StatusDeployed, release.StatusSuperseded, release.StatusUninstalled:
		return true
	}
	return false
}

// isEstablished reports whether what a revision declares is the release's without
// bearing its marks: it was deployed, and not uninstalled, as a failed one may be.
func isEstablished(rel *release.Release) bool { return wasDeployed(rel) && rel.Info.Deleted.IsZero() }

// isOrdered reports whether any of the revisions was deployed in order. One
// whose record cannot be read was, most likely.
func (p *prior) isOrdered() bool {
	return slices.ContainsFunc(p.revisions, func(rel *release.Release) bool {
		rec, err := record.Read(rel)
		return err != nil || rec != nil && (rec.Sequenced || len(rec.Leftovers) > 0)
	})
}

// readAtOnce reads what the base consists of, as Helm does.
func (p *prior) readAtOnce(c *cluster.Client) error {
	list, err := c.Build([]byte(p.base.Manifest), false)
	if err != nil {
		return removedKinds(err)
	}
	p.objects = list
	for _, info := range list {
		id := idOf(info)
		p.byID[id], p.ofBase[id], p.established[id] = info, true, true
	}
	return nil
}

// addOthers adds what only the other revisions have, as far as the cluster knows
// its kind.
func (p *prior) addOthers(c *cluster.Client) error {
	for _, rel := range p.revisions {
		if rel == p.base {
			continue
		}
		plan, err := revisionPlan(rel, true)
		if err != nil {
			return err
		}
		for _, plan := range []*sequencer.Plan{plan, leftoversPlan(rel)} {
			list, resources, err := p.objectsOf(c, rel, plan)
			if err != nil {
				return fmt.Errorf("revision %d: %w", rel.Version, err)
			}
			if plan != nil {
				p.plans = append(p.plans, plan)
			}
			for i, info := range list {
				id := idOf(info)
				p.of[resources[i]] = id
				if p.byID[id] == nil {
					p.established[id] = isEstablished(rel)
				}
				if err := p.add(id, info); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// removedKinds explains that the cluster no longer has a kind.
func removedKinds(err error) error {
	if strings.Contains(err.Error(), `unable to recognize "": no matches for kind`) {
		return fmt.Errorf("current release manifest contains removed kubernetes api(s) for this "+
			"kubernetes version and it is therefore unable to build the kubernetes "+
			"objects for performing the diff. error from kubernetes: %w", err)
	}
	return fmt.Errorf("unable to build kubernetes objects from current release manifest: %w", err)
}

// readPlans reads what all revisions consist of, and in which order they were
// deployed: the last deployed one counts first. Asked to, it takes a revision
// whose record cannot be used for one without an order.
func (p *prior) readPlans(ctx context.Context, c *cluster.Client, lenient bool) error {
	for _, rel := range p.revisions {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		plan, err := revisionPlan(rel, lenient)
		if err != nil {
			return err
		}
		for _, plan := range []*sequencer.Plan{plan, leftoversPlan(rel)} {
			if err := p.addPlan(c, rel, plan); err != nil {
				return fmt.Errorf("revision %d: %w", rel.Version, err)
			}
		}
	}
	return nil
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
	rec, err := record.Read(rel)
	if err != nil || rec == nil || rec.Revision != rel.Version {
		return nil
	}
	var resources []sequencer.Resource
	for _, l := range rec.Leftovers {
		resources = append(resources, sequencer.Resource{Chart: rec.Root.Name, Object: map[string]any{
			"apiVersion": l.APIVersion, "kind": l.Kind, "metadata": map[string]any{"name": l.Name, "namespace": l.Namespace},
		}})
	}
	if len(resources) == 0 {
		return nil
	}
	return sequencer.Unordered(rec.Root.Name, resources, rel.Namespace)
}

// leftovers are what the revisions have and a list has not, without what is spared
// or a policy keeps.
func (p *prior) leftovers(list kube.ResourceList, spared map[sequencer.ID]bool) []record.Leftover {
	policies := p.policies()
	var leftovers []record.Leftover
	for _, info := range p.without(list) {
		if id := idOf(info); !spared[id] && !keeps(policies[id]) && !keeps(policyOf(info)) {
			apiVersion, kind := info.Mapping.GroupVersionKind.ToAPIVersionAndKind()
			leftovers = append(leftovers, record.Leftover{APIVersion: apiVersion, Kind: kind, Namespace: scopeOf(info), Name: info.Name})
		}
	}
	return leftovers
}

// revisionPlan rebuilds the graph of a revision; one that was not deployed in
// order is a single node, and so are, if lenient, those whose record is of no
// use.
func revisionPlan(rel *release.Release, lenient bool) (*sequencer.Plan, error) {
	plan, err := ReleasePlan(rel)
	if plan != nil {
		return plan, nil
	}
	var invalid *record.InvalidError
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

// addPlan reads the objects of a plan of a revision, if there is one.
func (p *prior) addPlan(c *cluster.Client, rel *release.Release, plan *sequencer.Plan) error {
	list, resources, err := p.objectsOf(c, rel, plan)
	if err != nil || plan == nil {
		return err
	}
	p.plans = append(p.plans, plan)
	for i, info := range list {
		id := idOf(info)
		p.of[resources[i]] = id
		p.ofBase[id] = p.ofBase[id] || rel == p.base
		p.established[id] = p.established[id] || isEstablished(rel)
		if err := p.add(id, info); err != nil {
			return err
		}
	}
	return nil
}

// objectsOf finds the objects of a plan of a revision, with the resources that
// they are of. Where the cluster does not know a kind no such object is left: of
// the base that counts only for kinds that the release has defined itself.
func (p *prior) objectsOf(c *cluster.Client, rel *release.Release, plan *sequencer.Plan) (kube.ResourceList, []*sequencer.PlannedResource, error) {
	if plan == nil {
		return nil, nil, nil
	}
	var resources []*sequencer.PlannedResource
	for _, n := range plan.Nodes {
		for _, res := range n.Resources {
			if c.Real() && (rel != p.base || res.SelfDefined) {
				mapping, err := c.Mapping(res.APIVersion, res.ID.Kind)
				if err != nil {
					return nil, nil, err
				}
				if mapping == nil {
					continue
				}
			}
			resources = append(resources, res)
		}
	}
	list, err := p.build(c, resources)
	if err != nil {
		return nil, nil, removedKinds(err)
	}
	return list, resources, nil
}

// build finds the objects of resources, in their order.
func (p *prior) build(c *cluster.Client, resources []*sequencer.PlannedResource) (kube.ResourceList, error) {
	if !c.Direct() {
		return buildObjects(c, resources, false)
	}
	list := make(kube.ResourceList, len(resources))
	for i, res := range resources {
		var err error
		if list[i], err = c.Object(res.Object(), p.base.Namespace); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// add notes an object; one that an older revision declared too is taken as both
// of them together declared it, so that what either set is known to be the
// release's.
func (p *prior) add(id sequencer.ID, info *kubeInfo) error {
	older := p.byID[id]
	if older == nil {
		p.byID[id] = info
		p.objects.Append(info)
		return nil
	}
	from, isFrom := older.Object.(*unstructured.Unstructured)
	to, isTo := info.Object.(*unstructured.Unstructured)
	if !isFrom || !isTo {
		older.Object, older.Mapping, older.Client = info.Object, info.Mapping, info.Client
		return nil
	}
	both, err := cluster.MergeOriginals(from, to)
	if err != nil {
		return fmt.Errorf("%s: %w", describe(info), err)
	}
	older.Object, older.Mapping, older.Client = both, info.Mapping, info.Client
	return nil
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
		return "it does not bear the marks of the release, which never was deployed with it"
	}
	return ""
}
