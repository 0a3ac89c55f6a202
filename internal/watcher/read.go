// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

const (
	// maxSingleReads limits the objects that are read with individual requests, and how
	// many of these requests run in parallel. If there are more objects, they are read with
	// one list.
	maxSingleReads = 8
	pageSize       = 500
	// maxPartialReads limits the individual requests when not all objects must be read.
	maxPartialReads = 100
	// requestTimeout limits a single request. Some proxies never respond.
	requestTimeout = 30 * time.Second
)

// reader reads objects of one resource in one namespace.
type reader struct {
	client        dynamic.ResourceInterface
	listForbidden atomic.Bool
}

// readResult is the result of reading one object.
type readResult struct {
	object *unstructured.Unstructured // nil if not found
	// version is the version of the object, or of the list that contains it.
	version string
	// forbidden is an error if a permission to read the object is missing.
	forbidden error
}

func (r readResult) observation() observation {
	o := observation{version: r.version, gone: r.object == nil, current: true}
	if r.object != nil {
		o.object = withoutManagedFields(r.object)
	}
	return o
}

// supplementaryObservation returns the observation of a read while a watch is running. If
// the object is absent, later events of the watch from before the read still count, such as
// the completion of a Job before it was deleted.
func (r readResult) supplementaryObservation() observation {
	o := r.observation()
	if o.gone {
		o.version = ""
	}
	return o
}

// read returns a result for each name that is newer than the call.
func (r *reader) read(ctx context.Context, names []string) (map[string]readResult, error) {
	return r.readUpTo(ctx, names, len(names))
}

// readPartially is read, but can omit some names if there are very many and they cannot be
// listed.
func (r *reader) readPartially(ctx context.Context, names []string) (map[string]readResult, error) {
	return r.readUpTo(ctx, names, maxPartialReads)
}

func (r *reader) readUpTo(ctx context.Context, names []string, most int) (map[string]readResult, error) {
	if len(names) <= maxSingleReads || r.listForbidden.Load() {
		return r.getAll(ctx, names)
	}
	objects, version, err := r.list(ctx)
	switch {
	case isNotAllowed(err):
		r.listForbidden.Store(true)
		return r.getAll(ctx, names)
	case isServerError(err):
		return r.getAll(ctx, names[:min(most, len(names))])
	case err != nil && !apierrors.IsNotFound(err):
		return nil, err
	}
	readings := make(map[string]readResult, len(names))
	for _, name := range names {
		readings[name] = readResult{object: objects[name], version: version}
	}
	return readings, nil
}

// getAll reads objects with individual requests, a few in parallel, until one fails.
func (r *reader) getAll(ctx context.Context, names []string) (map[string]readResult, error) {
	var (
		wg       sync.WaitGroup
		mu       sync.Mutex
		readings = make(map[string]readResult, len(names))
		firstErr error
		slots    = make(chan struct{}, maxSingleReads)
	)
	hasFailed := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return firstErr != nil
	}
	for _, name := range names {
		slots <- struct{}{}
		if hasFailed() {
			break
		}
		wg.Go(func() {
			defer func() { <-slots }()
			one, err := r.get(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			readings[name] = one
			if firstErr == nil {
				firstErr = err
			}
		})
	}
	wg.Wait()
	if firstErr != nil {
		return nil, firstErr
	}
	return readings, nil
}

func (r *reader) get(ctx context.Context, name string) (readResult, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	object, err := r.client.Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		return readResult{object: object, version: object.GetResourceVersion()}, nil
	case apierrors.IsNotFound(err):
		return readResult{}, nil
	case isNotAllowed(err):
		return readResult{forbidden: err}, nil
	}
	return readResult{}, fmt.Errorf("reading %q: %w", name, err)
}

// list returns all objects by name, and the version of the list.
func (r *reader) list(ctx context.Context) (map[string]*unstructured.Unstructured, string, error) {
	objects := map[string]*unstructured.Unstructured{}
	options := metav1.ListOptions{Limit: pageSize}
	for {
		page, err := r.page(ctx, options)
		if err != nil {
			return nil, "", fmt.Errorf("listing: %w", err)
		}
		for n := range page.Items {
			objects[page.Items[n].GetName()] = &page.Items[n]
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return objects, page.GetResourceVersion(), nil
		}
	}
}

func (r *reader) page(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return r.client.List(ctx, options)
}

// isNotAllowed reports whether a verb is not allowed, or not supported by the resource.
// Retrying does not help.
func isNotAllowed(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err)
}

// isExpired reports whether the server no longer has the history to watch from.
func isExpired(err error) bool {
	return apierrors.IsGone(err) || apierrors.IsResourceExpired(err)
}

// isServerError reports whether the server failed to serve a request.
func isServerError(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError
}
