// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package podwatch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/internal/timing"
)

// listInterval is the minimum interval between two lists of a feed. It is also the interval at
// which objects are listed that may not be watched.
const listInterval = 2 * time.Second

// feed keeps copies of the objects of one resource in one namespace that match a selector, as
// T, such as corev1.Pod. The methods of a nil feed find no objects.
type feed[T any] struct {
	client  dynamic.ResourceInterface
	options metav1.ListOptions
	// tried is closed when the objects have been listed, or when the server has denied it.
	tried chan struct{}
	once  sync.Once

	mu      sync.Mutex
	known   bool // whether the objects have been listed
	objects map[types.UID]*T
	changes int // counts the changes of objects
}

// startFeed starts a feed that runs until w is closed, or the account is not allowed to list
// the objects.
func startFeed[T any](w *Watcher, resource schema.GroupVersionResource, namespace string, options metav1.ListOptions) *feed[T] {
	f := &feed[T]{
		client: w.client.Resource(resource).Namespace(namespace), options: options,
		tried: make(chan struct{}), objects: map[types.UID]*T{},
	}
	w.start(f.run)
	return f
}

// await returns when the objects have been listed or the server has denied it, or when ctx
// ends.
func (f *feed[T]) await(ctx context.Context) {
	if f == nil {
		return
	}
	select {
	case <-f.tried:
	case <-ctx.Done():
	}
}

// list returns the objects. It returns false if they could not be listed so far.
func (f *feed[T]) list() ([]*T, bool) {
	if f == nil {
		return nil, false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Values(f.objects)), f.known
}

// countChanges returns how often the objects have changed.
func (f *feed[T]) countChanges() int {
	if f == nil {
		return 0
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.changes
}

// run lists the objects and watches them, again and again.
func (f *feed[T]) run(ctx context.Context) {
	for {
		version, err := f.relist(ctx)
		switch {
		case err == nil:
			f.once.Do(func() { close(f.tried) })
			f.watch(ctx, version)
		case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err):
			f.once.Do(func() { close(f.tried) })
			return
		}
		if !timing.Sleep(ctx, listInterval) {
			return
		}
	}
}

// relist lists the objects, and returns the version from which to watch.
func (f *feed[T]) relist(ctx context.Context) (version string, err error) {
	list, err := f.client.List(ctx, f.options)
	if err != nil {
		return "", err
	}
	objects := make(map[types.UID]*T, len(list.Items))
	for n := range list.Items {
		list.Items[n].SetManagedFields(nil) // they are large, and not needed
		if object, err := convert[T](&list.Items[n]); err == nil {
			objects[list.Items[n].GetUID()] = object
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.objects, f.known = objects, true
	f.changes++
	return list.GetResourceVersion(), nil
}

// watch updates the objects until the watch ends. It returns immediately if the account is not
// allowed to watch.
func (f *feed[T]) watch(ctx context.Context, version string) {
	options := f.options
	options.ResourceVersion, options.AllowWatchBookmarks = version, true
	w, err := f.client.Watch(ctx, options)
	if err != nil {
		return
	}
	defer func() {
		w.Stop()
		for range w.ResultChan() { // it is closed when the goroutine of the watch has ended
		}
	}()
	for event := range w.ResultChan() { // it is closed when ctx ends
		obj, ok := event.Object.(*unstructured.Unstructured)
		if !ok || event.Type == watch.Error {
			return
		}
		if event.Type != watch.Bookmark {
			f.update(obj, event.Type == watch.Deleted)
		}
	}
}

// update stores a version of an object, or removes the object.
func (f *feed[T]) update(obj *unstructured.Unstructured, deleted bool) {
	obj.SetManagedFields(nil)
	object, err := convert[T](obj)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.changes++
	if deleted || err != nil {
		delete(f.objects, obj.GetUID())
		return
	}
	f.objects[obj.GetUID()] = object
}

// convert converts an object to its Go type.
func convert[T any](obj *unstructured.Unstructured) (*T, error) {
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(obj.Object, typed); err != nil {
		return nil, fmt.Errorf("decode %s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	return typed, nil
}
