// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// ApplyOptions say how Apply changes objects. The zero value uses the live object as the
// base of the merge.
type ApplyOptions struct {
	// Originals are the objects as they were declared before: the base of the merge. If an
	// object has no original, its base is the live object, so that all fields that are not
	// declared are removed, as in Helm.
	Originals kube.ResourceList
	// Prune makes a custom Kubernetes client delete the originals that are not in the list,
	// as Helm's update does. Otherwise Apply deletes nothing.
	Prune bool
	// KeepForeignFields keeps fields that others have set in an object without an original,
	// by using the declared object as the base. A custom Kubernetes client ignores it.
	KeepForeignFields bool
	// Force replaces objects instead of patching them. They keep their UIDs.
	Force bool
	// ThreeWay includes the live object in the merge for custom resources, too.
	ThreeWay bool
	// IsAbsent reports whether an object certainly does not exist. Apply creates such an
	// object without reading it. If the object exists after all, Apply changes it if
	// MayChange allows it. IsAbsent can be nil.
	IsAbsent func(*object.Info) bool
	// Live reads the live state of objects. If it is nil, the cluster is read.
	Live func(context.Context, kube.ResourceList) (map[*object.Info]*unstructured.Unstructured, error)
	// MayChange returns an error if an object that exists must not be changed, given its
	// live state. The object then counts as not created. MayChange can be nil, and is
	// called by several goroutines.
	MayChange func(info *object.Info, live *unstructured.Unstructured) error
}

// Applied is the result of Apply. Its lists are in the order of the applied list.
type Applied struct {
	// Unchanged are the objects that already were as declared.
	Created, Updated, Unchanged kube.ResourceList
	// States are the states of these objects.
	States object.LiveObjects
	// Pruned says whether the originals that are not in the list were deleted.
	Pruned bool
}

func (w *requestWriter) Apply(ctx context.Context, list kube.ResourceList, o ApplyOptions) (*Applied, error) {
	if err := ctx.Err(); err != nil {
		return &Applied{}, err
	}
	changes, err := w.compare(ctx, list, o)
	if err != nil {
		return &Applied{}, err
	}
	s, err := w.newSender(o)
	if err != nil {
		return &Applied{}, err
	}
	for _, batch := range batches(changes) {
		s.writeAll(ctx, batch)
		if ctx.Err() != nil || hasCreateFailure(batch) {
			break
		}
	}
	return summarize(ctx, changes)
}

// change is the change of one object, and its result.
type change struct {
	info *object.Info
	// base is nil if the live object is the base.
	base runtime.Object
	// live is nil if the object does not exist. After the change it is the new state.
	live *unstructured.Unstructured
	// assumedAbsent says whether the object was not read because IsAbsent returned true.
	assumedAbsent bool
	// earlier is the change of an earlier declaration of the same object in the list.
	earlier *change

	outcome outcome
	err     error
	// before is the live object before it was changed.
	before *unstructured.Unstructured
	// unanswered says whether the server did not answer the create request.
	unanswered bool
}

// outcome is the result of the change of an object.
type outcome int

const (
	notStarted outcome = iota
	created
	updated
	unchanged
	createFailed
	changeFailed
)

// compare reads the live objects, and finds the base of each.
func (w *requestWriter) compare(ctx context.Context, list kube.ResourceList, o ApplyOptions) ([]*change, error) {
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
	originals := index(o.Originals)
	changes := make([]*change, len(list))
	latest := make(map[sequencer.ID]*change, len(list))
	for i, info := range list {
		id := object.IDOf(info)
		changes[i] = &change{info: info, live: live[info], assumedAbsent: absent[info], earlier: latest[id]}
		if original := originals[id]; original != nil {
			changes[i].base = original.Object
		} else if o.KeepForeignFields {
			changes[i].base = info.Object
		}
		latest[id] = changes[i]
	}
	return changes, nil
}

// readLive reads the live state of objects.
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

// index indexes objects by their identity. If an object is declared several times, it uses
// the first declaration, as kube.ResourceList.Get does.
func index(list kube.ResourceList) map[sequencer.ID]*object.Info {
	byID := make(map[sequencer.ID]*object.Info, len(list))
	for _, info := range list {
		id := object.IDOf(info)
		if byID[id] == nil {
			byID[id] = info
		}
	}
	return byID
}

// batches splits changes into batches that can be written in parallel: adjacent objects of
// the same kind. A batch does not contain an object twice.
func batches(changes []*change) [][]*change {
	var all [][]*change
	for i, ch := range changes {
		if i == 0 || ch.earlier != nil || kindOf(ch) != kindOf(changes[i-1]) {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], ch)
	}
	return all
}

func kindOf(ch *change) string { return ch.info.Mapping.GroupVersionKind.GroupKind().String() }

// writeAll writes the changes of a batch in parallel.
func (s *sender) writeAll(ctx context.Context, batch []*change) {
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

func hasCreateFailure(batch []*change) bool {
	for _, ch := range batch {
		if ch.outcome == createFailed {
			return true
		}
	}
	return false
}

// summarize returns the result of Apply.
func summarize(ctx context.Context, changes []*change) (*Applied, error) {
	applied := &Applied{States: make(object.LiveObjects, len(changes))}
	var failures []ObjectError
	complete := true
	for _, ch := range changes {
		switch ch.outcome {
		case created:
			applied.Created.Append(ch.info)
		case updated:
			applied.Updated.Append(ch.info)
		case unchanged:
			applied.Unchanged.Append(ch.info)
		case notStarted:
			complete = false
		default:
			failures = append(failures, ObjectError{Info: ch.info, Err: ch.err, Unanswered: ch.unanswered})
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
