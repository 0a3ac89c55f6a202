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
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/ordered-helm/helm/internal/object"
)

const (
	// worthListing is from how many objects of a kind on one list is cheaper
	// than single reads.
	worthListing = 8
	// ofHelm selects what Helm has marked as its own.
	ofHelm = "app.kubernetes.io/managed-by=Helm"
)

// Live reads the present state of objects. Those that do not exist are not in
// the answer. Many objects of a kind are read with a list, where the account
// may list them. The error is the ObjectError of the first object, in the order
// of the list, that could not be read, or the context's.
func (c *Client) Live(ctx context.Context, list kube.ResourceList) (map[*resource.Info]*unstructured.Unstructured, error) {
	r := &reading{list: list, found: make([]*unstructured.Unstructured, len(list)), errs: make([]error, len(list))}
	r.failed.Store(int64(len(list)))
	if err := r.open(c); err != nil {
		return nil, err
	}
	r.readAll(ctx, r.listGroups(ctx))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	live := make(map[*resource.Info]*unstructured.Unstructured, len(list))
	for i, info := range list {
		if err := r.errs[i]; err != nil {
			return nil, unreadable(info, err)
		}
		if r.found[i] != nil {
			live[info] = r.found[i]
		}
	}
	return live, nil
}

func unreadable(info *resource.Info, err error) ObjectError {
	return ObjectError{Info: info, Err: fmt.Errorf("could not get information about the resource %s: %w", object.Describe(info), err)}
}

// reading is one run of Live.
type reading struct {
	list  kube.ResourceList
	found []*unstructured.Unstructured // by the object's place in list
	errs  []error                      // likewise

	// failed is the place of the first object known not to be readable: those
	// behind it need no request any more.
	failed atomic.Int64
	// All are nil where there is no cluster but what Helm's client plays.
	each     func(context.Context, collection, metav1.ListOptions, func(*unstructured.Unstructured)) (more bool, err error)
	client   dynamic.Interface
	metadata metadata.Interface
}

func (r *reading) open(c *Client) (err error) {
	if c.getter == nil {
		return nil
	}
	if r.client, err = c.Dynamic(); err != nil {
		return err
	}
	r.each = c.each
	r.metadata, err = c.Metadata()
	return err
}

// collection is where objects are listed.
type collection struct {
	resource  schema.GroupVersionResource
	kind      schema.GroupVersionKind
	namespace string
}

func collectionOf(info *resource.Info) collection {
	return collection{resource: info.Mapping.Resource, kind: info.Mapping.GroupVersionKind, namespace: object.Namespace(info)}
}

// listGroups lists what is worth it, and returns the places of the objects that
// are left to be read one by one.
func (r *reading) listGroups(ctx context.Context) []int {
	var order []collection
	groups := map[collection][]int{}
	for i, info := range r.list {
		at := collectionOf(info)
		if groups[at] == nil {
			order = append(order, at)
		}
		groups[at] = append(groups[at], i)
	}
	left := make([][]int, len(order))
	var g errgroup.Group
	g.SetLimit(mostAtOnce)
	for n, at := range order {
		left[n] = groups[at]
		if len(groups[at]) < worthListing || r.client == nil {
			continue
		}
		g.Go(func() error {
			left[n] = r.listGroup(ctx, at, groups[at])
			return nil
		})
	}
	_ = g.Wait() // errors are kept by object
	var places []int
	for _, group := range left {
		places = append(places, group...)
	}
	return places
}

// listGroup reads what it can of a collection with one list, and returns what
// must be read one by one: objects without Helm's mark, or all where a list is
// refused.
func (r *reading) listGroup(ctx context.Context, at collection, places []int) []int {
	limit := int64(4*len(places) + 100)
	left := make(map[string][]int, len(places))
	for _, i := range places {
		left[r.list[i].Name] = append(left[r.list[i].Name], i)
	}
	more, err := r.each(ctx, at, metav1.ListOptions{LabelSelector: ofHelm, Limit: limit}, func(object *unstructured.Unstructured) {
		for _, i := range left[object.GetName()] {
			r.found[i] = object
		}
	})
	if err != nil {
		if refused(err) {
			return places
		}
		r.fail(places[0], err)
		return nil
	}
	missing := slices.DeleteFunc(slices.Clone(places), func(i int) bool { return r.found[i] != nil })
	if more || len(missing) < worthListing {
		return missing
	}
	return r.unmarked(ctx, at, missing, limit)
}

// unmarked tells by the names in a collection which of the objects are there
// without Helm's mark: mostly none, as before an install.
func (r *reading) unmarked(ctx context.Context, at collection, missing []int, limit int64) []int {
	answer, err := r.metadata.Resource(at.resource).Namespace(at.namespace).List(ctx, metav1.ListOptions{Limit: limit})
	if err != nil || answer.Continue != "" {
		return missing
	}
	names := make(map[string]bool, len(answer.Items))
	for i := range answer.Items {
		names[answer.Items[i].Name] = true
	}
	var there []int
	for _, i := range missing {
		if names[r.list[i].Name] || r.list[i].Name == "" {
			there = append(there, i)
		}
	}
	return there
}

// refused reports whether the server answered a request, and not with what was
// asked for.
func refused(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

// readAll reads objects one by one.
func (r *reading) readAll(ctx context.Context, places []int) {
	var g errgroup.Group
	g.SetLimit(mostAtOnce)
	for _, i := range places {
		g.Go(func() error {
			if ctx.Err() == nil && int64(i) < r.failed.Load() {
				r.read(ctx, i)
			}
			return nil
		})
	}
	_ = g.Wait() // errors are kept by object
}

func (r *reading) read(ctx context.Context, i int) {
	live, err := get(ctx, r.client, r.list[i])
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		r.fail(i, err)
	default:
		r.found[i] = live
	}
}

func (r *reading) fail(i int, err error) {
	r.errs[i] = err
	for {
		first := r.failed.Load()
		if int64(i) >= first || r.failed.CompareAndSwap(first, int64(i)) {
			return
		}
	}
}

// get reads one object, without a client by way of the object's own.
func get(ctx context.Context, client dynamic.Interface, info *resource.Info) (*unstructured.Unstructured, error) {
	if client != nil {
		return objectsOf(client, info).Get(ctx, info.Name, metav1.GetOptions{})
	}
	live, err := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name)
	if err != nil {
		return nil, err
	}
	return asUnstructured(live)
}

func objectsOf(client dynamic.Interface, info *resource.Info) dynamic.ResourceInterface {
	at := collectionOf(info)
	return client.Resource(at.resource).Namespace(at.namespace)
}
