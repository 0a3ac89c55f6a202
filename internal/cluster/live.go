// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/metadata"

	"github.com/ordered-helm/helm/internal/object"
)

const (
	// minListed is the number of objects of one kind and namespace from which on one list
	// request is cheaper than single reads.
	minListed = 8
	// managedByHelm is the label selector for objects that Helm created.
	managedByHelm = "app.kubernetes.io/managed-by=Helm"
)

// ReadError says which object could not be read from the cluster.
type ReadError struct {
	Info *resource.Info
	Err  error
}

func newReadError(info *resource.Info, err error) ReadError {
	return ReadError{Info: info, Err: fmt.Errorf("could not get information about the resource %s: %w", object.Describe(info), err)}
}

func (e ReadError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e ReadError) Unwrap() error { return e.Err }

// liveReader is the state of one call of Live. Its methods identify objects by their
// indexes in list; found and errs have the results by index.
type liveReader struct {
	list  kube.ResourceList
	get   getFunc
	found []*unstructured.Unstructured
	errs  []error

	// firstFailed is the index of the first object that could not be read, or the length of
	// the list. Objects after it do not need to be read, because Live fails.
	firstFailed atomic.Int64
}

func newLiveReader(list kube.ResourceList, get getFunc) *liveReader {
	r := &liveReader{list: list, get: get, found: make([]*unstructured.Unstructured, len(list)), errs: make([]error, len(list))}
	r.firstFailed.Store(int64(len(list)))
	return r
}

// result returns what Live returns.
func (r *liveReader) result(ctx context.Context) (map[*resource.Info]*unstructured.Unstructured, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	live := make(map[*resource.Info]*unstructured.Unstructured, len(r.list))
	for i, info := range r.list {
		if err := r.errs[i]; err != nil {
			return nil, newReadError(info, err)
		}
		if r.found[i] != nil {
			live[info] = r.found[i]
		}
	}
	return live, nil
}

// liveLister is a liveReader that can also read many objects with one list request.
type liveLister struct {
	*liveReader
	forEach  func(context.Context, collection, metav1.ListOptions, func(*unstructured.Unstructured)) (more bool, err error)
	metadata metadata.Interface
}

// collection identifies objects that can be read with one list request: those of one API
// resource in one namespace.
type collection struct {
	resource  schema.GroupVersionResource
	kind      schema.GroupVersionKind
	namespace string
}

func collectionOf(info *resource.Info) collection {
	return collection{resource: info.Mapping.Resource, kind: info.Mapping.GroupVersionKind, namespace: object.Namespace(info)}
}

// listAll reads the objects of each collection from which at least minListed objects are
// needed. It returns the indexes of the objects that must still be read one by one.
func (r *liveLister) listAll(ctx context.Context) []int {
	var order []collection
	byCollection := map[collection][]int{}
	for i, info := range r.list {
		at := collectionOf(info)
		if byCollection[at] == nil {
			order = append(order, at)
		}
		byCollection[at] = append(byCollection[at], i)
	}
	remaining := make([][]int, len(order))
	var g errgroup.Group
	g.SetLimit(MaxConcurrency)
	for n, at := range order {
		remaining[n] = byCollection[at]
		if len(byCollection[at]) < minListed {
			continue
		}
		g.Go(func() error {
			remaining[n] = r.listCollection(ctx, at, byCollection[at])
			return nil
		})
	}
	_ = g.Wait() // each object has its own error
	return slices.Concat(remaining...)
}

// listCollection reads the objects with these indexes, which belong to the collection at,
// with a list request. It returns the indexes of those that must still be read one by one:
// objects without Helm's label, or all objects if the request is rejected.
func (r *liveLister) listCollection(ctx context.Context, at collection, indexes []int) []int {
	limit := int64(4*len(indexes) + 100)
	byName := make(map[string][]int, len(indexes))
	for _, i := range indexes {
		byName[r.list[i].Name] = append(byName[r.list[i].Name], i)
	}
	more, err := r.forEach(ctx, at, metav1.ListOptions{LabelSelector: managedByHelm, Limit: limit}, func(object *unstructured.Unstructured) {
		for _, i := range byName[object.GetName()] {
			r.found[i] = object
		}
	})
	if err != nil {
		if isAnswer(err) {
			return indexes
		}
		r.fail(indexes[0], err)
		return nil
	}
	missing := slices.DeleteFunc(slices.Clone(indexes), func(i int) bool { return r.found[i] != nil })
	if more || len(missing) < minListed {
		return missing
	}
	return r.existing(ctx, at, missing, limit)
}

// existing returns the indexes of those missing objects that exist in a collection, but
// without Helm's label. It lists the names in the collection. Usually, for example before
// an installation, the result is empty. If the collection has more objects than limit, it
// returns all of missing.
func (r *liveLister) existing(ctx context.Context, at collection, missing []int, limit int64) []int {
	answer, err := r.metadata.Resource(at.resource).Namespace(at.namespace).List(ctx, metav1.ListOptions{Limit: limit})
	if err != nil || answer.Continue != "" {
		return missing
	}
	names := make(map[string]bool, len(answer.Items))
	for i := range answer.Items {
		names[answer.Items[i].Name] = true
	}
	var existing []int
	for _, i := range missing {
		if names[r.list[i].Name] || r.list[i].Name == "" {
			existing = append(existing, i)
		}
	}
	return existing
}

// isAnswer reports whether an error is a response of the server, rather than a problem of
// the connection.
func isAnswer(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

// readAll reads the objects with these indexes with one request each.
func (r *liveReader) readAll(ctx context.Context, indexes []int) {
	var g errgroup.Group
	g.SetLimit(MaxConcurrency)
	for _, i := range indexes {
		g.Go(func() error {
			if ctx.Err() == nil && int64(i) < r.firstFailed.Load() {
				r.read(ctx, i)
			}
			return nil
		})
	}
	_ = g.Wait() // each object has its own error
}

func (r *liveReader) read(ctx context.Context, i int) {
	live, err := r.get(ctx, r.list[i])
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		r.fail(i, err)
	default:
		r.found[i] = live
	}
}

// fail records that the object with index i could not be read.
func (r *liveReader) fail(i int, err error) {
	r.errs[i] = err
	for {
		first := r.firstFailed.Load()
		if int64(i) >= first || r.firstFailed.CompareAndSwap(first, int64(i)) {
			return
		}
	}
}
