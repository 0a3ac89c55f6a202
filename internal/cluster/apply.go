// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// ApplyOptions say how Apply changes objects. The zero value merges with what
// is on the server as its base.
type ApplyOptions struct {
	// Originals are the objects as they were declared before: the base of the
	// merge. An object that has none takes the live one, so that all of it that
	// is not declared is removed, as in Helm.
	Originals kube.ResourceList
	// Prune has a Kubernetes client of another implementation delete the originals that
	// are not in the list, as Helm's update does. Helm's own client does not do so here.
	Prune bool
	// SelfBase has an object without an original be its own base, so that what others
	// have set there stays. A client of another implementation does not heed it.
	SelfBase bool
	// Force replaces objects instead of patching them. They stay the same
	// objects, with the same UID.
	Force bool
	// ThreeWay has the live object count in the merge of custom resources, too.
	ThreeWay bool
	// Absent tells the objects that are surely not there: they are created
	// without a look. One that turns out to be there is changed, if Admit lets it.
	// It may be nil.
	Absent func(*resource.Info) bool
	// Live reads the present state of objects, as the client's method of that name,
	// which is taken where it is nil.
	Live func(context.Context, kube.ResourceList) (map[*resource.Info]*unstructured.Unstructured, error)
	// Admit is asked before an object that is there is changed, as it was found.
	// Its error is that of the object, which then counts as not created. It may be
	// nil, and is called by several goroutines.
	Admit func(info *resource.Info, live *unstructured.Unstructured) error
}

// Applied lists what the server has taken, in the order of the list applied.
// Unchanged are objects that were as declared already.
type Applied struct {
	Created, Updated, Unchanged kube.ResourceList
	// Pruned is whether the originals that are not in the list were deleted.
	Pruned bool
}

// Apply creates objects or changes them to what list declares. All are read
// first; then neighbours of one kind are written side by side, kinds one after
// the other. A failure to change an object does not keep the rest from being
// applied; after a failure to create one no further kind is begun. Each object
// that succeeded holds afterwards what the server has.
//
// What was done is returned with an error, too. The error is an *ApplyError if
// objects failed, and the context's if it ended before all was done and nothing
// else failed. A Helm client of another make applies the objects in its own way,
// knows of no Absent and no Admit, and returns errors of its own.
func (c *Client) Apply(ctx context.Context, list kube.ResourceList, o ApplyOptions) (*Applied, error) {
	if err := ctx.Err(); err != nil {
		return &Applied{}, err
	}
	return c.backend.apply(ctx, list, o)
}

func (n native) apply(ctx context.Context, list kube.ResourceList, o ApplyOptions) (*Applied, error) {
	changes, err := n.compare(ctx, list, index(o.Originals), o)
	if err != nil {
		return &Applied{}, err
	}
	client, err := n.Dynamic()
	if err != nil {
		return &Applied{}, err
	}
	w := n.newWriter(client, o)
	for _, batch := range batches(changes) {
		w.writeAll(ctx, batch)
		if ctx.Err() != nil || notCreated(batch) {
			break
		}
	}
	return summarize(ctx, changes)
}

func (c *Client) newWriter(client dynamic.Interface, o ApplyOptions) *writer {
	return &writer{client: client, log: c.log, manager: fieldManager(), force: o.Force, threeWay: o.ThreeWay, admit: o.Admit}
}

// change is what is to be done about one object, and what became of it.
type change struct {
	info *resource.Info
	// base is nil if the live object is the base.
	base runtime.Object
	// live is nil if the object is not there.
	live *unstructured.Unstructured
	// assumed is whether it was not looked whether the object is there.
	assumed bool
	// earlier is a declaration of the same object further up in the list.
	earlier *change

	outcome outcome
	err     error
	// before is the object as it was found, once it has been changed.
	before *unstructured.Unstructured
	// unanswered is whether the object was sent to be created, and nothing came
	// back.
	unanswered bool
}

type outcome int

const (
	notBegun outcome = iota
	created
	updated
	unchanged
	createFailed
	changeFailed
)

// compare reads what is there of the objects.
func (c *Client) compare(ctx context.Context, list kube.ResourceList, originals map[sequencer.ID]*resource.Info, o ApplyOptions) ([]*change, error) {
	assumed := make([]bool, len(list))
	var unsure kube.ResourceList
	for i, info := range list {
		assumed[i] = o.Absent != nil && o.Absent(info)
		if !assumed[i] {
			unsure.Append(info)
		}
	}
	look := o.Live
	if look == nil {
		look = c.Live
	}
	live, err := look(ctx, unsure)
	if err != nil {
		var failure ObjectError
		if errors.As(err, &failure) {
			err = &ApplyError{Failures: []ObjectError{failure}}
		}
		return nil, err
	}
	changes := make([]*change, len(list))
	latest := make(map[sequencer.ID]*change, len(list))
	for i, info := range list {
		key := object.IDOf(info)
		changes[i] = &change{info: info, live: live[info], assumed: assumed[i], earlier: latest[key]}
		if original := originals[key]; original != nil {
			changes[i].base = original.Object
		} else if o.SelfBase {
			changes[i].base = info.Object
		}
		latest[key] = changes[i]
	}
	return changes, nil
}

// index finds objects as kube.ResourceList.Get does, but at once. Of several
// declarations of one object it takes the first.
func index(list kube.ResourceList) map[sequencer.ID]*resource.Info {
	byKey := make(map[sequencer.ID]*resource.Info, len(list))
	for _, info := range list {
		key := object.IDOf(info)
		if byKey[key] == nil {
			byKey[key] = info
		}
	}
	return byKey
}

// batches splits changes into those that are made side by side: neighbours of
// one kind, but no object twice.
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

func (w *writer) writeAll(ctx context.Context, batch []*change) {
	var g errgroup.Group
	g.SetLimit(mostAtOnce)
	for _, ch := range batch {
		g.Go(func() error {
			if ctx.Err() == nil {
				w.write(ctx, ch)
			}
			return nil
		})
	}
	_ = g.Wait() // errors are kept by object
}

func notCreated(batch []*change) bool {
	for _, ch := range batch {
		if ch.outcome == createFailed {
			return true
		}
	}
	return false
}

func summarize(ctx context.Context, changes []*change) (*Applied, error) {
	applied := &Applied{}
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
		case notBegun:
			complete = false
		default:
			failures = append(failures, ObjectError{Info: ch.info, Err: ch.err, Unanswered: ch.unanswered})
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

// apply leaves it to the client to apply the objects. Without Prune it passes only the
// originals of the objects in the list: the client would delete the others, such as a
// cluster-scoped object for which only one of the manifests names a namespace.
func (d delegated) apply(_ context.Context, list kube.ResourceList, o ApplyOptions) (*Applied, error) {
	bases := o.Originals
	if !o.Prune {
		bases = nil
		originals := index(o.Originals)
		for _, info := range list {
			if original := originals[object.IDOf(info)]; original != nil && original.Namespace == info.Namespace {
				bases.Append(original)
			}
		}
	}
	update := d.kube.Update
	if o.ThreeWay {
		merger, ok := d.kube.(kube.InterfaceThreeWayMerge)
		if !ok {
			return &Applied{}, fmt.Errorf("a Kubernetes client of type %T cannot merge three-way, which taking ownership needs", d.kube)
		}
		update = merger.UpdateThreeWayMerge
	}
	result, err := update(bases, list, o.Force)
	if result == nil {
		return &Applied{Pruned: o.Prune}, err
	}
	return &Applied{Created: result.Created, Updated: result.Updated, Pruned: o.Prune}, err
}
