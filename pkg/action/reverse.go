// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/releaseutil"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/pkg/sequencer"
)

// inReverse deletes node after node, each once everything that depended on it
// is gone.
func (r *removal) inReverse(ctx context.Context) error {
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.Timeout,
			fmt.Errorf("the operation took longer than its timeout of %s: see what holds it up, and repeat it, with a longer --timeout if need be", r.Timeout))
		defer cancel()
	}
	if r.cluster.Real() {
		var err error
		if r.tracker, err = newTracker(ctx, r.cluster, r.events.notice); err != nil {
			return err
		}
	}
	return sequencer.ExecuteReverse(ctx, r.plan, r.removeNode)
}

func (r *removal) removeNode(ctx context.Context, n *sequencer.Node) error {
	r.events.emit(Event{Type: EventNodeDeleting, Node: n.ID(), Message: summary(n)})
	if err := r.deleteNode(ctx, n); err != nil {
		r.events.emit(Event{Type: EventNodeFailed, Node: n.ID(), Err: err, Message: err.Error()})
		return err
	}
	r.events.emit(Event{Type: EventNodeDeleted, Node: n.ID()})
	return nil
}

// deleteNode deletes a node's objects and, if something waits for that, waits
// until they and the pods they owned are gone.
func (r *removal) deleteNode(ctx context.Context, n *sequencer.Node) error {
	list, err := r.objects(n)
	if err != nil || len(list) == 0 {
		return err
	}
	r.mu.Lock()
	r.list = append(r.list, list...)
	r.mu.Unlock()
	awaited := n.Level > 0 && r.tracker != nil
	var going *departure
	if awaited {
		if going, err = r.depart(ctx, list); err != nil {
			return err
		}
	}
	if errs := r.cluster.Delete(ctx, list, r.propagation()); len(errs) > 0 {
		return errors.Join(errs...)
	}
	if !awaited {
		return nil
	}
	return r.awaitGone(ctx, n, going)
}

// objects builds the objects of a node that are to be deleted, in Helm's
// uninstall order of kinds.
func (r *removal) objects(n *sequencer.Node) (kube.ResourceList, error) {
	var going []*sequencer.PlannedResource
	for _, res := range uninstallOrder(n.Resources) {
		if keeps(res.Policy) {
			continue
		}
		if res.SelfDefined {
			mapping, err := r.cluster.Mapping(res.APIVersion, res.ID.Kind)
			if err != nil {
				return nil, err
			}
			if mapping == nil {
				continue // its definition is gone, and with it every such object
			}
		}
		going = append(going, res)
	}
	list, err := buildObjects(r.cluster, going, false)
	if err != nil {
		return nil, fmt.Errorf("unable to build kubernetes objects for delete: %w", err)
	}
	return list, nil
}

func uninstallOrder(resources []*sequencer.PlannedResource) []*sequencer.PlannedResource {
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

// departure is what must be gone before a node counts as removed.
type departure struct {
	targets []readiness.Target
	owners  *cluster.Owners
	// owned are, by namespace, the objects whose pods must be gone as well.
	owned map[string]map[types.UID]bool
}

// depart notes, before the deletion, which objects are there and what owns
// pods on their behalf.
func (r *removal) depart(ctx context.Context, list kube.ResourceList) (*departure, error) {
	d := &departure{owned: map[string]map[types.UID]bool{}}
	for _, info := range list {
		live, err := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("look at %s: %w", describe(info), err)
		}
		object, err := meta.Accessor(live)
		if err != nil {
			return nil, err
		}
		d.targets = append(d.targets, readiness.Target{
			GVR: info.Mapping.Resource, GVK: info.Mapping.GroupVersionKind,
			Namespace: info.Namespace, Name: info.Name, UID: object.GetUID(),
		})
		if info.Namespace != "" && mayOwnPods(info) {
			if d.owned[info.Namespace] == nil {
				d.owned[info.Namespace] = map[types.UID]bool{}
			}
			d.owned[info.Namespace][object.GetUID()] = true
		}
	}
	if len(d.owned) == 0 || r.propagation() == metav1.DeletePropagationOrphan {
		d.owned = nil
		return d, nil
	}
	var err error
	if d.owners, err = r.cluster.NewOwners(); err != nil {
		return nil, err
	}
	for namespace, uids := range d.owned {
		if err := d.owners.Closure(ctx, namespace, uids); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// mayOwnPods spares the kinds that surely own none the search for pods.
func mayOwnPods(info *resource.Info) bool {
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
func (r *removal) awaitGone(ctx context.Context, n *sequencer.Node, d *departure) error {
	targets := d.targets
	for namespace, uids := range d.owned {
		pods, err := d.owners.Pods(ctx, namespace, uids)
		if err != nil {
			return err
		}
		for _, pod := range pods {
			targets = append(targets, readiness.Target{
				GVR: cluster.PodResource(), GVK: schema.GroupVersionKind{Version: "v1", Kind: "Pod"},
				Namespace: namespace, Name: pod.Name, UID: pod.UID,
			})
		}
	}
	if len(targets) == 0 {
		return nil
	}
	_, err := r.tracker.WaitGone(ctx, targets, func(report readiness.Report) {
		if report.Status.State != readiness.Ready {
			r.events.emit(Event{
				Type: EventResourceChanged, Node: n.ID(), Resource: report.Target.GVK.Kind + "/" + report.Target.Name,
				Message: progress(report.Status),
			})
		}
	})
	return err
}
