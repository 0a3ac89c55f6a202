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

// ApplyOptions say how Apply changes objects. The zero value merges with the live object as
// the base.
type ApplyOptions struct {
	// Originals are the objects as they were declared before: the base of the merge. The
	// base of an object that has none is the live one, so that everything is removed that
	// is not declared, as in Helm.
	Originals kube.ResourceList
	// Prune has a Kubernetes client of another implementation delete the originals that are
	// not in the list, as Helm's update does. Otherwise Apply deletes nothing.
	Prune bool
	// KeepForeignFields keeps the fields of an object without an original that others have
	// set: its base is the object as it is declared. A client of another implementation
	// ignores it.
	KeepForeignFields bool
	// Force replaces objects instead of patching them. They keep their UIDs.
	Force bool
	// ThreeWay has the live object count in the merge of custom resources, too.
	ThreeWay bool
	// IsAbsent reports whether an object certainly does not exist. Such objects are created
	// without being read. One that exists all the same is changed, if MayChange allows it.
	// It may be nil.
	IsAbsent func(*object.Info) bool
	// Live reads the live state of objects. If it is nil, the cluster is read.
	Live func(context.Context, kube.ResourceList) (map[*object.Info]*unstructured.Unstructured, error)
	// MayChange returns an error if an object that exists must not be changed, given its
	// live state. The object then counts as not created. It may be nil, and is called by
	// several goroutines.
	MayChange func(info *object.Info, live *unstructured.Unstructured) error
}

// Applied is what Apply has done. The lists are in the order of the list applied.
type Applied struct {
	// Unchanged are the objects that were as declared already.
	Created, Updated, Unchanged kube.ResourceList
	// States are the states of these objects.
	States object.States
	// Pruned is whether the originals that are not in the list were deleted.
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
	// assumedAbsent is whether the object was not read because IsAbsent says that it does
	// not exist.
	assumedAbsent bool
	// earlier is the change of another declaration of the same object before this one.
	earlier *change

	outcome outcome
	err     error
	// before is the live object before it was changed.
	before *unstructured.Unstructured
	// unanswered is whether the object was sent to be created and the server did not
	// answer.
	unanswered bool
}

// outcome is what became of an object.
type outcome int

const (
	notStarted outcome = iota
	created
	updated
	unchanged
	createFailed
	changeFailed
)

// compare reads the live objects, and finds the bases.
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

// index finds objects by their identity. Of several declarations of an object it takes the
// first, as kube.ResourceList.Get does.
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

// batches splits changes into those that are made in parallel: adjacent objects of the same
// kind, but no object twice.
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

// writeAll makes changes in parallel.
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
	_ = g.Wait() // errors are kept for each object
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
	applied := &Applied{States: make(object.States, len(changes))}
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
