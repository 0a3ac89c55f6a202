// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package prune deletes objects of three kinds: those that a release no longer has, those
// that a failed operation created, and those of a release that is uninstalled. If the
// release has an order, it deletes them in reverse order (docs/reference.md, "Uninstall").
// Package sequencer computes the reverse order; package objectwriter sends the delete
// requests.
package prune

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/releaseutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/internal/wait"
	"github.com/ordered-helm/helm/internal/watcher"
)

// Progress receives the IDs of nodes when Graph starts to delete their objects, and when it
// is finished with them. *history.Progress stores them in the release, so that another
// operation can continue an interrupted uninstall.
type Progress interface {
	NodeStarted(node string)
	NodeDone(node string)
}

// Graph deletes objects in reverse order: it deletes the objects of a node when all objects
// of the dependents of the node are gone. It deletes groups: a group is the objects of one
// node that are deleted together (see sequencer.RemovalGroup).
type Graph struct {
	Cluster cluster.Reader
	Writer  objectwriter.Writer
	Waiter  wait.Waiter
	Events  *event.Sink
	// Namespace is the namespace of the release.
	Namespace   string
	Propagation metav1.DeletionPropagation
	// Timeout limits the wait until the deleted objects of a group are gone; 0 means no
	// limit other than the timeout of the operation.
	Timeout time.Duration
	// Removal has the groups to delete and their order.
	Removal *sequencer.Removal
	// InfoOf returns the object in the cluster that a resource of a plan declares; nil if
	// there is none to delete.
	InfoOf func(*sequencer.PlannedResource) *object.Info
	// WhyKeep returns the reason why an object must not be deleted, or "" if it is to be
	// deleted. live is the state of the object in the cluster. If WhyKeep is nil, all
	// objects are deleted.
	WhyKeep func(live *unstructured.Unstructured) string
	// Progress can be nil.
	Progress Progress
	// Partial is true if the release remains and loses only some of its objects. The event
	// about a deleted node then names the objects.
	Partial bool

	mu        sync.Mutex
	deleted   kube.ResourceList
	deletions wait.Deletions
}

// Kept is an object that would be deleted, but is kept, for example because of its keep
// policy.
type Kept struct {
	Info *object.Info
	// Why is the reason why the object is kept.
	Why string
	// LogOnly is true if the object is only mentioned in the log, as in Helm, instead of in
	// a warning.
	LogOnly bool
}

func (k Kept) warning() string {
	return fmt.Sprintf("%s is not deleted: %s", object.Describe(k.Info), k.Why)
}

// Run deletes the objects of all groups. It waits until the objects of a group are gone
// only if another group has to wait for them. If objects cannot be deleted, the error is a
// *failure.RemovalError.
func (g *Graph) Run(ctx context.Context) error {
	if len(g.Removal.Groups) == 0 {
		return context.Cause(ctx)
	}
	var err error
	if g.deletions, err = g.Waiter.Deletions(ctx); err != nil {
		return err
	}
	defer g.deletions.Close()
	return g.removalError(ctx, g.Removal.Execute(ctx, g.removeGroup))
}

// Deleted returns the objects for which Run has sent delete requests successfully.
func (g *Graph) Deleted() kube.ResourceList {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.deleted
}

// removeGroup deletes the existing objects of a group, and emits events about it if there
// are any. after is the group whose deletion group waited for and that finished last, or
// nil if group did not have to wait.
func (g *Graph) removeGroup(ctx context.Context, group, after *sequencer.RemovalGroup) error {
	node := group.Node.ID()
	found, err := g.Find(ctx, group)
	if err == nil {
		for _, k := range found.Kept {
			g.Events.Warn(k.warning())
		}
	}
	started := err == nil && len(found.List) > 0
	if started {
		e := event.Event{Type: event.NodeDeleting, Node: node, Message: object.Summarize(found.List)}
		if after != nil {
			e.After = after.Node.ID()
		}
		g.Events.Emit(e)
		if g.Progress != nil {
			g.Progress.NodeStarted(node)
		}
	}
	if err == nil {
		err = g.deleteGroup(ctx, group, found)
	}
	if err != nil {
		g.Events.Emit(event.Event{Type: event.NodeFailed, Node: node, Err: err, Message: err.Error()})
		return err
	}
	if started {
		deleted := event.Event{Type: event.NodeDeleted, Node: node}
		if g.Partial {
			deleted.Message = object.Summarize(found.List)
		}
		g.Events.Emit(deleted)
	}
	if g.Progress != nil {
		g.Progress.NodeDone(node)
	}
	return nil
}

// deleteGroup deletes the objects in found.List. If other groups wait for this group, it
// waits until these objects and the pods that they owned are gone.
func (g *Graph) deleteGroup(ctx context.Context, group *sequencer.RemovalGroup, found *Found) error {
	var awaitGone wait.AwaitGone
	if group.Awaited {
		var err error
		if awaitGone, err = g.deletions.Expect(ctx, found.List, found.absent, g.Propagation); err != nil {
			return err
		}
	}
	if len(found.List) > 0 {
		if _, errs := g.Writer.Delete(ctx, found.List, g.Propagation); len(errs) > 0 {
			return errors.Join(errs...)
		}
		g.mu.Lock()
		g.deleted = append(g.deleted, found.List...)
		g.mu.Unlock()
	}
	if !group.Awaited {
		return nil
	}
	return g.awaitGone(ctx, group, awaitGone)
}

// Found describes which objects of a group exist in the cluster.
type Found struct {
	// List has the objects to delete, in Helm's uninstall order of kinds. They have the
	// UIDs with which they were found, so that a later object with the same name is not
	// deleted.
	List kube.ResourceList
	// Kept has the objects that exist but must not be deleted.
	Kept []Kept
	// absent has the objects that do not exist. An earlier operation may have deleted them.
	absent kube.ResourceList
}

// Find reads the objects of a group from the cluster. Without a cluster, it assumes that
// all of them exist.
func (g *Graph) Find(ctx context.Context, group *sequencer.RemovalGroup) (*Found, error) {
	var list kube.ResourceList
	for _, res := range inUninstallOrder(group.Resources) {
		if info := g.InfoOf(res); info != nil {
			list = append(list, info)
		}
	}
	existing, err := g.Cluster.Existing(ctx, list)
	if err != nil {
		return nil, err
	}
	found := &Found{}
	for _, info := range list {
		switch state, exists := existing[info]; {
		case !exists:
			found.absent = append(found.absent, info)
		case state == nil: // not known without a cluster
			found.List = append(found.List, info)
		default:
			found.add(info, state, g.whyKeep(state))
		}
	}
	return found, nil
}

// add adds an object to List or, if whyKeep is not empty, to Kept. live is its state in the
// cluster.
func (f *Found) add(info *object.Info, live *unstructured.Unstructured, whyKeep string) {
	if whyKeep != "" {
		f.Kept = append(f.Kept, Kept{Info: info, Why: whyKeep})
	} else {
		f.List = append(f.List, object.WithState(info, live))
	}
}

func (g *Graph) whyKeep(live *unstructured.Unstructured) string {
	if g.WhyKeep == nil {
		return ""
	}
	return g.WhyKeep(live)
}

// inUninstallOrder sorts resources into Helm's uninstall order of kinds.
func inUninstallOrder(resources []*sequencer.PlannedResource) []*sequencer.PlannedResource {
	rank := func(res *sequencer.PlannedResource) int {
		if i := slices.Index(releaseutil.UninstallOrder, res.ID.Kind); i >= 0 {
			return i
		}
		return len(releaseutil.UninstallOrder)
	}
	sorted := slices.Clone(resources)
	slices.SortStableFunc(sorted, func(a, b *sequencer.PlannedResource) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.ID.Kind, b.ID.Kind))
	})
	return sorted
}

// awaitGone waits until the objects of a group and their pods are gone, and emits their
// changes.
func (g *Graph) awaitGone(ctx context.Context, group *sequencer.RemovalGroup, untilGone wait.AwaitGone) error {
	if g.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, g.Timeout, failure.DeletionTimeout(g.Timeout))
		defer cancel()
	}
	began := time.Now()
	err := untilGone(ctx, func(report watcher.Report) {
		if report.Status.State != readiness.Ready {
			e := wait.ChangeEvent(report, group.Node.ID(), g.Namespace)
			e.Deadline, _ = ctx.Deadline()
			g.Events.Emit(e)
		}
	})
	return notGone(err, began)
}

// Extent returns how much Run deletes, as in "18 resources in 10 nodes".
func (g *Graph) Extent() string {
	resources := 0
	for _, group := range g.Removal.Groups {
		resources += len(group.Resources)
	}
	return fmt.Sprintf("%s in %s", text.Count(resources, "resource"), text.Count(g.Nodes(), "node"))
}

// Nodes counts the nodes whose resources Run deletes.
func (g *Graph) Nodes() int {
	ids := map[string]bool{}
	for _, group := range g.Removal.Groups {
		ids[group.Node.ID()] = true
	}
	return len(ids)
}
