// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package prune deletes objects of a release: those that are no longer in the chart after an
// upgrade, those that a failed operation created, or all of them in an uninstall. If the
// release was deployed in order, it deletes them in reverse order (docs/reference.md,
// "Uninstall"). Package sequencer computes the order.
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
	"github.com/ordered-helm/helm/internal/removal"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/internal/wait"
	"github.com/ordered-helm/helm/internal/watcher"
)

// Progress is told which nodes of the deployment graph an OrderedDeletion starts to delete,
// and which it has deleted, by the IDs of the nodes. *history.Progress implements it, and
// stores this in the release, so that another operation can continue an interrupted
// uninstall.
type Progress interface {
	NodeStarted(node string)
	NodeDone(node string)
}

// OrderedDeletion deletes objects in the reverse order of deployment: the objects of a node
// are deleted after those of all its dependents no longer exist. The unit of deletion is a
// removal.Group, here called group: objects of one node that are deleted in parallel.
type OrderedDeletion struct {
	Cluster cluster.Reader
	Writer  objectwriter.Writer
	Waiter  wait.Waiter
	Events  *event.Sink
	// Namespace is the namespace of the release.
	Namespace   string
	Propagation metav1.DeletionPropagation
	// Timeout limits the wait until the deleted objects of a group no longer exist. 0 means
	// that only the timeout of the operation applies.
	Timeout time.Duration
	// Removal contains the groups to delete and their order.
	Removal *removal.Order
	// InfoOf returns the object that a resource of the deployment graph declares, or nil if
	// the object cannot exist in the cluster.
	InfoOf func(*sequencer.PlannedResource) *object.Info
	// WhyKeep returns why an object must not be deleted, or "" if it can be deleted. live is
	// its state in the cluster. If WhyKeep is nil, all objects are deleted.
	WhyKeep func(live *unstructured.Unstructured) string
	// RunStep runs a step of Removal. It can be nil if there are none.
	RunStep func(ctx context.Context, s *sequencer.Step) error
	// Progress can be nil.
	Progress Progress
	// Partial is true if only some of the release's objects are deleted, so that events about
	// deleted nodes must name the objects.
	Partial bool

	mu             sync.Mutex
	deleted        kube.ResourceList
	deletionWaiter wait.DeletionWaiter
	// initial contains the metadata of the objects that existed when Run started, or is nil
	// if Run has not read them.
	initial map[sequencer.ID]*unstructured.Unstructured
}

// KeptObject describes an object that is not deleted, although it is no longer needed, for
// example because of the annotation helm.sh/resource-policy: keep.
type KeptObject struct {
	Info *object.Info
	// Why is the reason, for users.
	Why string
	// LogOnly is true if, as in Helm, only the log says that the object is kept; otherwise a
	// warning does.
	LogOnly bool
}

func (k KeptObject) warning() string {
	return fmt.Sprintf("%s is not deleted: %s", object.Describe(k.Info), k.Why)
}

// Run deletes the objects of all groups. It waits until the objects of a group no longer
// exist only if another group must be deleted after them. If objects cannot be deleted, the
// error is a *failure.RemovalError.
func (d *OrderedDeletion) Run(ctx context.Context) error {
	if len(d.Removal.Groups) == 0 {
		return context.Cause(ctx)
	}
	var err error
	if d.deletionWaiter, err = d.Waiter.NewDeletionWaiter(ctx); err != nil {
		return err
	}
	defer d.deletionWaiter.Close()
	d.readInitialStates(ctx)
	return d.removalError(ctx, d.Removal.Execute(ctx, d.removeGroup))
}

// Deleted returns the objects for which the server accepted delete requests of Run.
func (d *OrderedDeletion) Deleted() kube.ResourceList {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.deleted
}

// removeGroup deletes the existing objects of group, and emits events if there are any.
// after is the last of the groups that had to be deleted before it; nil if there was none.
func (d *OrderedDeletion) removeGroup(ctx context.Context, group, after *removal.Group) error {
	if group.Step != nil {
		return d.RunStep(ctx, group.Step)
	}
	node := group.Node.ID()
	found, err := d.Find(ctx, group)
	if err == nil {
		d.warnKept(found)
	}
	started := err == nil && len(found.List) > 0
	if started {
		e := event.Event{Type: event.NodeDeleting, Node: node, Message: object.Summarize(found.List)}
		if after != nil {
			e.After = after.Vertex().ID()
		}
		d.Events.Emit(e)
		if d.Progress != nil {
			d.Progress.NodeStarted(node)
		}
	}
	if err == nil {
		err = d.deleteGroup(ctx, group, found)
	}
	if err != nil {
		d.Events.Emit(event.Event{Type: event.NodeFailed, Node: node, Err: err, Message: err.Error()})
		return err
	}
	if started {
		deleted := event.Event{Type: event.NodeDeleted, Node: node}
		if d.Partial {
			deleted.Message = object.Summarize(found.List)
		}
		d.Events.Emit(deleted)
	}
	if d.Progress != nil {
		d.Progress.NodeDone(node)
	}
	return nil
}

// deleteGroup deletes the objects in found.List. If other groups must be deleted after group,
// it waits until these objects and the pods that they owned no longer exist.
func (d *OrderedDeletion) deleteGroup(ctx context.Context, group *removal.Group, found *FoundObjects) error {
	var awaitGone wait.AwaitGone
	if group.Awaited {
		var err error
		if awaitGone, err = d.deletionWaiter.Expect(ctx, found.List, found.absent, d.Propagation); err != nil {
			return err
		}
	}
	terminating, errs := d.deleteObjects(ctx, found.List)
	if len(errs) > 0 || !group.Awaited {
		return errors.Join(errs...)
	}
	return d.awaitGone(ctx, group, func(ctx context.Context, onChange func(watcher.Report)) error {
		return awaitGone(ctx, terminating, onChange)
	})
}

func (d *OrderedDeletion) warnKept(found *FoundObjects) {
	for _, k := range found.Kept {
		d.Events.Warn(k.warning())
	}
}

// FoundObjects is the result of looking for the objects of a group in the cluster.
type FoundObjects struct {
	// List contains the objects to delete, in Helm's uninstall order of kinds. They have the
	// UIDs with which they were found, so that no newer object with the same name is deleted.
	List kube.ResourceList
	// Kept contains the objects that exist, but must not be deleted.
	Kept []KeptObject
	// absent contains the objects that do not exist, for example because an interrupted
	// operation has already deleted them.
	absent kube.ResourceList
}

// Find looks for the objects of a group in the cluster. With a Kubernetes client that is not
// connected to a cluster, it assumes that all of them exist.
func (d *OrderedDeletion) Find(ctx context.Context, group *removal.Group) (*FoundObjects, error) {
	list := d.objectsOf(group)
	existing, err := d.existing(ctx, list)
	if err != nil {
		return nil, err
	}
	return d.classify(list, existing), nil
}

// objectsOf returns the objects of a group, in Helm's uninstall order of kinds.
func (d *OrderedDeletion) objectsOf(group *removal.Group) kube.ResourceList {
	var list kube.ResourceList
	for _, res := range inUninstallOrder(group.Resources) {
		if info := d.InfoOf(res); info != nil {
			list = append(list, info)
		}
	}
	return list
}

// classify finds out which objects of list to delete. existing contains the states of those
// that exist.
func (d *OrderedDeletion) classify(list kube.ResourceList, existing map[*object.Info]*unstructured.Unstructured) *FoundObjects {
	found := &FoundObjects{}
	for _, info := range list {
		switch state, exists := existing[info]; {
		case !exists:
			found.absent = append(found.absent, info)
		case state == nil: // without a cluster, all objects count as existing
			found.List = append(found.List, info)
		default:
			found.add(info, state, d.whyKeep(state))
		}
	}
	return found
}

// add adds an object to List or, if whyKeep is not empty, to Kept. live is the object's state
// in the cluster.
func (f *FoundObjects) add(info *object.Info, live *unstructured.Unstructured, whyKeep string) {
	if whyKeep != "" {
		f.Kept = append(f.Kept, KeptObject{Info: info, Why: whyKeep})
	} else {
		f.List = append(f.List, object.WithState(info, live))
	}
}

func (d *OrderedDeletion) whyKeep(live *unstructured.Unstructured) string {
	if d.WhyKeep == nil {
		return ""
	}
	return d.WhyKeep(live)
}

// inUninstallOrder returns resources sorted by kind, in Helm's uninstall order.
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

// awaitGone calls untilGone, which waits until the objects of a group and their pods no longer
// exist. It limits the wait to d.Timeout, and emits events about changes of the objects.
func (d *OrderedDeletion) awaitGone(ctx context.Context, group *removal.Group, untilGone func(context.Context, func(watcher.Report)) error) error {
	if d.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d.Timeout, failure.DeletionTimeout(d.Timeout))
		defer cancel()
	}
	began := time.Now()
	err := untilGone(ctx, func(report watcher.Report) {
		if report.Status.State != readiness.Ready {
			e := wait.ChangeEvent(report, group.Node.ID(), d.Namespace)
			e.Deadline, _ = ctx.Deadline()
			d.Events.Emit(e)
		}
	})
	return stillExistError(err, began)
}

// Extent returns how much Run will delete at most, such as "18 resources in 10 nodes".
func (d *OrderedDeletion) Extent() string {
	resources := 0
	for _, group := range d.Removal.Groups {
		resources += len(group.Resources)
	}
	return fmt.Sprintf("%s in %s", text.Count(resources, "resource"), text.Count(d.NodeCount(), "node"))
}

// NodeCount returns the number of nodes whose resources Run deletes.
func (d *OrderedDeletion) NodeCount() int {
	ids := map[string]bool{}
	for _, group := range d.Removal.Groups {
		if group.Node != nil {
			ids[group.Node.ID()] = true
		}
	}
	return len(ids)
}
