// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package apply decides how to write the objects of a release to the cluster: which objects
// to create, which to change, and which earlier declaration a change is computed from.
// Before that, it checks whether the objects can be written (docs/reference.md, "Upgrade").
// It writes the objects of one node of the deployment graph at a time or, for a release
// without an order, all objects. Package objectwriter sends the requests.
package apply

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/inventory"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
)

// ApplierConfig contains the parameters of New.
type ApplierConfig struct {
	Cluster cluster.Reader
	Writer  objectwriter.Writer
	Log     func(string, ...any)
	Owner   object.OwningRelease
	// ReadAhead contains the objects of all nodes. As long as nothing has been written,
	// ApplyNode reads all of them at the same time, instead of reading the objects of each
	// node separately. If it is empty, ApplyNode reads only the objects of its node.
	ReadAhead kube.ResourceList
	// Inventory contains the objects that earlier revisions may have left in the cluster;
	// nil if there are no earlier revisions.
	Inventory *inventory.Inventory
	// Force replaces existing objects instead of patching them. TakeOwnership adopts
	// existing objects of other owners instead of rejecting them. ThreeWay uses three-way
	// merge patches for custom resources, too. RecreatePods deletes the pods of workloads
	// that already existed.
	Force, TakeOwnership, ThreeWay, RecreatePods bool
	// Deferrer can defer objects in ApplyNode; nil if no objects are deferred.
	Deferrer Deferrer
	// Recreator recreates objects that cannot be changed in place; nil if none are recreated.
	Recreator objectwriter.Recreator
}

// Deferrer decides which objects of a node are written only after the others, because they
// must wait for something. It must be safe for concurrent use.
type Deferrer interface {
	// MustDefer reports whether an object must wait. live is its state in the cluster, or nil
	// if it does not exist. unchanged says whether live is as declared.
	MustDefer(ctx context.Context, info *object.Info, live *unstructured.Unstructured, unchanged bool) (bool, error)
	// Prepare waits until the objects in list, which were deferred, can be written.
	Prepare(ctx context.Context, list kube.ResourceList) error
}

// Applier writes the objects of one revision during one operation, and records what was done
// with each object. It is safe for concurrent use.
type Applier struct {
	config ApplierConfig
	cache  *liveCache

	// mu guards the fields below.
	mu sync.Mutex
	// present contains the objects of the new revision that exist in the cluster although no
	// earlier revision declares them; nil before FindExisting has run.
	present map[*object.Info]bool
	// created are the objects that the operation created. states maps the written objects to
	// the states that the server returned. unchanged are the objects that needed no change.
	created   kube.ResourceList
	states    object.LiveObjects
	unchanged map[*object.Info]bool
	// restarted maps the objects whose pods the operation deleted to their states before
	// that.
	restarted map[sequencer.ID]*object.Info
	// hasWritten says whether the operation has changed anything in the cluster.
	hasWritten bool
}

// New returns an Applier that has not written anything.
func New(c ApplierConfig) *Applier {
	a := &Applier{config: c, states: object.LiveObjects{}, unchanged: map[*object.Info]bool{}, restarted: map[sequencer.ID]*object.Info{}}
	a.cache = &liveCache{cluster: c.Cluster, all: c.ReadAhead, isAbsent: a.IsAbsent, isStale: a.wroteAnything}
	return a
}

// SetOwner makes the objects that are written from now on have a reference to the Release that owns them; nil if
// releases are not stored as objects. It must be called before anything is written.
func (a *Applier) SetOwner(release *object.ReleaseReference) {
	a.config.Writer = a.config.Writer.OwnedBy(release)
}

// NeverDeployed returns the objects of list that were not part of any deployed revision.
func (a *Applier) NeverDeployed(list kube.ResourceList) kube.ResourceList {
	var unknown kube.ResourceList
	for _, info := range list {
		if !a.config.Inventory.WasDeployed(info) {
			unknown = append(unknown, info)
		}
	}
	return unknown
}

// Result describes what ApplyNode or ApplyAll has written.
type Result struct {
	// Summary says how many objects ApplyNode created, recreated, changed and left unchanged, as in
	// "1 created, 2 changed". It is empty if ApplyNode knew that none of the objects
	// existed, and therefore created all of them.
	Summary string
	// States maps the written objects to the states that the server returned.
	States object.LiveObjects
	// Pruned says whether a custom Kubernetes client has also deleted the objects that are
	// no longer in the chart.
	Pruned bool
	// DeletedPods are the pods that ApplyNode deleted because of RecreatePods.
	DeletedPods []object.PodRef
}

// ApplyNode creates or changes the objects of one node. If RecreatePods is set, it then
// deletes the pods of those workloads that already existed, without waiting until the pods
// are gone.
func (a *Applier) ApplyNode(ctx context.Context, list kube.ResourceList) (Result, error) {
	if a.noneExists(list) {
		return a.createNode(ctx, list)
	}
	o := a.nodeOptions(list)
	o.Live = a.cache.get
	if a.config.Deferrer != nil {
		o.Defer = a.config.Deferrer.MustDefer
	}
	done, err := a.config.Writer.Apply(ctx, list, o)
	a.recordResult(done)
	if err == nil && len(done.Deferred) > 0 {
		done, err = a.applyDeferred(ctx, done)
	}
	result := Result{Summary: done.Summary(), States: done.States}
	if err != nil {
		a.recordUnconfirmedCreations(err)
		return result, err
	}
	if a.config.RecreatePods {
		result.DeletedPods, err = a.recreateNodePods(ctx, existing(done))
	}
	return result, err
}

// applyDeferred writes the objects that Apply has deferred, once this is possible. before is
// the result of that Apply. applyDeferred returns the result of both writes.
func (a *Applier) applyDeferred(ctx context.Context, before *objectwriter.ApplyResult) (*objectwriter.ApplyResult, error) {
	if err := a.config.Deferrer.Prepare(ctx, before.Deferred); err != nil {
		return before, err
	}
	done, err := a.config.Writer.Apply(ctx, before.Deferred, a.nodeOptions(before.Deferred))
	a.recordResult(done)
	both := &objectwriter.ApplyResult{
		Created: append(before.Created, done.Created...), Updated: append(before.Updated, done.Updated...),
		Unchanged: append(before.Unchanged, done.Unchanged...), Recreated: append(before.Recreated, done.Recreated...), States: maps.Clone(before.States),
	}
	maps.Copy(both.States, done.States)
	return both, err
}

// existing returns the objects that existed before they were applied, in the states that
// the server returned afterwards.
func existing(done *objectwriter.ApplyResult) kube.ResourceList {
	return done.States.All(slices.Concat(done.Updated, done.Unchanged))
}

// ApplyAll creates or changes all objects of a release without an order, as Helm does.
func (a *Applier) ApplyAll(ctx context.Context, list kube.ResourceList) (Result, error) {
	if a.noneExists(list) {
		states, err := a.config.Writer.Create(ctx, list)
		return Result{States: states}, err
	}
	done, err := a.config.Writer.Apply(ctx, list, a.options(list))
	a.recordResult(done)
	result := Result{States: done.States, Pruned: done.Pruned}
	if err != nil {
		a.recordUnconfirmedCreations(err)
		return result, err
	}
	if a.config.RecreatePods && !done.Pruned {
		err = a.recreatePods(ctx, existing(done))
	}
	return result, err
}

// DryRunNodes asks the server, with dry-run requests, how ApplyNode would change the objects
// of all nodes.
func (a *Applier) DryRunNodes(ctx context.Context, list kube.ResourceList) ([]objectwriter.DryRunResult, error) {
	return a.config.Writer.DryRunApply(ctx, list, a.nodeOptions(list))
}

// DryRunAll asks the server, with dry-run requests, how ApplyAll would change the objects.
func (a *Applier) DryRunAll(ctx context.Context, list kube.ResourceList) ([]objectwriter.DryRunResult, error) {
	return a.config.Writer.DryRunApply(ctx, list, a.options(list))
}

// nodeOptions returns the options with which ApplyNode applies objects. They keep fields
// that others have set in objects that no earlier revision declares. Such an object can
// exist even if FindExisting has not found it.
func (a *Applier) nodeOptions(list kube.ResourceList) objectwriter.ApplyOptions {
	return objectwriter.ApplyOptions{
		Originals: a.originals(list), KeepForeignFields: true, Force: a.config.Force, ThreeWay: a.config.ThreeWay, IsAbsent: a.IsAbsent, MayChange: a.mayChange,
		Recreator: a.config.Recreator,
	}
}

// options returns the options with which ApplyAll applies objects, as Helm does.
func (a *Applier) options(list kube.ResourceList) objectwriter.ApplyOptions {
	o := objectwriter.ApplyOptions{
		Originals: a.originals(list), Force: a.config.Force, ThreeWay: a.config.ThreeWay, IsAbsent: a.IsAbsent, Recreator: a.config.Recreator,
	}
	if a.config.Inventory != nil {
		o.Originals, o.Prune = append(o.Originals, a.config.Inventory.Without(list)...), true
	}
	return o
}

// createNode creates the objects of a node. If the creation fails, the error is a
// *notCreatedError that names the resources that were not created.
func (a *Applier) createNode(ctx context.Context, list kube.ResourceList) (Result, error) {
	states, err := a.config.Writer.Create(ctx, list)
	if err == nil {
		return Result{States: states}, nil
	}
	rejected := &notCreatedError{err: err}
	for _, info := range list {
		if live, ok := states.Of(info).Object.(*unstructured.Unstructured); ok && live.GetUID() == "" {
			rejected.resources = append(rejected.resources, live.GetKind()+"/"+live.GetName())
		}
	}
	return Result{States: states}, rejected
}

// originals returns the objects of list as earlier revisions declared them, for three-way
// merge patches. If no earlier revision declares an existing object, the original is the new
// declaration itself, so that fields that others have set stay.
func (a *Applier) originals(list kube.ResourceList) kube.ResourceList {
	a.mu.Lock()
	defer a.mu.Unlock()
	var originals kube.ResourceList
	for _, info := range list {
		if original := a.config.Inventory.Find(info); original != nil {
			originals = append(originals, original)
		} else if a.present[info] {
			originals = append(originals, info)
		}
	}
	return originals
}

// mayChange returns an error if info belongs to another owner according to live, its state
// in the cluster. FindExisting does not detect this if the object was created later, while
// the operation waited for other nodes. If TakeOwnership is set, mayChange adopts the object
// instead of returning an error.
func (a *Applier) mayChange(info *object.Info, live *unstructured.Unstructured) error {
	if a.config.Inventory.WasDeployed(info) {
		return nil
	}
	err := object.CheckOwner(live, a.config.Owner)
	if err == nil {
		return nil
	}
	if !a.config.TakeOwnership {
		return fmt.Errorf("%s exists and cannot be imported into the current release: %w", object.Describe(info), err)
	}
	if a.config.Inventory.Find(info) == nil {
		a.setPresent(info)
	}
	return nil
}

// recordUnconfirmedCreations adds to created the objects that may have been created although,
// according to err, the server did not respond to their create requests. It skips objects
// that existed before.
func (a *Applier) recordUnconfirmedCreations(err error) {
	a.recordResult(&objectwriter.ApplyResult{Created: objectwriter.UnconfirmedCreations(err).Filter(a.IsAbsent)})
}

func (a *Applier) recordResult(done *objectwriter.ApplyResult) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hasWritten = a.hasWritten || len(done.Created)+len(done.Recreated)+len(done.Updated) > 0
	a.created = append(a.created, done.Created...)
	maps.Copy(a.states, done.States)
	for _, info := range done.Unchanged {
		a.unchanged[info] = true
	}
}

// IsUnchanged reports whether an object needed no change, because it already was as
// declared.
func (a *Applier) IsUnchanged(info *object.Info) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.unchanged[info]
}

// wroteAnything reports whether the operation has changed anything in the cluster.
func (a *Applier) wroteAnything() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.hasWritten
}

// PlanSize describes the size of a deployment graph, as in "18 resources in 10 nodes".
func PlanSize(p *sequencer.Plan) string {
	resources := 0
	for _, n := range p.Nodes {
		resources += len(n.Resources)
	}
	return fmt.Sprintf("%s in %s", text.Count(resources, "resource"), text.Count(len(p.Nodes), "node"))
}
