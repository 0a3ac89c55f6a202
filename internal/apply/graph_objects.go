// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// GraphObjects contains the Kubernetes objects of the nodes of a deployment graph. Building an
// object means looking up the API resource of its kind in the cluster, and labeling the
// object as owned by the release. If the release itself defines the kind of an object, the
// object is built only when the deployment of its node starts, because the cluster does not
// know the kind before.
type GraphObjects struct {
	config GraphObjectsConfig
	// all are the objects that BuildObjects could build, in the order of the graph.
	all kube.ResourceList
	// skipped are the objects of Plan.Skipped whose kinds the cluster knows.
	skipped kube.ResourceList

	mu sync.Mutex
	// byNode contains the objects of each node, in the order of its resources; objects that
	// are not built yet are nil. byResource contains the objects that are built.
	byNode     map[*sequencer.Node][]*object.Info
	byResource map[*sequencer.PlannedResource]*object.Info
	// late are the resources whose objects are built when the deployment of their node
	// starts.
	late map[*sequencer.PlannedResource]bool
}

// GraphObjectsConfig contains the parameters of BuildObjects.
type GraphObjectsConfig struct {
	Cluster *cluster.Client
	Plan    *sequencer.Plan
	Owner   object.OwningRelease
	// Validate says whether to check the objects against the OpenAPI schemas of the cluster.
	Validate bool
	// PendingKinds are kinds that the cluster does not know yet, but that the deployment
	// would define. Only a preview sets them.
	PendingKinds map[schema.GroupKind]bool
}

// BuildObjects builds the objects of the graph whose kinds the cluster knows.
func BuildObjects(c GraphObjectsConfig) (*GraphObjects, error) {
	o := &GraphObjects{
		config: c, byNode: make(map[*sequencer.Node][]*object.Info, len(c.Plan.Nodes)),
		byResource: map[*sequencer.PlannedResource]*object.Info{}, late: map[*sequencer.PlannedResource]bool{},
	}
	var known []*sequencer.PlannedResource
	for _, n := range c.Plan.Nodes {
		o.byNode[n] = make([]*object.Info, len(n.Resources))
		for _, res := range n.Resources {
			late, err := o.isLate(res)
			if err != nil {
				return nil, err
			}
			if o.late[res] = late; !late {
				known = append(known, res)
			}
		}
	}
	list, err := o.build(known)
	if err != nil {
		return nil, err
	}
	if o.skipped, err = o.buildSkipped(); err != nil {
		return nil, err
	}
	o.all = list
	if len(list) == 0 && len(known) > 0 { // without a cluster no objects are built
		clear(o.byNode)
		return o, nil
	}
	for _, n := range c.Plan.Nodes {
		list = o.assignToNodes(n, list, false)
	}
	return o, nil
}

// buildSkipped builds the objects that do not take part in the operation. Those of a kind that the cluster does not
// know cannot exist.
func (o *GraphObjects) buildSkipped() (kube.ResourceList, error) {
	var known []*sequencer.PlannedResource
	for _, res := range o.config.Plan.Skipped {
		unknown, err := o.config.Cluster.IsUnknownKind(res.APIVersion, res.ID.Kind)
		if err != nil {
			return nil, err
		}
		if !unknown {
			known = append(known, res)
		}
	}
	return o.build(known)
}

// isLate reports whether the object of a resource can be built only when the deployment of
// its node starts, because the release defines the kind of the object, and the cluster
// does not know this kind yet.
func (o *GraphObjects) isLate(res *sequencer.PlannedResource) (bool, error) {
	pending := o.config.PendingKinds[schema.GroupKind{Group: res.ID.Group, Kind: res.ID.Kind}]
	if !res.SelfDefined && !pending {
		return false, nil
	}
	return o.config.Cluster.IsUnknownKind(res.APIVersion, res.ID.Kind)
}

// build builds the objects of resources, in the same order. Without a cluster, it returns no
// objects.
func (o *GraphObjects) build(resources []*sequencer.PlannedResource) (kube.ResourceList, error) {
	if len(resources) == 0 {
		return nil, nil
	}
	contents := make([]map[string]any, len(resources))
	for i, res := range resources {
		contents[i] = res.Object()
	}
	list, err := o.config.Cluster.BuildObjects(contents, o.config.Validate)
	if err != nil {
		return nil, err
	}
	if len(list) != len(resources) && len(list) != 0 {
		return nil, fmt.Errorf("%d resources were read as %d objects", len(resources), len(list))
	}
	return list, object.SetOwner(list, o.config.Owner)
}

// assignToNodes assigns the first objects of list to resources of node n: to its late
// resources if late is true, otherwise to its other resources. It returns the rest of list.
func (o *GraphObjects) assignToNodes(n *sequencer.Node, list kube.ResourceList, late bool) kube.ResourceList {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, res := range n.Resources {
		if o.late[res] == late {
			o.byNode[n][i], o.byResource[res] = list[0], list[0]
			list = list[1:]
		}
	}
	return list
}

// All returns the objects that BuildObjects could build, in the order of the graph.
func (o *GraphObjects) All() kube.ResourceList { return o.all }

// Skipped returns the objects that are part of the revision, but do not take part in the operation.
func (o *GraphObjects) Skipped() kube.ResourceList { return o.skipped }

// OfNode returns the objects of a node, in the order of its resources. An object that is not
// built yet is nil.
func (o *GraphObjects) OfNode(n *sequencer.Node) kube.ResourceList {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.byNode[n]
}

// InfoOf returns the object of a resource of the graph, or nil if it is not built yet.
func (o *GraphObjects) InfoOf(res *sequencer.PlannedResource) *object.Info {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.byResource[res]
}

// Built returns all objects that have been built so far, in the order of the graph.
func (o *GraphObjects) Built() kube.ResourceList {
	o.mu.Lock()
	defer o.mu.Unlock()
	var list kube.ResourceList
	for _, n := range o.config.Plan.Nodes {
		for _, info := range o.byNode[n] {
			if info != nil {
				list = append(list, info)
			}
		}
	}
	return list
}

// BuildLate builds those objects of n that BuildObjects could not build, because another
// node of the graph defines their kinds. It calls check with them, and adds them to o if
// check returns no error.
func (o *GraphObjects) BuildLate(ctx context.Context, n *sequencer.Node, check func(kube.ResourceList) error) error {
	var late []*sequencer.PlannedResource
	for _, res := range n.Resources {
		if o.late[res] {
			late = append(late, res)
		}
	}
	if len(late) == 0 {
		return nil
	}
	if err := o.discover(ctx, late); err != nil {
		return err
	}
	list, err := o.build(late)
	if err != nil || len(list) == 0 {
		return err
	}
	if err := check(list); err != nil {
		return err
	}
	o.assignToNodes(n, list, true)
	return nil
}

// discover waits until the cluster serves the kinds of the resources.
func (o *GraphObjects) discover(ctx context.Context, late []*sequencer.PlannedResource) error {
	var missing []schema.GroupVersionKind
	for _, res := range late {
		unknown, err := o.config.Cluster.IsUnknownKind(res.APIVersion, res.ID.Kind)
		if err != nil {
			return err
		}
		if unknown {
			missing = append(missing, schema.FromAPIVersionAndKind(res.APIVersion, res.ID.Kind))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return o.config.Cluster.AwaitKinds(ctx, missing)
}
