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

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/object"
)

const (
	// minObjectsToList is the smallest number of objects of one kind and namespace for which
	// one list request is cheaper than a get request for each object.
	minObjectsToList = 8
	// managedByHelm selects the objects that have Helm's label.
	managedByHelm = annotation.ManagedByLabel + "=" + annotation.ManagedByHelm
)

// ReadError reports that the object Info could not be read from the cluster.
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

// liveReader holds the state of one call of Live. Its methods identify objects by their
// indexes in list. found and errs hold the results, by the same indexes.
type liveReader struct {
	list  kube.ResourceList
	get   getFunc
	found []*unstructured.Unstructured
	errs  []error

	// firstFailed is the index of the first object in list that could not be read. It is
	// the length of list if there is none. The objects after it do not need to be read,
	// because Live returns only the error of the first one.
	firstFailed atomic.Int64
}

func newLiveReader(list kube.ResourceList, get getFunc) *liveReader {
	r := &liveReader{list: list, get: get, found: make([]*unstructured.Unstructured, len(list)), errs: make([]error, len(list))}
	r.firstFailed.Store(int64(len(list)))
	return r
}

// result returns the result of Live.
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

// collection identifies all objects of one API resource in one namespace, which can be read
// with one list request.
type collection struct {
	resource  schema.GroupVersionResource
	kind      schema.GroupVersionKind
	namespace string
}

func collectionOf(info *resource.Info) collection {
	return collection{resource: info.Mapping.Resource, kind: info.Mapping.GroupVersionKind, namespace: object.Namespace(info)}
}

// listAll sends a list request for each collection that contains at least minObjectsToList
// of the objects to read. It returns the indexes of the objects that must still be read one
// by one.
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
		if len(byCollection[at]) < minObjectsToList {
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

// listCollection reads the objects with the given indexes, which all belong to the
// collection at, with a list request. It returns the indexes of the objects that must
// still be read one by one: those without Helm's label, or all if the server rejects the
// request.
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
		if isStatusError(err) {
			return indexes
		}
		r.fail(indexes[0], err)
		return nil
	}
	missing := slices.DeleteFunc(slices.Clone(indexes), func(i int) bool { return r.found[i] != nil })
	if more || len(missing) < minObjectsToList {
		return missing
	}
	return r.findUnlabeled(ctx, at, missing, limit)
}

// findUnlabeled lists the names of all objects in the collection at, and returns the
// indexes of those missing objects that exist, but without Helm's label. Usually the
// result is empty, for example before an installation. If the request fails, or if the
// collection contains more objects than limit, findUnlabeled returns the indexes of all
// missing objects.
func (r *liveLister) findUnlabeled(ctx context.Context, at collection, missing []int, limit int64) []int {
	response, err := r.metadata.Resource(at.resource).Namespace(at.namespace).List(ctx, metav1.ListOptions{Limit: limit})
	if err != nil || response.Continue != "" {
		return missing
	}
	names := make(map[string]bool, len(response.Items))
	for i := range response.Items {
		names[response.Items[i].Name] = true
	}
	var existing []int
	for _, i := range missing {
		if names[r.list[i].Name] || r.list[i].Name == "" {
			existing = append(existing, i)
		}
	}
	return existing
}

// isStatusError reports whether an error is the response of the server, rather than a
// problem of the connection.
func isStatusError(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

// readAll reads the objects with the given indexes, with one request for each.
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
