// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package hookobjects deletes what managed hooks left in the cluster: with the release, or after an
// upgrade to a revision that no longer has the hooks (docs/reference.md, "Managed hooks"). Package hooks
// records the objects when the hooks run.
package hookobjects

import (
	"context"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/hooks"
	"github.com/ordered-helm/helm/internal/inventory"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/prune"
	"github.com/ordered-helm/helm/internal/removal"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
)

// Removal deletes objects that managed hooks of a release have left in the cluster, in the reverse of the
// order in which the hooks ran.
type Removal struct {
	op     *operation.Operation
	writer *history.Writer
	// records contains what is recorded about the objects to delete, and forgotten about those that
	// stay in the cluster but no longer belong to hooks.
	records, forgotten []orderrecord.HookObject
	// uids contains the recorded UIDs of each object to delete. Several objects may have had its name.
	// The list contains an empty UID if an operation ended before it knew which object it had created.
	uids map[sequencer.ID][]string
	// kept contains the objects that are kept because of the resource policy in the manifest or in a hook.
	kept map[sequencer.ID]bool
	// infos contains the objects to delete, in the order in which the hooks ran.
	infos kube.ResourceList
	// disowned contains objects that stay in the cluster, but belong to unmanaged hooks now.
	disowned kube.ResourceList
	deletion *prune.OrderedDeletion
}

// decision says what happens to a recorded object.
type decision int

const (
	remove decision = iota
	// retain means that a managed hook still declares the object.
	retain
	// forget means that the object stays, but is no longer recorded.
	forget
	// disown is like forget, for an object that no longer belongs to the release.
	disown
)

// All returns a Removal of all recorded objects of the release of w.
func All(op *operation.Operation, w *history.Writer) (*Removal, error) {
	return newRemoval(op, w, func(*object.Info) decision { return remove })
}

// Obsolete returns a Removal of those recorded objects that neither the hooks nor the manifest of the
// release of w declare. manifest contains the objects of the manifest, and modes says which hooks are
// managed.
func Obsolete(op *operation.Operation, w *history.Writer, manifest kube.ResourceList, modes hookorder.ChartModes) (*Removal, error) {
	if len(w.HookObjects.List()) == 0 {
		return newRemoval(op, w, nil)
	}
	inManifest := object.ByID(manifest)
	var managed, unmanaged kube.ResourceList
	for _, h := range w.Release().Hooks {
		if modes.IsManaged(h) {
			managed = append(managed, declared(op, h.Manifest)...)
		} else {
			unmanaged = append(unmanaged, declared(op, h.Manifest)...)
		}
	}
	return newRemoval(op, w, func(info *object.Info) decision {
		switch {
		case inManifest[object.IDOf(info)] != nil:
			return forget
		case contains(managed, info):
			return retain
		case contains(unmanaged, info):
			return disown
		}
		return remove
	})
}

// Declared returns those objects of the managed hooks of the release of w that are recorded as created.
func Declared(op *operation.Operation, w *history.Writer, modes hookorder.ChartModes) kube.ResourceList {
	recorded := w.HookObjects.List()
	if len(recorded) == 0 {
		return nil
	}
	var list kube.ResourceList
	for _, h := range w.Release().Hooks {
		if !modes.IsManaged(h) {
			continue
		}
		for _, info := range declared(op, h.Manifest) {
			if slices.ContainsFunc(recorded, func(o orderrecord.HookObject) bool { return o.UID != "" && hooks.IsSameName(o, info) }) {
				list = append(list, info)
			}
		}
	}
	return list
}

// declared returns the objects that a manifest declares; nil if it cannot be built, for example because the
// cluster does not serve a kind.
func declared(op *operation.Operation, manifest string) kube.ResourceList {
	list, err := op.Cluster.Build([]byte(manifest), false)
	if err != nil {
		return nil
	}
	return list
}

// contains reports whether one of the objects that hooks declare is info. If the server generates the name
// of an object, only the beginning of the name is known.
func contains(list kube.ResourceList, info *object.Info) bool {
	id := object.IDOf(info)
	return slices.ContainsFunc(list, func(candidate *object.Info) bool {
		other := object.IDOf(candidate)
		if other.Name != "" {
			return other == id
		}
		content, err := object.AsUnstructured(candidate.Object)
		other.Name = id.Name
		return err == nil && other == id && strings.HasPrefix(id.Name, content.GetGenerateName())
	})
}

// newRemoval returns a Removal of the recorded objects for which decide returns remove. It sends no requests
// except to find out which kinds the cluster serves.
func newRemoval(op *operation.Operation, w *history.Writer, decide func(*object.Info) decision) (*Removal, error) {
	r := &Removal{op: op, writer: w, uids: map[sequencer.ID][]string{}, kept: map[sequencer.ID]bool{}}
	for _, o := range w.HookObjects.List() {
		if op.Delegates() {
			break // a custom Kubernetes client cannot delete an object with a certain UID
		}
		info, err := r.build(o)
		if err != nil {
			return nil, err
		}
		if info == nil {
			continue
		}
		switch decide(info) {
		case forget:
			r.forgotten = append(r.forgotten, o)
		case disown:
			r.forgotten, r.disowned = append(r.forgotten, o), append(r.disowned, info)
		case remove:
			if hooks.IsRemovable(info) {
				r.add(o, info)
			}
		}
	}
	if len(r.infos) > 0 {
		r.keepDeclared()
	}
	r.deletion = r.newDeletion()
	return r, nil
}

// build returns the object that o identifies, or nil if it cannot exist because the cluster does not serve
// its kind.
func (r *Removal) build(o orderrecord.HookObject) (*object.Info, error) {
	content, err := r.op.Cluster.InServedVersion(object.Reference(o.APIVersion, o.Kind, o.Namespace, o.Name))
	if err != nil || content == nil {
		return nil, err
	}
	list, err := r.op.Cluster.BuildReferences([]map[string]any{content}, r.writer.Release().Namespace)
	if err != nil || len(list) != 1 {
		return nil, err
	}
	return list[0], nil
}

// add adds an object to delete. If it is recorded several times, the last time counts for the order.
func (r *Removal) add(o orderrecord.HookObject, info *object.Info) {
	id := object.IDOf(info)
	r.infos = append(slices.DeleteFunc(r.infos, func(known *object.Info) bool { return object.IDOf(known) == id }), info)
	r.uids[id] = append(r.uids[id], o.UID)
	r.records = append(r.records, o)
}

// keepDeclared fills r.kept: with the objects that the release declares to be kept.
func (r *Removal) keepDeclared() {
	rel := r.writer.Release()
	manifests := []string{rel.Manifest}
	for _, h := range rel.Hooks {
		manifests = append(manifests, h.Manifest)
	}
	for _, manifest := range manifests {
		if !strings.Contains(manifest, kube.ResourcePolicyAnno) {
			continue
		}
		for _, info := range declared(r.op, manifest) {
			if !hooks.IsRemovable(info) {
				r.kept[object.IDOf(info)] = true
			}
		}
	}
}

func (r *Removal) newDeletion() *prune.OrderedDeletion {
	op, chart := r.op, history.ChartName(r.writer.Release())
	resources := make([]sequencer.Resource, len(r.infos))
	for i, info := range r.infos {
		apiVersion, kind := info.Mapping.GroupVersionKind.ToAPIVersionAndKind()
		resources[i] = sequencer.Resource{Chart: chart, Object: object.Reference(apiVersion, kind, object.Namespace(info), info.Name)}
	}
	plan, infos := sequencer.Chain(chart, resources, r.writer.Release().Namespace), map[*sequencer.PlannedResource]*object.Info{}
	for i, n := range plan.Nodes {
		infos[n.Resources[0]] = r.infos[i]
	}
	return &prune.OrderedDeletion{
		Cluster: op.Cluster, Writer: op.Writer, Waiter: op.Waiter, Events: op.Events, Namespace: r.writer.Release().Namespace,
		Propagation: metav1.DeletePropagationBackground, Partial: true, WhyKeep: r.whyKeep,
		InfoOf: func(res *sequencer.PlannedResource) *object.Info { return infos[res] },
		Removal: removal.OrderOf([]*sequencer.Plan{plan}, func(res *sequencer.PlannedResource) (sequencer.ID, bool) {
			return object.IDOf(infos[res]), true
		}),
	}
}

// whyKeep returns why an object must not be deleted, or "" if it can be deleted.
func (r *Removal) whyKeep(live *unstructured.Unstructured) string {
	id, rel := object.LiveID(live), r.writer.Release()
	owner := object.OwningRelease{Name: rel.Name, Namespace: rel.Namespace}
	if r.kept[id] || object.PolicyKeeps(object.ResourcePolicy(live)) {
		return inventory.KeptByPolicy
	}
	if whose, other := object.OwnedByOther(live, owner); other {
		return whose
	}
	uids := r.uids[id]
	if slices.Contains(uids, string(live.GetUID())) {
		return ""
	}
	// An operation may have been killed between creating the object and recording its UID.
	if slices.Contains(uids, "") && object.CheckOwner(live, owner) == nil {
		return ""
	}
	return "it is not the object that a hook of the release created: its UID differs"
}

// Visit calls visit for each object that Run would delete or keep, in the order of deletion. It changes
// nothing.
func (r *Removal) Visit(ctx context.Context, visit func(node string, found *prune.FoundObjects)) error {
	for _, group := range r.deletion.Removal.Groups {
		found, err := r.deletion.Find(ctx, group)
		if err != nil {
			return err
		}
		visit(group.Node.ID(), found)
	}
	return context.Cause(ctx)
}

// Run deletes the objects, each when the one before it no longer exists, and records that they no longer
// belong to the release. If an object cannot be deleted, those that would follow are not deleted, and
// all of them stay recorded. limit limits the deletion; 0 means no limit.
func (r *Removal) Run(ctx context.Context, limit time.Duration) (deleted kube.ResourceList, err error) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, &failure.TimeoutError{Limit: limit})
		defer cancel()
	}
	if len(r.infos) > 0 {
		r.op.Events.Emit(event.Event{
			Type: event.Removing, Message: "deleting what hooks left: " + text.Count(len(r.infos), "resource"), Nodes: event.RemovedNodes(r.deletion.Removal),
		})
	}
	if err := r.deletion.Run(ctx); err != nil {
		return r.deletion.Deleted(), err
	}
	if err := r.disownKept(ctx); err != nil {
		return r.deletion.Deleted(), err
	}
	r.writer.HookObjects.Forget(func(o orderrecord.HookObject) bool {
		return slices.Contains(r.records, o) || slices.Contains(r.forgotten, o)
	})
	return r.deletion.Deleted(), nil
}

// disownKept takes the references to the Release that stores the release away from the objects that stay in the
// cluster, but no longer belong to the release.
func (r *Removal) disownKept(ctx context.Context) error {
	deleted := object.ByID(r.deletion.Deleted())
	kept := slices.Clone(r.disowned)
	for _, info := range r.infos {
		if deleted[object.IDOf(info)] == nil {
			kept = append(kept, info)
		}
	}
	return r.op.Writer.Disown(ctx, r.op.Store.UIDOf(r.writer.Release().Name), kept)
}
