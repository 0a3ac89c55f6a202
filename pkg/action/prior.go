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
	// of is the identity, as the cluster has it, of each resource in plans that
	// can exist there.
	of map[*sequencer.PlannedResource]sequencer.ID
}

// idOf is the identity of an object as the cluster has it.
func idOf(info *kubeInfo) sequencer.ID {
	gvk := info.Mapping.GroupVersionKind
	return sequencer.ID{Group: gvk.Group, Kind: gvk.Kind, Namespace: scopeOf(info), Name: info.Name}
}

// scopeOf is the namespace that an object is in. The manifest of one outside
// namespaces may name one all the same.
func scopeOf(info *kubeInfo) string {
	if !info.Namespaced() {
		return ""
	}
	return info.Namespace
}

// newPrior takes from a history the revisions from the last one that was deployed
// on, or from the first one if none ever was; base is always among them.
func newPrior(history []*release.Release, base *release.Release) *prior {
	sorted := slices.Clone(history)
	releaseutil.SortByRevision(sorted)
	first := 0
	for i, rel := range sorted {
		switch rel.Info.Status {
		case release.StatusDeployed, release.StatusSuperseded, release.StatusUninstalled:
			first = i
		}
	}
	if i := slices.IndexFunc(sorted, func(rel *release.Release) bool { return rel.Version == base.Version }); i >= 0 {
		first, sorted[i] = min(first, i), base
	}
	return &prior{base: base, revisions: sorted[first:]}
}

// isOrdered reports whether any of the revisions was deployed in order. One
// whose record cannot be read was, most likely.
func (p *prior) isOrdered() bool {
	return slices.ContainsFunc(p.revisions, func(rel *release.Release) bool {
		rec, err := record.Read(rel)
		return err != nil || rec != nil && rec.Sequenced
	})
}

// readAtOnce reads what the base consists of, as Helm does.
func (p *prior) readAtOnce(c *cluster.Client) error {
	list, err := c.Build([]byte(p.base.Manifest), false)
	if err != nil {
		return removedKinds(err)
	}
	p.objects, p.byID = list, make(map[sequencer.ID]*kubeInfo, len(list))
	for _, info := range list {
		p.byID[idOf(info)] = info
	}
	return nil
}

// addOthers adds what only the other revisions have, or remember of those before.
func (p *prior) addOthers(c *cluster.Client) error {
	for _, rel := range p.revisions {
		var list kube.ResourceList
		_, left, err := p.built(c, leftoversPlan(rel))
		if err == nil && rel != p.base {
			list, err = c.Build([]byte(rel.Manifest), false)
		}
		if err != nil {
			return fmt.Errorf("revision %d: %w", rel.Version, removedKinds(err))
		}
		for _, info := range append(list, left...) {
			if id := idOf(info); p.byID[id] == nil {
				p.byID[id] = info
				p.objects.Append(info)
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
	p.byID = map[sequencer.ID]*kubeInfo{}
	p.of = map[*sequencer.PlannedResource]sequencer.ID{}
	for _, rel := range p.revisions {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		plan, err := revisionPlan(rel, lenient)
		if err != nil {
			return err
		}
		for _, plan := range []*sequencer.Plan{plan, leftoversPlan(rel)} {
			if err := p.addPlan(c, plan); err != nil {
				return fmt.Errorf("revision %d: %w", rel.Version, err)
			}
		}
	}
	return nil
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

// leftovers are what the revisions have and a list has not, without what a policy
// keeps.
func (p *prior) leftovers(list kube.ResourceList) []record.Leftover {
	policies := p.policies()
	var leftovers []record.Leftover
	for _, info := range p.without(list) {
		if !keeps(policies[idOf(info)]) {
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
	name := rel.Name
	if rel.Chart != nil && rel.Chart.Metadata != nil {
		name = rel.Chart.Name()
	}
	resources, err := render.Resources(rel.Manifest, nil, &sequencer.Chart{Name: name}, false)
	if err != nil {
		return nil, err
	}
	return sequencer.Unordered(name, resources, rel.Namespace), nil
}

// addPlan builds the objects of a plan, if there is one.
func (p *prior) addPlan(c *cluster.Client, plan *sequencer.Plan) error {
	if plan == nil {
		return nil
	}
	p.plans = append(p.plans, plan)
	known, list, err := p.built(c, plan)
	if err != nil {
		return removedKinds(err)
	}
	for i, info := range list {
		id := idOf(info)
		p.of[known[i]] = id
		if err := p.add(id, info); err != nil {
			return err
		}
	}
	return nil
}

// built lists the resources of a plan, if there is one, whose kinds the cluster
// has, and their objects.
func (p *prior) built(c *cluster.Client, plan *sequencer.Plan) ([]*sequencer.PlannedResource, kube.ResourceList, error) {
	if plan == nil {
		return nil, nil, nil
	}
	var known []*sequencer.PlannedResource
	for _, n := range plan.Nodes {
		for _, res := range n.Resources {
			gone, err := isUndefined(c, res)
			if err != nil {
				return nil, nil, err
			}
			if !gone {
				known = append(known, res)
			}
		}
	}
	list, err := p.objectsOf(c, known)
	return known, list, err
}

// objectsOf finds the objects of resources, in their order.
func (p *prior) objectsOf(c *cluster.Client, resources []*sequencer.PlannedResource) (kube.ResourceList, error) {
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

// isUndefined reports whether the cluster does not have the kind of a resource
// that the release itself defined: then no such object is left either.
func isUndefined(c *cluster.Client, res *sequencer.PlannedResource) (bool, error) {
	if !res.SelfDefined || !c.Real() {
		return false, nil
	}
	mapping, err := c.Mapping(res.APIVersion, res.ID.Kind)
	return mapping == nil, err
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
