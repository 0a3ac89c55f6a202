// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// ApplyOptions configure how Apply changes existing objects. Apply removes the fields of an
// object that its base has and its new declaration does not have. The base is the previous
// declaration if Originals contains it, and by default the object in the cluster (the live
// object).
type ApplyOptions struct {
	// Originals are the previous declarations of the objects, which become the bases. An
	// object without an original has its live object as the base, so that all fields that
	// are not declared are removed, as in Helm.
	Originals kube.ResourceList
	// Prune makes a custom Kubernetes client delete the originals that are not in the list
	// passed to Apply, as in Helm. Otherwise Apply deletes nothing.
	Prune bool
	// KeepForeignFields makes the new declaration the base of an object without an
	// original, so that fields which others have set are kept. A custom Kubernetes client
	// ignores it.
	KeepForeignFields bool
	// Force replaces existing objects (PUT requests) instead of patching them. The objects
	// keep their UIDs.
	Force bool
	// ThreeWay also compares the live object when a patch for a custom resource is
	// computed. For built-in kinds, this is always done.
	ThreeWay bool
	// OptimisticLocking makes Apply change an object only if nobody has changed it since it
	// was read: each patch contains the resource version of the live object from which it
	// was computed. If the server therefore rejects a patch, or the creation of an object
	// that did not exist, Apply reads the object and computes the patch again, a few times.
	// A custom Kubernetes client ignores it. It cannot be combined with Force.
	OptimisticLocking bool
	// SkipSameState makes Apply send no patch that would only write values in another form
	// (see patch.Patch.StoresSame), which Helm sends. A custom Kubernetes client ignores it.
	SkipSameState bool
	// Declaration returns what to declare of an existing object, instead of info, if that
	// depends on live, the live object. With KeepForeignFields, it is also the base of the
	// object. Declaration can be nil. It must be safe for concurrent use. A custom Kubernetes
	// client ignores it.
	Declaration func(info *object.Info, live *unstructured.Unstructured) (*object.Info, error)
	// IsAbsent reports whether an object is assumed not to exist. Apply creates such an
	// object without reading it first. If it exists after all, Apply changes it if MayChange
	// allows that. IsAbsent can be nil.
	IsAbsent func(*object.Info) bool
	// Live returns the live object of each declared object that exists. If Live is nil,
	// Apply reads the live objects itself.
	Live func(context.Context, kube.ResourceList) (map[*object.Info]*unstructured.Unstructured, error)
	// Defer reports whether an object must not be written yet, although Apply is about to
	// create or change it, or finds it unchanged. live is the live object, or nil if the
	// object does not exist. Apply leaves such an object as it is, and adds it to
	// ApplyResult.Deferred. Defer can be nil. It must be safe for concurrent use. A custom
	// Kubernetes client ignores it.
	Defer func(ctx context.Context, info *object.Info, live *unstructured.Unstructured, unchanged bool) (bool, error)
	// MayChange returns an error if an existing object must not be changed. live is the
	// live object. Apply handles the error like a failure to create the object. MayChange
	// can be nil. It must be safe for concurrent use.
	MayChange func(info *object.Info, live *unstructured.Unstructured) error
	// Recreator deletes and creates again objects that cannot be changed in place; nil if their
	// rejections are failures. A custom Kubernetes client and a dry run ignore it.
	Recreator Recreator
}

// Recreator deletes objects and creates them again, for Apply. It must be safe for concurrent use.
type Recreator interface {
	// Restore creates an object that does not exist, but must be as it was before. It returns the
	// new state, or nil if Apply must create the object as it is declared.
	Restore(ctx context.Context, info *object.Info) (*unstructured.Unstructured, error)
	// Replace deletes an existing object, and creates it as it was before. live is its state. It
	// returns the new state, or nil if Apply must change the object in place.
	Replace(ctx context.Context, info *object.Info, live *unstructured.Unstructured) (*unstructured.Unstructured, error)
	// Recreate deletes an existing object, and creates it as it is declared, if rejected, the error
	// with which the server rejected a change of it, allows that. live is its state. It returns the
	// new state, or otherwise the error with which the change has failed.
	Recreate(ctx context.Context, info *object.Info, live *unstructured.Unstructured, rejected error) (*unstructured.Unstructured, error)
}

// ApplyResult describes what Apply did with each object. Its lists are in the order of the
// list passed to Apply.
type ApplyResult struct {
	// Unchanged contains the objects that already had the declared state.
	Created, Updated, Unchanged kube.ResourceList
	// Recreated contains the objects that were deleted and created again.
	Recreated kube.ResourceList
	// Deferred contains the objects that were not written because of the option Defer.
	Deferred kube.ResourceList
	// States maps the objects in these lists to the states that the server returned.
	States object.LiveObjects
	// Pruned is true if the originals that are not in the list were deleted (see the option
	// Prune).
	Pruned bool
}

// Summary says how many objects were created, recreated, changed and left unchanged, as in "1
// created, 2 changed".
func (r *ApplyResult) Summary() string {
	var parts []string
	for _, part := range []struct {
		list kube.ResourceList
		what string
	}{{r.Created, "created"}, {r.Recreated, "recreated"}, {r.Updated, "changed"}, {r.Unchanged, "unchanged"}} {
		if len(part.list) > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", len(part.list), part.what))
		}
	}
	return strings.Join(parts, ", ")
}

func (w *requestWriter) Apply(ctx context.Context, list kube.ResourceList, o ApplyOptions) (*ApplyResult, error) {
	if err := ctx.Err(); err != nil {
		return &ApplyResult{}, err
	}
	changes, err := w.prepareChanges(ctx, list, o)
	if err != nil {
		return &ApplyResult{}, err
	}
	s, err := w.newSender(o)
	if err != nil {
		return &ApplyResult{}, err
	}
	for _, batch := range batches(changes) {
		s.writeAll(ctx, batch)
		if ctx.Err() != nil || slices.ContainsFunc(batch, (*objectChange).failedToCreate) {
			break
		}
	}
	return summarize(ctx, changes)
}

// objectChange represents the creation or change of one object by Apply. The fields up to
// earlier are the input, the others are the result.
type objectChange struct {
	info *object.Info
	// base is the base of the object (see ApplyOptions); nil if this is the live object.
	base runtime.Object
	// live is the live object, or nil if it does not exist. After a successful change, it
	// is the new state.
	live *unstructured.Unstructured
	// assumedAbsent is true if Apply changes the object if it exists although live is nil: if
	// it was not read, because IsAbsent returned true, or if the object may have been created
	// again after it was read. The latter is possible if it has an original, because a
	// correction of drift does not lock the release, and with OptimisticLocking.
	assumedAbsent bool
	// earlier is the previous change of the same object, if the list contains the object
	// several times.
	earlier *objectChange

	outcome changeOutcome
	err     error
	// restored is true if the object was created as it was before, by a Recreator.
	restored bool
	// before is the live object before it was changed.
	before *unstructured.Unstructured
	// noResponse is true if the server did not respond to the create request.
	noResponse bool
}

// changeOutcome tells what became of a change.
type changeOutcome int

const (
	notStarted changeOutcome = iota
	created
	recreated
	updated
	unchanged
	deferred
	createFailed
	changeFailed
)

// prepareChanges reads the live objects, and returns a change for each object in list.
func (w *requestWriter) prepareChanges(ctx context.Context, list kube.ResourceList, o ApplyOptions) ([]*objectChange, error) {
	absent := make(map[*object.Info]bool, len(list))
	var existing kube.ResourceList
	for _, info := range list {
		if absent[info] = o.IsAbsent != nil && o.IsAbsent(info); !absent[info] {
			existing.Append(info)
		}
	}
	live, err := w.readLive(ctx, existing, o)
	if err != nil {
		return nil, err
	}
	originals := firstByID(o.Originals)
	changes := make([]*objectChange, len(list))
	latest := make(map[sequencer.ID]*objectChange, len(list))
	for i, info := range list {
		id := object.IDOf(info)
		changes[i] = &objectChange{info: info, live: live[info], earlier: latest[id]}
		if original := originals[id]; original != nil {
			changes[i].base = original.Object
		} else if o.KeepForeignFields {
			changes[i].base = info.Object
		}
		changes[i].assumedAbsent = absent[info] || live[info] == nil && (originals[id] != nil || o.OptimisticLocking)
		latest[id] = changes[i]
	}
	return changes, nil
}

// readLive reads the live objects with o.Live if it is set, or else from the cluster.
func (w *requestWriter) readLive(ctx context.Context, list kube.ResourceList, o ApplyOptions) (map[*object.Info]*unstructured.Unstructured, error) {
	read := o.Live
	if read == nil {
		read = w.cluster.Live
	}
	live, err := read(ctx, list)
	var unreadable cluster.ReadError
	if errors.As(err, &unreadable) {
		return nil, &ApplyError{Failures: []ObjectError{{Info: unreadable.Info, Err: unreadable.Err}}}
	}
	return live, err
}

// firstByID maps the identity of each object in list to the object. If an object is declared
// several times, the map contains the first declaration, as in kube.ResourceList.Get.
func firstByID(list kube.ResourceList) map[sequencer.ID]*object.Info {
	byID := make(map[sequencer.ID]*object.Info, len(list))
	for _, info := range list {
		id := object.IDOf(info)
		if byID[id] == nil {
			byID[id] = info
		}
	}
	return byID
}

// batches splits changes into batches whose objects can be written in parallel. A batch
// consists of adjacent objects of the same kind, and does not contain an object twice.
func batches(changes []*objectChange) [][]*objectChange {
	var all [][]*objectChange
	for i, ch := range changes {
		if i == 0 || ch.earlier != nil || kindOf(ch) != kindOf(changes[i-1]) {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], ch)
	}
	return all
}

func kindOf(ch *objectChange) string { return ch.info.Mapping.GroupVersionKind.GroupKind().String() }

// writeAll writes the changes of a batch in parallel.
func (s *sender) writeAll(ctx context.Context, batch []*objectChange) {
	var g errgroup.Group
	g.SetLimit(cluster.MaxConcurrency)
	for _, ch := range batch {
		g.Go(func() error {
			if ctx.Err() == nil {
				s.write(ctx, ch)
			}
			return nil
		})
	}
	_ = g.Wait() // each change has its own error
}

func (ch *objectChange) failedToCreate() bool { return ch.outcome == createFailed }

// summarize returns the result of Apply after the changes: the ApplyResult, and an
// *ApplyError if any change failed. If none failed but ctx was done before all changes were
// started, the error is that of ctx.
func summarize(ctx context.Context, changes []*objectChange) (*ApplyResult, error) {
	applied := &ApplyResult{States: make(object.LiveObjects, len(changes))}
	var failures []ObjectError
	complete := true
	for _, ch := range changes {
		switch ch.outcome {
		case created:
			applied.Created.Append(ch.info)
		case recreated:
			applied.Recreated.Append(ch.info)
		case updated:
			applied.Updated.Append(ch.info)
		case unchanged:
			applied.Unchanged.Append(ch.info)
		case deferred:
			applied.Deferred.Append(ch.info)
		case notStarted:
			complete = false
		default:
			failures = append(failures, ObjectError{Info: ch.info, Err: ch.err, NoResponse: ch.noResponse})
		}
		if ch.succeeded() {
			applied.States[ch.info] = object.WithState(ch.info, ch.live)
		}
	}
	switch {
	case len(failures) > 0:
		return applied, &ApplyError{Failures: failures}
	case !complete:
		return applied, ctx.Err()
	}
	return applied, nil
}
