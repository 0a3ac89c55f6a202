// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package apply decides what to write to the cluster for each node of a plan (a node is a
// set of resources that are applied together): which objects to create, which to change,
// and from which earlier declaration to merge. Before that, it checks whether it can write
// the objects (docs/reference.md, "Upgrade"). Package objectwriter sends the requests.
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

// Config configures an Applier.
type Config struct {
	Cluster cluster.Reader
	Writer  objectwriter.Writer
	Log     func(string, ...any)
	Owner   object.Owner
	// ReadTogether has the objects of all nodes. ApplyNode reads them with one call, until
	// something is written. If it is empty, ApplyNode reads the objects of each node.
	ReadTogether kube.ResourceList
	// Inventory lists the objects that earlier revisions may have left in the cluster; nil
	// if there are no earlier revisions.
	Inventory *inventory.Inventory
	// Force replaces existing objects instead of patching them. TakeOwnership makes
	// existing objects of other owners part of the release instead of rejecting them.
	// ThreeWay uses three-way merge patches for custom resources, too. RecreatePods deletes
	// the pods of workloads that already existed.
	Force, TakeOwnership, ThreeWay, RecreatePods bool
}

// Applier writes the objects of one release during one operation, and remembers what it did
// with each of them. It is safe for concurrent use.
type Applier struct {
	config Config
	cache  *liveCache

	// mu guards the fields below.
	mu sync.Mutex
	// present are the objects of the new revision that existed in the cluster although no
	// earlier revision declares them; nil before FindExisting has run.
	present map[*object.Info]bool
	// created are the objects that the operation created. states maps the written objects
	// to the states that the server returned. unchanged are the objects that already were
	// as declared.
	created   kube.ResourceList
	states    object.LiveObjects
	unchanged map[*object.Info]bool
	// restarted maps the objects whose pods the operation deleted to their states before
	// that.
	restarted map[sequencer.ID]*object.Info
	// hasWritten says whether the operation has changed anything in the cluster.
	hasWritten bool
}

// New returns an Applier with the given configuration.
func New(c Config) *Applier {
	a := &Applier{config: c, states: object.LiveObjects{}, unchanged: map[*object.Info]bool{}, restarted: map[sequencer.ID]*object.Info{}}
	a.cache = &liveCache{cluster: c.Cluster, all: c.ReadTogether, isAbsent: a.IsAbsent, isStale: a.wroteAnything}
	return a
}

// FindExisting finds out which objects of list already exist in the cluster, for IsAbsent
// and for the merge. It returns an error for an object of another owner, unless
// TakeOwnership is set.
func (a *Applier) FindExisting(ctx context.Context, list kube.ResourceList) error {
	for _, info := range list {
		if info.Name == "" { // the list request of Live would not fail for it
			return fmt.Errorf("could not get information about the resource %s: resource name may not be empty", object.Describe(info))
		}
	}
	live, err := a.config.Cluster.Live(ctx, list)
	if err != nil {
		return err
	}
	var present []*object.Info
	for _, info := range list {
		found := live[info]
		if found == nil {
			continue
		}
		if !a.config.TakeOwnership {
			if err := object.CheckOwner(found, a.config.Owner); err != nil {
				return fmt.Errorf("%s exists and cannot be imported into the current release: %w", object.Describe(info), err)
			}
		}
		if a.config.Inventory.Find(info) == nil {
			present = append(present, info)
		}
	}
	a.setPresent(present...)
	return nil
}

// setPresent adds objects to present. Without objects, it only makes present non-nil.
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

// Unknown returns the objects of list that were not part of any deployed revision.
func (a *Applier) Unknown(list kube.ResourceList) kube.ResourceList {
	var unknown kube.ResourceList
	for _, info := range list {
		if !a.config.Inventory.IsKnown(info) {
			unknown = append(unknown, info)
		}
	}
	return unknown
}

// Result describes what ApplyNode or ApplyAll wrote.
type Result struct {
	// Summary says how many objects ApplyNode created, changed and left unchanged, as in "1
	// created, 2 changed". It is empty if ApplyNode created all objects because none could
	// exist.
	Summary string
	// States maps the objects to the states that the server returned.
	States object.LiveObjects
	// Pruned says whether a custom Kubernetes client has also deleted the objects that are
	// no longer in the chart.
	Pruned bool
	// DeletedPods are the pods that ApplyNode deleted because of Config.RecreatePods.
	DeletedPods []object.PodRef
}

// ApplyNode creates or changes the objects of one node. If RecreatePods is set, it then
// deletes the pods of the workloads that already existed. It does not wait until the pods are
// gone.
func (a *Applier) ApplyNode(ctx context.Context, list kube.ResourceList) (Result, error) {
	if a.noneExists(list) {
		return a.createNode(ctx, list)
	}
	o := a.nodeOptions(list)
	o.Live = a.cache.get
	done, err := a.config.Writer.Apply(ctx, list, o)
	a.recordResult(done)
	result := Result{Summary: summarize(done), States: done.States}
	if err != nil {
		a.recordUnanswered(err)
		return result, err
	}
	if a.config.RecreatePods {
		result.DeletedPods, err = a.recreateNodePods(ctx, existing(done))
	}
	return result, err
}

// existing returns the objects that existed before they were applied, in the states that
// the server returned after that.
func existing(done *objectwriter.Applied) kube.ResourceList {
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
		a.recordUnanswered(err)
		return result, err
	}
	if a.config.RecreatePods && !done.Pruned {
		err = a.recreatePods(ctx, existing(done))
	}
	return result, err
}

// DryRunNodes asks the server, with dry-run requests, how ApplyNode would change the
// objects of all nodes.
func (a *Applier) DryRunNodes(ctx context.Context, list kube.ResourceList) ([]objectwriter.DryRunResult, error) {
	return a.config.Writer.DryRunApply(ctx, list, a.nodeOptions(list))
}

// DryRunAll asks the server, with dry-run requests, how ApplyAll would change the objects.
func (a *Applier) DryRunAll(ctx context.Context, list kube.ResourceList) ([]objectwriter.DryRunResult, error) {
	return a.config.Writer.DryRunApply(ctx, list, a.options(list))
}

// nodeOptions returns the options to apply the objects of a node. If no revision declares
// an object, the declared object is also the base of the merge: the object can exist
// although it was not found earlier, and fields that others have set must stay.
func (a *Applier) nodeOptions(list kube.ResourceList) objectwriter.ApplyOptions {
	return objectwriter.ApplyOptions{
		Originals: a.originals(list), KeepForeignFields: true, Force: a.config.Force, ThreeWay: a.config.ThreeWay, IsAbsent: a.IsAbsent, MayChange: a.mayChange,
	}
}

// options returns the options to apply all objects of a release as Helm does.
func (a *Applier) options(list kube.ResourceList) objectwriter.ApplyOptions {
	o := objectwriter.ApplyOptions{Originals: a.originals(list), Force: a.config.Force, ThreeWay: a.config.ThreeWay, IsAbsent: a.IsAbsent}
	if a.config.Inventory != nil {
		o.Originals, o.Prune = append(o.Originals, a.config.Inventory.Without(list)...), true
	}
	return o
}

// noneExists reports whether none of the objects can exist: there are no earlier
// revisions, and FindExisting found none of the objects. They are then created without
// being read.
func (a *Applier) noneExists(list kube.ResourceList) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.config.Inventory == nil && !slices.ContainsFunc(list, func(info *object.Info) bool { return a.present[info] })
}

// createNode creates the objects of a node. After a failure, it returns a *rejectedError
// with the resources that were not created.
func (a *Applier) createNode(ctx context.Context, list kube.ResourceList) (Result, error) {
	states, err := a.config.Writer.Create(ctx, list)
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

// originals returns the bases of the merge: the objects of list as earlier revisions
// declared them. For an existing object that no revision declares, the base is the new
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

// mayChange returns an error if the object info, whose state in the cluster is live,
// belongs to another owner. Another owner can create the object after FindExisting, which
// can be long ago because the operation waits for nodes. If TakeOwnership is set, mayChange
// adopts the object instead.
func (a *Applier) mayChange(info *object.Info, live *unstructured.Unstructured) error {
	if a.config.Inventory.IsKnown(info) {
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

// IsAbsent reports whether an object did not exist when FindExisting ran, and no earlier
// revision declares it. Before FindExisting has run, it returns false for every object.
func (a *Applier) IsAbsent(info *object.Info) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.present != nil && !a.present[info] && a.config.Inventory.Find(info) == nil
}

// recordUnanswered adds to created the objects whose create requests, according to err, the
// server did not answer, because they may exist now. It skips objects that existed before.
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

// summarize counts the objects by result, as in "1 created, 2 changed".
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

// IsUnchanged reports whether an object already was as declared, so that the operation did
// not change it.
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

// Extent describes the size of a plan, as in "18 resources in 10 nodes".
func Extent(p *sequencer.Plan) string {
	resources := 0
	for _, n := range p.Nodes {
		resources += len(n.Resources)
	}
	return fmt.Sprintf("%s in %s", text.Count(resources, "resource"), text.Count(len(p.Nodes), "node"))
}
