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
	// maxSingleReads is the number of objects up to which they are read with individual
	// requests, instead of one list of all objects. It also limits how many of these
	// requests run in parallel.
	maxSingleReads = 8
	pageSize       = 500
	// maxPartialReads limits the individual requests of readPartially.
	maxPartialReads = 100
	// requestTimeout limits a single request. Some proxies never respond.
	requestTimeout = 30 * time.Second
)

// reader reads objects of one resource in one namespace. listForbidden is set when the
// account is not allowed to list them.
type reader struct {
	client        dynamic.ResourceInterface
	listForbidden atomic.Bool
}

// readResult is the result of reading one object.
type readResult struct {
	object *unstructured.Unstructured // nil if not found
	// version is the resource version of the object, or of the list that was read.
	version string
	// forbidden is the response of the server if a permission to read the object is
	// missing, otherwise nil.
	forbidden error
}

// observation returns the result of a read as an observation for items.
func (r readResult) observation() observation {
	o := observation{version: r.version, gone: r.object == nil, current: true}
	if r.object != nil {
		o.object = withoutManagedFields(r.object)
	}
	return o
}

// supplementaryObservation is observation for a read while a watch is running. If the
// object does not exist, the result has no version, so that delayed events of the watch
// from before the deletion still count, such as the completion of a Job.
func (r readResult) supplementaryObservation() observation {
	o := r.observation()
	if o.gone {
		o.version = ""
	}
	return o
}

// read reads the objects with these names, and returns a result for each name.
func (r *reader) read(ctx context.Context, names []string) (map[string]readResult, error) {
	return r.readUpTo(ctx, names, len(names))
}

// readPartially is read, except that the result omits names after the first maxPartialReads
// if listing fails with a server error.
func (r *reader) readPartially(ctx context.Context, names []string) (map[string]readResult, error) {
	return r.readUpTo(ctx, names, maxPartialReads)
}

// readUpTo reads the objects with individual requests if they are few or must not be
// listed, otherwise with a list. most limits the individual requests after a list has
// failed with a server error.
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

// getAll reads objects with individual requests, up to maxSingleReads in parallel. It stops
// at the first failed request.
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

// list returns all objects of the resource by name, and the resource version of the list.
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

// isNotAllowed reports whether an error means that the account must not use a verb, or that
// the resource does not support it, so that retrying does not help.
func isNotAllowed(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err)
}

// isExpired reports whether an error means that the server no longer has the changes since
// the version from which to watch.
func isExpired(err error) bool {
	return apierrors.IsGone(err) || apierrors.IsResourceExpired(err)
}

// isServerError reports whether an error is a response with a status code of at least 500.
func isServerError(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError
}
