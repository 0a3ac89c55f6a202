// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"strings"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// readAtOnce reads what the base consists of, as Helm does.
func (p *prior) readAtOnce(c *cluster.Client) error {
	list, err := c.Build([]byte(p.base.Manifest), false)
	if err != nil {
		return removedKinds(err)
	}
	p.objects, p.declared = list, contentsOf(list)
	for _, info := range list {
		id := idOf(info)
		p.byID[id], p.newest[id], p.ofBase[id], p.established[id] = info, p.base.Version, true, true
	}
	return nil
}

// addOthers adds to the base what the other revisions have, and what the base
// itself knows to be left of others.
func (p *prior) addOthers(c *cluster.Client) error {
	for _, rel := range p.revisions {
		if rel != p.base {
			if err := p.addRevision(c, rel, true); err != nil {
				return err
			}
		}
		if err := p.addLeftovers(c, rel); err != nil {
			return err
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
		if err := p.addRevision(c, rel, lenient); err != nil {
			return err
		}
		if err := p.addLeftovers(c, rel); err != nil {
			return err
		}
	}
	return nil
}

// addRevision adds what a revision declares.
func (p *prior) addRevision(c *cluster.Client, rel *release.Release, lenient bool) error {
	plan, err := revisionPlan(rel, lenient)
	if err != nil {
		return err
	}
	ids, err := p.addPlan(c, rel, plan)
	for _, id := range ids {
		p.ofBase[id] = p.ofBase[id] || rel == p.base
		p.established[id] = p.established[id] || p.deployed[rel]
	}
	return err
}

// addLeftovers adds what a revision knows to be left of others.
func (p *prior) addLeftovers(c *cluster.Client, rel *release.Release) error {
	plan := leftoversPlan(rel)
	if plan == nil {
		return nil
	}
	_, err := p.addPlan(c, rel, plan)
	return err
}

// addPlan reads the objects of a plan of a revision, and lists which they are.
func (p *prior) addPlan(c *cluster.Client, rel *release.Release, plan *sequencer.Plan) ([]sequencer.ID, error) {
	list, resources, err := p.objectsOf(c, rel, plan)
	if err != nil {
		return nil, fmt.Errorf("revision %d: %w", rel.Version, err)
	}
	p.plans = append(p.plans, plan)
	ids := make([]sequencer.ID, len(list))
	for i, info := range list {
		ids[i] = idOf(info)
		p.of[resources[i]] = ids[i]
		if err := p.add(ids[i], info, rel.Version); err != nil {
			return nil, fmt.Errorf("revision %d: %w", rel.Version, err)
		}
	}
	return ids, nil
}

// objectsOf finds the objects of a plan of a revision, with the resources that
// they are of. Where the cluster does not know a kind no such object is left: of
// the base that counts only for kinds that the release has defined itself.
func (p *prior) objectsOf(c *cluster.Client, rel *release.Release, plan *sequencer.Plan) (kube.ResourceList, []*sequencer.PlannedResource, error) {
	var resources []*sequencer.PlannedResource
	var objects []map[string]any
	for _, n := range plan.Nodes {
		for _, res := range n.Resources {
			object := res.Object()
			if c.Real() && (rel != p.base || res.SelfDefined) {
				var err error
				if object, err = asServed(c, res); err != nil {
					return nil, nil, err
				}
			}
			if object != nil {
				resources, objects = append(resources, res), append(objects, object)
			}
		}
	}
	if !c.Direct() {
		list, err := buildObjects(c, resources, false)
		if err != nil {
			return nil, nil, removedKinds(err)
		}
		return list, resources, nil
	}
	list := make(kube.ResourceList, len(objects))
	for i, object := range objects {
		var err error
		if list[i], err = c.Object(object, p.base.Namespace); err != nil {
			return nil, nil, removedKinds(err)
		}
	}
	return list, resources, nil
}

// asServed is the object of a resource in a version that the cluster serves; nil
// if it does not know the kind. In another version than the resource's own the
// object means something else, so that only its name is taken over.
func asServed(c *cluster.Client, res *sequencer.PlannedResource) (map[string]any, error) {
	mapping, err := c.Mapping(res.APIVersion, res.ID.Kind)
	if err != nil {
		return nil, err
	}
	if mapping != nil {
		return res.Object(), nil
	}
	if !c.Direct() {
		return nil, nil
	}
	gv, err := schema.ParseGroupVersion(res.APIVersion)
	if err != nil {
		return nil, err
	}
	mapping, err = c.Mapping(gv.Group+"/", res.ID.Kind) // in any version
	if err != nil || mapping == nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: res.Object()}
	return named(mapping.GroupVersionKind.GroupVersion().String(), res.ID.Kind, object.GetNamespace(), object.GetName()), nil
}

// add notes an object that a revision has. One that others have too is taken as
// all of them together declared it, so that what any of them set is known to be the
// release's.
func (p *prior) add(id sequencer.ID, info *kubeInfo, revision int) error {
	p.declared = append(p.declared, contentsOf(kube.ResourceList{info})...)
	known := p.byID[id]
	if known == nil {
		p.byID[id], p.newest[id] = info, revision
		p.objects.Append(info)
		return nil
	}
	older, newer := *known, *info
	if p.newest[id] > revision {
		older, newer = newer, older
	}
	p.newest[id] = max(p.newest[id], revision)
	from, isFrom := older.Object.(*unstructured.Unstructured)
	to, isTo := newer.Object.(*unstructured.Unstructured)
	both := newer.Object
	if isFrom && isTo {
		var err error
		if both, err = cluster.MergeOriginals(from, to); err != nil {
			return fmt.Errorf("%s: %w", describe(info), err)
		}
	}
	known.Object, known.Mapping, known.Client = both, newer.Mapping, newer.Client
	return nil
}
