// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/watcher"
)

// removal deletes objects in reverse order: each once everything that depended
// on it is gone.
type removal struct {
	cluster     *cluster.Client
	events      *events
	namespace   string
	propagation metav1.DeletionPropagation
	// within is how long what is deleted may take to be gone; 0 is as long as the
	// operation.
	within time.Duration
	graph  *sequencer.Removal
	// object finds the object of a resource.
	object func(*sequencer.PlannedResource) *kubeInfo
	// spare says why an object is left alone, as it is in the cluster; an empty
	// text deletes it. It may be nil.
	spare func(live *unstructured.Unstructured) string
	// ledger, if not nil, notes which nodes are begun and which are gone.
	ledger *ledger
	// partial is whether the release goes on, so that events of a node say which
	// objects they are about.
	partial bool

	mu      sync.Mutex
	deleted kube.ResourceList
	tracker *watcher.Watcher
}

// run deletes everything, and returns when all is deleted and what others had to
// wait for is gone.
func (r *removal) run(ctx context.Context) error {
	if len(r.graph.Groups) == 0 {
		return context.Cause(ctx)
	}
	if r.cluster.Real() {
		var err error
		if r.tracker, err = newTracker(ctx, r.cluster, r.events.notice); err != nil {
			return err
		}
		defer r.tracker.Close()
	}
	return r.removalError(ctx, r.graph.Execute(ctx, r.removeGroup))
}

// removeGroup deletes what is there of a group. Where there is nothing to delete or
// to wait for, nothing is told.
func (r *removal) removeGroup(ctx context.Context, g, after *sequencer.RemovalGroup) error {
	found, err := r.find(ctx, g)
	if err == nil {
		for _, s := range found.spared {
			r.events.warn(s.warning())
		}
	}
	told := err == nil && len(found.list) > 0
	if told {
		e := Event{Type: EventNodeDeleting, Node: g.Node.ID(), Message: summaryOf(found.list)}
		if after != nil {
			e.After = after.Node.ID()
		}
		r.events.emit(e)
		if r.ledger != nil {
			r.ledger.at(g.Node.ID())
		}
	}
	if err == nil {
		err = r.deleteGroup(ctx, g, found)
	}
	if err != nil {
		r.events.emit(Event{Type: EventNodeFailed, Node: g.Node.ID(), Err: err, Message: err.Error()})
		return err
	}
	if told {
		deleted := Event{Type: EventNodeDeleted, Node: g.Node.ID()}
		if r.partial {
			deleted.Message = summaryOf(found.list)
		}
		r.events.emit(deleted)
	}
	if r.ledger != nil {
		r.ledger.done(g.Node.ID())
	}
	return nil
}

// deleteGroup deletes what was found and, if something waits for that, waits until
// it and the pods that it owned are gone.
func (r *removal) deleteGroup(ctx context.Context, g *sequencer.RemovalGroup, found *presence) error {
	awaited := g.Awaited && r.tracker != nil
	var going *departure
	if awaited {
		var err error
		if going, err = r.depart(ctx, found); err != nil {
			return err
		}
	}
	if len(found.list) > 0 {
		if _, errs := r.cluster.Delete(ctx, found.list, r.propagation); len(errs) > 0 {
			return errors.Join(errs...)
		}
		r.mu.Lock()
		r.deleted = append(r.deleted, found.list...)
		r.mu.Unlock()
	}
	if !awaited {
		return nil
	}
	return r.awaitGone(ctx, g, going)
}

// presence is what of a group is in the cluster.
type presence struct {
	// list is what is there and is not spared, as it was found, in Helm's uninstall
	// order of kinds: what takes its name later is not deleted.
	list kube.ResourceList
	// absent is what is not there; an operation before may have deleted it.
	absent kube.ResourceList
	// spared is what is there and is left alone.
	spared []sparedObject
}

// find looks what of a group is there.
func (r *removal) find(ctx context.Context, g *sequencer.RemovalGroup) (*presence, error) {
	var list kube.ResourceList
	for _, res := range uninstallOrder(g.Resources) {
		if info := r.object(res); info != nil {
			list = append(list, info)
		}
	}
	if !r.cluster.Real() {
		return &presence{list: list}, nil
	}
	live, err := r.cluster.Live(ctx, list)
	if err != nil {
		return nil, err
	}
	found := &presence{}
	for _, info := range list {
		object := live[info]
		if object == nil {
			found.absent = append(found.absent, info)
			continue
		}
		if why := r.whySpare(object); why != "" {
			found.spared = append(found.spared, sparedObject{info: info, why: why})
			continue
		}
		asFound := *info
		asFound.Object = object
		found.list = append(found.list, &asFound)
	}
	return found, nil
}

func (r *removal) whySpare(live *unstructured.Unstructured) string {
	if r.spare == nil {
		return ""
	}
	return r.spare(live)
}

// departure is what must be gone before a group counts as removed.
type departure struct {
	targets []watcher.Target
	owners  *cluster.Owners
	// owned are, by namespace, the objects whose pods must be gone as well.
	owned map[string]*cluster.OwnerSet
}

// depart notes, before the deletion, which objects are there and what owns
// pods on their behalf. What is gone already may have pods that are not.
func (r *removal) depart(ctx context.Context, found *presence) (*departure, error) {
	d := &departure{owned: map[string]*cluster.OwnerSet{}}
	for _, info := range found.list {
		uid := info.Object.(*unstructured.Unstructured).GetUID() // as find has it
		d.targets = append(d.targets, targetOf(info, uid))
		if mayOwnPods(info) {
			d.ownersIn(info.Namespace).Add(uid)
		}
	}
	for _, info := range found.absent {
		if mayOwnPods(info) {
			d.ownersIn(info.Namespace).AddGone(info.Mapping.GroupVersionKind.GroupKind(), info.Name)
		}
	}
	if len(d.owned) == 0 || r.propagation == metav1.DeletePropagationOrphan {
		d.owned = nil
		return d, nil
	}
	var err error
	if d.owners, err = r.cluster.NewOwners(r.cannotSee); err != nil {
		return nil, err
	}
	for namespace, owners := range d.owned {
		if err := d.owners.Closure(ctx, namespace, owners); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func (d *departure) ownersIn(namespace string) *cluster.OwnerSet {
	if d.owned[namespace] == nil {
		d.owned[namespace] = &cluster.OwnerSet{}
	}
	return d.owned[namespace]
}

// cannotSee says that what owns pods, or they themselves, cannot be looked for.
func (r *removal) cannotSee(resource, namespace string) {
	r.events.warn(fmt.Sprintf("%s in namespace %s may not be listed: pods of what is deleted are not waited for", resource, namespace))
}

func targetOf(info *kubeInfo, uid types.UID) watcher.Target {
	return watcher.Target{
		GVR: info.Mapping.Resource, GVK: info.Mapping.GroupVersionKind,
		Namespace: scopeOf(info), Name: info.Name, UID: uid,
	}
}

// mayOwnPods spares the kinds that surely own none the search for pods.
func mayOwnPods(info *kubeInfo) bool {
	if !info.Namespaced() {
		return false
	}
	gvk := info.Mapping.GroupVersionKind
	switch gvk.Group {
	case "":
		return gvk.Kind == "ReplicationController"
	case "rbac.authorization.k8s.io", "networking.k8s.io", "policy", "autoscaling", "storage.k8s.io",
		"apiextensions.k8s.io", "apiregistration.k8s.io", "admissionregistration.k8s.io":
		return false
	}
	return true
}

// awaitGone waits for the objects and their pods to be gone.
func (r *removal) awaitGone(ctx context.Context, g *sequencer.RemovalGroup, d *departure) error {
	targets := d.targets
	for namespace, owners := range d.owned {
		pods, err := d.owners.Pods(ctx, namespace, owners)
		if err != nil {
			return err
		}
		for _, pod := range pods {
			targets = append(targets, watcher.Target{
				GVR: cluster.PodResource(), GVK: cluster.PodKind(),
				Namespace: namespace, Name: pod.Name, UID: pod.UID,
			})
		}
	}
	if r.within > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.within, &goneTimeoutError{r.within})
		defer cancel()
	}
	began := time.Now()
	_, err := r.tracker.WaitDeleted(ctx, targets, func(report watcher.Report) {
		if report.Status.State != readiness.Ready {
			e := changeOf(report, g.Node.ID(), r.namespace)
			e.Deadline, _ = ctx.Deadline()
			r.events.emit(e)
		}
	})
	return notGone(err, began)
}

// goneTimeoutError is why waiting ends for what does not go away in time.
type goneTimeoutError struct{ limit time.Duration }

func (e *goneTimeoutError) Error() string {
	return fmt.Sprintf("it was not gone within %s", e.limit)
}

// Unwrap makes it a context.DeadlineExceeded, like the end of any other time.
func (e *goneTimeoutError) Unwrap() error { return context.DeadlineExceeded }

// extent says how much is deleted, as in "18 resources in 10 nodes".
func (r *removal) extent() string {
	resources := 0
	for _, g := range r.graph.Groups {
		resources += len(g.Resources)
	}
	return fmt.Sprintf("%s in %s", counted(resources, "resource"), counted(r.nodes(), "node"))
}

// nodes counts the nodes of which something is deleted.
func (r *removal) nodes() int {
	ids := map[string]bool{}
	for _, g := range r.graph.Groups {
		ids[g.Node.ID()] = true
	}
	return len(ids)
}
