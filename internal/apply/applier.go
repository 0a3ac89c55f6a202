// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package apply writes the objects of a release to the cluster: it creates them or changes
// those that are there, and checks before that whether it can (docs/reference.md,
// "Upgrade").
package apply

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
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

// Config says how objects are written.
type Config struct {
	Cluster *cluster.Client
	Writer  objectwriter.Writer
	Log     func(string, ...any)
	Owner   object.Owner
	// Inventory is what earlier revisions may have left; nil if there are none.
	Inventory *inventory.Inventory
	// Force replaces objects. TakeOwnership adopts objects of other owners. ThreeWay
	// merges custom resources three-way, too. RecreatePods deletes the pods of workloads
	// that were there before.
	Force, TakeOwnership, ThreeWay, RecreatePods bool
	// AwaitPodsGone waits until pods are gone that were deleted. ApplyNode calls it.
	AwaitPodsGone func(context.Context, []object.PodRef) error
}

// Applier writes objects, and remembers what it did with them. It is safe for concurrent
// use.
type Applier struct {
	Config
	cache liveCache

	// mu guards the fields below.
	mu sync.Mutex
	// present are the objects that no earlier revision had and that were in the cluster
	// all the same; nil while nobody has looked.
	present map[*object.Info]bool
	// created are the objects that the operation created, states the states in which the
	// server returned them, unchanged the objects that it found as declared.
	created   kube.ResourceList
	states    object.States
	unchanged map[*object.Info]bool
	// restarted are the objects whose pods it deleted, in the states before that.
	restarted map[sequencer.ID]*object.Info
	// hasWritten is whether the operation has changed anything in the cluster.
	hasWritten bool
}

// New returns an applier.
func New(c Config) *Applier {
	a := &Applier{Config: c, states: object.States{}, unchanged: map[*object.Info]bool{}, restarted: map[sequencer.ID]*object.Info{}}
	a.cache.applier = a
	return a
}

// FindExisting finds out which objects are in the cluster already. An object of another
// owner is an error, unless the applier takes ownership.
func (a *Applier) FindExisting(ctx context.Context, list kube.ResourceList) error {
	for _, info := range list {
		if info.Name == "" { // a list of existing objects would not show that
			return fmt.Errorf("could not get information about the resource %s: resource name may not be empty", object.Describe(info))
		}
	}
	live, err := a.Cluster.Live(ctx, list)
	if err != nil {
		return err
	}
	var present []*object.Info
	for _, info := range list {
		found := live[info]
		if found == nil {
			continue
		}
		if !a.TakeOwnership {
			if err := object.CheckOwner(found, a.Owner); err != nil {
				return fmt.Errorf("%s exists and cannot be imported into the current release: %w", object.Describe(info), err)
			}
		}
		if a.Inventory.Find(info) == nil {
			present = append(present, info)
		}
	}
	a.setPresent(present...)
	return nil
}

// setPresent notes objects that were there although no revision had them.
func (a *Applier) setPresent(list ...*object.Info) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.present == nil {
		a.present = map[*object.Info]bool{}
	}
	for _, info := range list {
		a.present[info] = true
	}
}

// Unknown lists the objects that no deployed revision has.
func (a *Applier) Unknown(list kube.ResourceList) kube.ResourceList {
	var unknown kube.ResourceList
	for _, info := range list {
		if !a.Inventory.IsKnown(info) {
			unknown = append(unknown, info)
		}
	}
	return unknown
}

// Result is what was written.
type Result struct {
	// Summary says what was done, where that is not obvious.
	Summary string
	// States are the states in which the server returned the objects.
	States object.States
	// Pruned is whether the Kubernetes client has also deleted the objects that are no
	// longer in the chart.
	Pruned bool
}

// ApplyNode writes the objects of one node.
func (a *Applier) ApplyNode(ctx context.Context, list kube.ResourceList) (Result, error) {
	if a.existsUnlessAbsent(list) {
		return a.createNode(ctx, list)
	}
	o := a.nodeOptions(list)
	o.Live = a.cache.get
	done, err := a.Writer.Apply(ctx, list, o)
	a.recordResult(done)
	result := Result{Summary: summarize(done), States: done.States}
	if err != nil {
		a.recordUnanswered(err)
		return result, err
	}
	if a.RecreatePods {
		err = a.recreateNodePods(ctx, existing(done))
	}
	return result, err
}

// existing are the objects that existed before they were applied, in their new states.
func existing(done *objectwriter.Applied) kube.ResourceList {
	return done.States.All(slices.Concat(done.Updated, done.Unchanged))
}

// ApplyAll writes the objects of a release as Helm does.
func (a *Applier) ApplyAll(ctx context.Context, list kube.ResourceList) (Result, error) {
	if a.existsUnlessAbsent(list) {
		states, err := a.Writer.Create(ctx, list)
		return Result{States: states}, err
	}
	done, err := a.Writer.Apply(ctx, list, a.options(list))
	a.recordResult(done)
	result := Result{States: done.States, Pruned: done.Pruned}
	if err != nil {
		a.recordUnanswered(err)
		return result, err
	}
	if a.RecreatePods && !done.Pruned {
		err = a.recreatePods(ctx, existing(done))
	}
	return result, err
}

// DryRunNodes has the server say what ApplyNode would do with the objects of all nodes.
func (a *Applier) DryRunNodes(ctx context.Context, list kube.ResourceList) ([]objectwriter.DryRun, error) {
	return a.Writer.DryRunApply(ctx, list, a.nodeOptions(list))
}

// DryRunAll has the server say what ApplyAll would do.
func (a *Applier) DryRunAll(ctx context.Context, list kube.ResourceList) ([]objectwriter.DryRun, error) {
	return a.Writer.DryRunApply(ctx, list, a.options(list))
}

// nodeOptions say how the objects of a node are written. An object that no revision
// declares is its own base: it may turn out late that it exists, and what others have set
// there stays.
func (a *Applier) nodeOptions(list kube.ResourceList) objectwriter.ApplyOptions {
	return objectwriter.ApplyOptions{
		Originals: a.originals(list), KeepForeignFields: true, Force: a.Force, ThreeWay: a.ThreeWay, IsAbsent: a.IsAbsent, MayChange: a.mayChange,
	}
}

// options say how the objects of a release are written as Helm does.
func (a *Applier) options(list kube.ResourceList) objectwriter.ApplyOptions {
	o := objectwriter.ApplyOptions{Originals: a.originals(list), Force: a.Force, ThreeWay: a.ThreeWay, IsAbsent: a.IsAbsent}
	if a.Inventory != nil {
		o.Originals, o.Prune = append(o.Originals, a.Inventory.Without(list)...), true
	}
	return o
}

// existsUnlessAbsent reports whether none of the objects can be there: there are no earlier
// revisions, and none of the objects was found.
func (a *Applier) existsUnlessAbsent(list kube.ResourceList) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.Inventory == nil && !slices.ContainsFunc(list, func(info *object.Info) bool { return a.present[info] })
}

// createNode creates the objects of a node.
func (a *Applier) createNode(ctx context.Context, list kube.ResourceList) (Result, error) {
	states, err := a.Writer.Create(ctx, list)
	if err == nil {
		return Result{States: states}, nil
	}
	rejected := &rejectedError{err: err}
	for _, info := range list {
		if live, ok := states.Of(info).Object.(*unstructured.Unstructured); ok && live.GetUID() == "" {
			rejected.resources = append(rejected.resources, live.GetKind()+"/"+live.GetName())
		}
	}
	return Result{States: states}, rejected
}

// originals are the objects as they were declared before, the base of a merge. An object
// that is adopted is its own base: what others have set there stays.
func (a *Applier) originals(list kube.ResourceList) kube.ResourceList {
	a.mu.Lock()
	defer a.mu.Unlock()
	var originals kube.ResourceList
	for _, info := range list {
		if original := a.Inventory.Find(info); original != nil {
			originals = append(originals, original)
		} else if a.present[info] {
			originals = append(originals, info)
		}
	}
	return originals
}

// mayChange returns an error for an object that somebody else has created since
// FindExisting: while the operation waits for nodes, that may be long ago. Where the applier
// takes ownership it adopts the object.
func (a *Applier) mayChange(info *object.Info, live *unstructured.Unstructured) error {
	if a.Inventory.IsKnown(info) {
		return nil
	}
	err := object.CheckOwner(live, a.Owner)
	if err == nil {
		return nil
	}
	if !a.TakeOwnership {
		return fmt.Errorf("%s exists and cannot be imported into the current release: %w", object.Describe(info), err)
	}
	if a.Inventory.Find(info) == nil {
		a.setPresent(info)
	}
	return nil
}

// IsAbsent reports whether an object was not there when FindExisting looked. If nobody has
// looked, that is known of none.
func (a *Applier) IsAbsent(info *object.Info) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.present != nil && !a.present[info] && a.Inventory.Find(info) == nil
}

// recordUnanswered notes as created the objects that were not there and that the server did
// not answer for: they may be there now.
func (a *Applier) recordUnanswered(err error) {
	var failed *objectwriter.ApplyError
	if !errors.As(err, &failed) {
		return
	}
	for _, f := range failed.Failures {
		if f.Unanswered && a.IsAbsent(f.Info) {
			a.recordResult(&objectwriter.Applied{Created: kube.ResourceList{f.Info}})
		}
	}
}

// recordResult notes what was done with objects.
func (a *Applier) recordResult(done *objectwriter.Applied) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.hasWritten = a.hasWritten || len(done.Created)+len(done.Updated) > 0
	a.created = append(a.created, done.Created...)
	maps.Copy(a.states, done.States)
	for _, info := range done.Unchanged {
		a.unchanged[info] = true
	}
}

// summarize says how many objects were written, as in "1 created, 2 changed".
func summarize(done *objectwriter.Applied) string {
	var parts []string
	for _, part := range []struct {
		list kube.ResourceList
		what string
	}{{done.Created, "created"}, {done.Updated, "changed"}, {done.Unchanged, "unchanged"}} {
		if len(part.list) > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", len(part.list), part.what))
		}
	}
	return strings.Join(parts, ", ")
}

// recreateNodePods deletes the pods of the workloads of a node, so that new ones are made,
// and waits until they are gone. The workloads are in the states in which they were written.
// As in Helm, a failure to delete pods does not fail the operation.
func (a *Applier) recreateNodePods(ctx context.Context, list kube.ResourceList) error {
	workloads := slices.DeleteFunc(list, func(info *object.Info) bool { return object.IsKind(info, "Service") })
	pods := a.deletePods(ctx, workloads)
	if len(pods) == 0 {
		return context.Cause(ctx)
	}
	return a.AwaitPodsGone(ctx, pods)
}

// recreatePods deletes the pods of workloads and Services as Helm does, and does not wait
// until they are gone.
func (a *Applier) recreatePods(ctx context.Context, list kube.ResourceList) error {
	a.deletePods(ctx, list)
	return context.Cause(ctx)
}

// deletePods deletes the pods of workloads, and notes that.
func (a *Applier) deletePods(ctx context.Context, list kube.ResourceList) []object.PodRef {
	a.mu.Lock()
	a.hasWritten = true
	a.mu.Unlock()
	pods, err := a.Writer.DeletePods(ctx, list)
	if err != nil {
		a.Log("%s", err.Error())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, info := range list {
		a.restarted[object.IDOf(info)] = info
	}
	return pods
}

// Restarted returns an object, in the state in which it was written, if the operation has
// deleted its pods since then; otherwise nil.
func (a *Applier) Restarted(info *object.Info) *object.Info {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.restarted[object.IDOf(info)]
}

// IsUnchanged reports whether the operation found an object as declared.
func (a *Applier) IsUnchanged(info *object.Info) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.unchanged[info]
}

// markWritten reports whether the operation has changed anything in the cluster.
func (a *Applier) markWritten() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.hasWritten
}

// Created lists the objects that the operation created, in an order of kinds.
func (a *Applier) Created() kube.ResourceList {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.created)
}

// WhyNotCreated says why an object in the cluster is not the one that the operation
// created; empty if it is. Where the server did not answer, the labels decide.
func (a *Applier) WhyNotCreated(info *object.Info, live *unstructured.Unstructured) string {
	switch uid := object.UID(a.state(info)); {
	case uid != "" && uid != live.GetUID():
		return "it was replaced by another object with the same name"
	case uid == "" && object.CheckOwner(live, a.Owner) != nil:
		return "it is not labelled as owned by the release"
	}
	return ""
}

// state is an object that the operation created in the state in which the server returned
// it.
func (a *Applier) state(info *object.Info) *object.Info {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.states.Of(info)
}

// CertainlyCreated leaves out of a list the objects that the server did not answer for and
// that others have created, and returns the others in the states in which the server
// returned them. With a Kubernetes client of another implementation nothing is left out,
// because Helm does not read them either.
func (a *Applier) CertainlyCreated(ctx context.Context, c *cluster.Client, created kube.ResourceList) (kube.ResourceList, error) {
	a.mu.Lock()
	states := a.states.All(created)
	a.mu.Unlock()
	if !c.IsNative() {
		return states, nil
	}
	live, err := c.Live(ctx, states.Filter(func(info *object.Info) bool { return object.UID(info) == "" }))
	if err != nil {
		return nil, err
	}
	return states.Filter(func(info *object.Info) bool {
		return live[info] == nil || a.WhyNotCreated(info, live[info]) == ""
	}), nil
}

// Adopted are the objects that were there before and did not belong to the release, as far
// as it knew.
func (a *Applier) Adopted() map[sequencer.ID]bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	ids := map[sequencer.ID]bool{}
	for info := range a.present {
		ids[object.IDOf(info)] = true
	}
	return ids
}

// Extent says how much a plan is, as in "18 resources in 10 nodes".
func Extent(p *sequencer.Plan) string {
	resources := 0
	for _, n := range p.Nodes {
		resources += len(n.Resources)
	}
	return fmt.Sprintf("%s in %s", text.Count(resources, "resource"), text.Count(len(p.Nodes), "node"))
}
