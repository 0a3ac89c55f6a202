// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"context"
	"errors"
	"slices"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// ApplyOptions say how Apply changes existing objects. Apply compares the new declaration
// with a base, usually the previous declaration, to find out which fields to remove. By
// default, the base is the object in the cluster (the live object).
type ApplyOptions struct {
	// Originals are the objects as they were declared before. They are the bases of the
	// merge. If an object has no original, its base is the live object, so that all fields
	// that are not declared are removed, as in Helm.
	Originals kube.ResourceList
	// Prune makes a custom Kubernetes client delete the originals that are not in the list
	// passed to Apply, as Helm's update does. Otherwise Apply deletes nothing.
	Prune bool
	// KeepForeignFields keeps fields that others have set in an object without an original,
	// by using the declared object as the base. A custom Kubernetes client ignores it.
	KeepForeignFields bool
	// Force replaces existing objects instead of patching them. They keep their UIDs.
	Force bool
	// ThreeWay includes the live object in the merge for custom resources, too.
	ThreeWay bool
	// IsAbsent reports whether an object certainly does not exist. Apply creates such an
	// object without reading it. If the object exists after all, Apply changes it if
	// MayChange allows it. IsAbsent can be nil.
	IsAbsent func(*object.Info) bool
	// Live reads the states of objects in the cluster. If it is nil, Apply reads them
	// itself.
	Live func(context.Context, kube.ResourceList) (map[*object.Info]*unstructured.Unstructured, error)
	// MayChange returns an error if the existing object info, whose state in the cluster is
	// live, must not be changed. Apply treats this like a failure to create the object.
	// MayChange can be nil. Several goroutines call it at the same time.
	MayChange func(info *object.Info, live *unstructured.Unstructured) error
}

// Applied says what Apply did with each object. Its lists are in the order of the list
// passed to Apply.
type Applied struct {
	// Unchanged are the objects that already were as declared.
	Created, Updated, Unchanged kube.ResourceList
	// States maps the objects of these lists to the states that the server returned.
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
		if ctx.Err() != nil || slices.ContainsFunc(batch, (*change).failedToCreate) {
			break
		}
	}
	return summarize(ctx, changes)
}

// change is the creation or change of one object by Apply. Its first fields are the input,
// the others the result.
type change struct {
	info *object.Info
	// base is the base of the merge; nil if the live object is the base.
	base runtime.Object
	// live is the object in the cluster; nil if it does not exist. After the change it is
	// the new state.
	live *unstructured.Unstructured
	// assumedAbsent says whether the object was not read because IsAbsent returned true.
	assumedAbsent bool
	// earlier is set if the list has the same object twice: it is the change of the
	// previous occurrence.
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

// compare reads the objects of list from the cluster, and prepares a change for each of
// them.
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

// readLive reads the states of objects with o.Live, or from the cluster.
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

// index maps the identities of objects to the objects. If an object is declared several
// times, it uses the first declaration, as kube.ResourceList.Get does.
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

func (ch *change) failedToCreate() bool { return ch.outcome == createFailed }

// summarize builds what Apply returns from its changes: the result, and an *ApplyError if
// any failed. If none failed but ctx ended before all were started, the error is that of
// ctx.
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
