// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/watcher"
)

// rollout deploys the nodes of a plan. A release without an order is a plan of
// one node.
type rollout struct {
	*operation
	deployOptions
	plan   *sequencer.Plan
	ledger *ledger
	// prior is what earlier revisions may have left; nil if there are none.
	prior *prior

	name, namespace string

	// all are the objects, as far as their kinds are known from the start.
	all kube.ResourceList
	// slices are the objects of each node, in the order of its resources.
	slices map[*sequencer.Node]*slice
	// infos are the objects of resources, as far as they are built; mu guards it.
	infos map[*sequencer.PlannedResource]*kubeInfo
	// late are the resources that are built when their node starts, because
	// the cluster does not know their kind before: the release defines it.
	late map[*sequencer.PlannedResource]bool
	// mu guards present, which are the objects that no revision before had and that
	// were in the cluster all the same; created, what this operation created, in an
	// order of kinds; unchanged, what it left as it was; restarted, those whose pods
	// it deleted; and when nodes were applied.
	mu                            sync.Mutex
	present, unchanged, restarted map[*kubeInfo]bool
	created                       kube.ResourceList

	// wrote is whether nodes have changed anything in the cluster.
	wrote atomic.Bool
	sight sight

	resting *resting
	explain explainer
	// peeking has a place for each resource that is looked at while it is
	// waited for.
	peeking chan struct{}

	trackerOnce sync.Once
	tracker     *watcher.Watcher
	trackerErr  error
}

// slice is the objects of one node.
type slice struct {
	node *sequencer.Node
	// list has nil where the object is built when its node starts.
	list []*kubeInfo
	// awaits are the objects whose readiness counts, which group follows.
	awaits []*await
	group  *watcher.Group
	// applied is when all objects were on the server; it is set under the
	// rollout's mu.
	applied time.Time
	// rest is whether they are waited for although nothing depends on them; unready
	// is how many of them are not ready.
	rest    bool
	unready atomic.Int64
}

// build reads the objects: of an ordered release node by node, of one without
// an order the manifest as it is.
func (r *rollout) build(manifest string) error {
	r.slices = map[*sequencer.Node]*slice{}
	if r.whole() {
		list, err := r.cluster.Build([]byte(manifest), r.validate)
		if err != nil {
			return err
		}
		r.all = list
		r.slices[r.plan.Nodes[0]] = &slice{node: r.plan.Nodes[0], list: list}
		return takeOver(list, r.name, r.namespace)
	}
	return r.buildNodes()
}

// buildNodes builds in one go all objects whose kind the cluster can know.
func (r *rollout) buildNodes() error {
	var now []*sequencer.PlannedResource
	r.late, r.infos = map[*sequencer.PlannedResource]bool{}, map[*sequencer.PlannedResource]*kubeInfo{}
	for _, n := range r.plan.Nodes {
		r.slices[n] = &slice{node: n, list: make([]*kubeInfo, len(n.Resources))}
		for _, res := range n.Resources {
			late, err := r.isLate(res)
			if err != nil {
				return err
			}
			if !late {
				now = append(now, res)
			}
		}
	}
	list, err := r.buildResources(now)
	if err != nil {
		return err
	}
	if len(list) == 0 { // no cluster makes objects of the resources
		for _, s := range r.slices {
			s.list = nil
		}
		return nil
	}
	r.all = list
	for _, n := range r.plan.Nodes {
		list = r.place(n, list, false)
	}
	return nil
}

// place puts built objects at the places of the resources of a node that they
// are of, the late ones or the others, and returns those that are left.
func (r *rollout) place(n *sequencer.Node, list kube.ResourceList, late bool) kube.ResourceList {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, res := range n.Resources {
		if r.late[res] == late {
			r.slices[n].list[i], r.infos[res] = list[0], list[0]
			list = list[1:]
		}
	}
	return list
}

// isLate notes whether a resource can only be built once another one has
// defined its kind.
func (r *rollout) isLate(res *sequencer.PlannedResource) (bool, error) {
	foreseen := r.foreseen[schema.GroupKind{Group: res.ID.Group, Kind: res.ID.Kind}]
	if !res.SelfDefined && !foreseen || !r.cluster.Real() {
		return false, nil
	}
	mapping, err := r.cluster.Mapping(res.APIVersion, res.ID.Kind)
	r.late[res] = err == nil && mapping == nil
	return r.late[res], err
}

// buildResources builds objects and marks them as the release's. The list has
// the order of the resources; without a cluster it is empty.
func (r *rollout) buildResources(resources []*sequencer.PlannedResource) (kube.ResourceList, error) {
	list, err := buildObjects(r.cluster, resources, r.validate)
	if err != nil {
		return nil, err
	}
	if len(list) != len(resources) && len(list) != 0 {
		return nil, fmt.Errorf("%d resources were read as %d objects", len(resources), len(list))
	}
	return list, takeOver(list, r.name, r.namespace)
}

// buildObjects builds resources in their order.
func buildObjects(c *cluster.Client, resources []*sequencer.PlannedResource, validate bool) (kube.ResourceList, error) {
	if len(resources) == 0 {
		return nil, nil
	}
	objects := make([]map[string]any, len(resources))
	for i, res := range resources {
		objects[i] = res.Object()
	}
	return c.BuildObjects(objects, validate)
}

// unknown lists the objects that no deployed revision before has.
func (r *rollout) unknown(list kube.ResourceList) kube.ResourceList {
	if r.prior == nil {
		return list
	}
	var unknown kube.ResourceList
	for _, info := range list {
		if !r.prior.established[idOf(info)] {
			unknown = append(unknown, info)
		}
	}
	return unknown
}

// findExisting looks which objects are in the cluster already.
func (r *rollout) findExisting(ctx context.Context, list kube.ResourceList) error {
	present, err := existing(ctx, r.cluster, list, owner{r.name, r.namespace, r.takeOwnership})
	if err != nil {
		return err
	}
	r.notePresent(slices.DeleteFunc(present, func(info *kubeInfo) bool { return r.declared(info) != nil })...)
	return nil
}

// notePresent notes objects that were there although no revision had them.
func (r *rollout) notePresent(list ...*kubeInfo) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.present == nil {
		r.present = map[*kubeInfo]bool{}
	}
	for _, info := range list {
		r.present[info] = true
	}
}

// deploy applies every node, each once all it depends on is ready. An ordered
// one fails with a *DeployError.
func (r *rollout) deploy(ctx context.Context) error {
	err := sequencer.Execute(ctx, r.plan, r.deployNode)
	if err != nil {
		return r.failure(ctx, err)
	}
	return nil
}

// whole reports whether the release has no order.
func (r *rollout) whole() bool {
	return len(r.plan.Nodes) == 1 && len(r.plan.Nodes[0].Resources) == 0
}

func (r *rollout) deployNode(ctx context.Context, n, after *sequencer.Node) error {
	s := r.slices[n]
	if r.whole() {
		_, err := r.apply(ctx, s.list) // no order: nothing to report or to wait for
		return err
	}
	if r.resting.hasFailed() {
		return errElsewhere // as after any failure, nothing new starts
	}
	started := Event{Type: EventNodeStarted, Node: n.ID(), Message: summary(n.Resources)}
	if after != nil {
		started.After = after.ID()
	}
	r.events.emit(started)
	r.ledger.at(n.ID())
	what, err := r.applyNode(ctx, s)
	if err == nil {
		r.events.emit(Event{Type: EventNodeApplied, Node: n.ID(), Message: what})
		if n.Awaited {
			err = r.awaitNode(ctx, s)
		} else {
			r.followRest(ctx, s)
		}
	}
	if err != nil {
		var failures resourceFailures
		if !errors.As(err, &failures) {
			err = r.notApplied(ctx, n, err)
		}
		r.events.emit(Event{Type: EventNodeFailed, Node: n.ID(), Err: err, Message: err.Error()})
		return err
	}
	if !s.rest { // else it is done when it is ready
		r.events.emit(Event{Type: EventNodeReady, Node: n.ID()})
		r.ledger.done(n.ID())
	}
	return nil
}

// infoOf finds the object of a resource of the plan; nil while it is not built.
func (r *rollout) infoOf(res *sequencer.PlannedResource) *kubeInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.infos[res]
}

// everything lists all objects, those that were built late too.
func (r *rollout) everything() kube.ResourceList {
	if r.whole() {
		return r.all
	}
	var list kube.ResourceList
	for _, n := range r.plan.Nodes {
		for _, info := range r.slices[n].list {
			if info != nil {
				list = append(list, info)
			}
		}
	}
	return list
}

// applyNode builds what could not be built before, and applies the node's
// objects while their readiness is already followed.
func (r *rollout) applyNode(ctx context.Context, s *slice) (what string, err error) {
	if err := r.buildLate(ctx, s); err != nil {
		return "", err
	}
	if err := r.follow(ctx, s); err != nil {
		return "", err
	}
	if what, err = r.apply(ctx, s.list); err != nil {
		return "", err
	}
	return what, r.wasApplied(s)
}

// buildLate builds the objects whose kind a node before has defined by now.
func (r *rollout) buildLate(ctx context.Context, s *slice) error {
	var late []*sequencer.PlannedResource
	for _, res := range s.node.Resources {
		if r.late[res] {
			late = append(late, res)
		}
	}
	if len(late) == 0 {
		return nil
	}
	if err := r.discover(ctx, late); err != nil {
		return err
	}
	list, err := r.buildResources(late)
	if err != nil || len(list) == 0 {
		return err
	}
	if err := r.findExisting(ctx, r.unknown(list)); err != nil {
		return err
	}
	r.place(s.node, list, true)
	return nil
}

// discover has the cluster asked again for its kinds, unless those that are
// needed were found meanwhile.
func (r *rollout) discover(ctx context.Context, late []*sequencer.PlannedResource) error {
	var missing []schema.GroupVersionKind
	for _, res := range late {
		mapping, err := r.cluster.Mapping(res.APIVersion, res.ID.Kind)
		if err != nil {
			return err
		}
		if mapping == nil {
			missing = append(missing, schema.FromAPIVersionAndKind(res.APIVersion, res.ID.Kind))
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return r.cluster.AwaitKinds(ctx, missing)
}

// adopted are the objects that were there before and did not belong to the
// release, or not as far as it knew.
func (r *rollout) adopted() map[sequencer.ID]bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	ids := map[sequencer.ID]bool{}
	for info := range r.present {
		ids[idOf(info)] = true
	}
	return ids
}

// close ends everything that still goes on.
func (r *rollout) close() {
	r.resting.stop(errElsewhere)
	if r.tracker != nil {
		r.tracker.Close()
	}
}
