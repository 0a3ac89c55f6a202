// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package objectreader reads several objects of one API resource. It sends one request for
// each object if they are few or the account is not allowed to list them. Otherwise it lists
// all objects of the resource.
package objectreader

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
)

const (
	// MaxSingleReads is the maximum number of objects that are read with individual requests
	// instead of a list. It is also the maximum number of parallel requests.
	MaxSingleReads = 8
	pageSize       = 500
	// MaxPartialReads is the maximum number of individual requests that ReadPartially sends
	// after a list has failed.
	MaxPartialReads = 100
	// requestTimeout limits each request, because some proxies never respond.
	requestTimeout = 30 * time.Second
)

// Reader reads objects of one API resource in one namespace. It is safe for concurrent use.
type Reader struct {
	client dynamic.ResourceInterface
	// listForbidden is set when the account is not allowed to list the objects.
	listForbidden atomic.Bool
}

// New returns a Reader that sends its requests with client.
func New(client dynamic.ResourceInterface) *Reader { return &Reader{client: client} }

// Result is the result of reading one object.
type Result struct {
	// Object is nil if the object was not found.
	Object *unstructured.Unstructured
	// Version is the resource version of the object, or of the list that was read. It is
	// empty if an individual request did not find the object.
	Version string
	// Forbidden is the response of the server if the account is not allowed to read the
	// object, otherwise nil.
	Forbidden error
}

// Read reads the objects with these names, and returns a result for each name.
func (r *Reader) Read(ctx context.Context, names []string) (map[string]Result, error) {
	return r.readUpTo(ctx, names, len(names))
}

// ReadPartially is Read, except that it reads only the first MaxPartialReads objects if the
// request to list them fails with a server error.
func (r *Reader) ReadPartially(ctx context.Context, names []string) (map[string]Result, error) {
	return r.readUpTo(ctx, names, MaxPartialReads)
}

// readUpTo reads the objects with individual requests if they are few or the account is not
// allowed to list them, otherwise with a list. If listing fails with a server error, it sends
// up to maxReads individual requests instead.
func (r *Reader) readUpTo(ctx context.Context, names []string, maxReads int) (map[string]Result, error) {
	if len(names) <= MaxSingleReads || r.listForbidden.Load() {
		return r.getAll(ctx, names)
	}
	objects, version, err := r.List(ctx)
	switch {
	case IsNotAllowed(err):
		r.listForbidden.Store(true)
		return r.getAll(ctx, names)
	case isServerError(err):
		return r.getAll(ctx, names[:min(maxReads, len(names))])
	case err != nil && !apierrors.IsNotFound(err):
		return nil, err
	}
	results := make(map[string]Result, len(names))
	for _, name := range names {
		results[name] = Result{Object: objects[name], Version: version}
	}
	return results, nil
}

// getAll reads the objects with individual requests, up to MaxSingleReads in parallel. After
// a failed request, it starts no others.
func (r *Reader) getAll(ctx context.Context, names []string) (map[string]Result, error) {
	read := make([]Result, len(names))
	var (
		calls     errgroup.Group
		hasFailed atomic.Bool
	)
	calls.SetLimit(MaxSingleReads)
	for n, name := range names {
		calls.Go(func() (err error) {
			if hasFailed.Load() {
				return nil
			}
			if read[n], err = r.get(ctx, name); err != nil {
				hasFailed.Store(true)
			}
			return err
		})
	}
	if err := calls.Wait(); err != nil {
		return nil, err
	}
	results := make(map[string]Result, len(names))
	for n, name := range names {
		results[name] = read[n]
	}
	return results, nil
}

func (r *Reader) get(ctx context.Context, name string) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	object, err := r.client.Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		return Result{Object: object, Version: object.GetResourceVersion()}, nil
	case apierrors.IsNotFound(err):
		return Result{}, nil
	case IsNotAllowed(err):
		return Result{Forbidden: err}, nil
	}
	return Result{}, fmt.Errorf("reading %q: %w", name, err)
}

// List returns all objects of the API resource by name, and the resource version of the list.
func (r *Reader) List(ctx context.Context) (map[string]*unstructured.Unstructured, string, error) {
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

func (r *Reader) page(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return r.client.List(ctx, options)
}

// IsNotAllowed reports whether an error means that the account is not allowed to use an API
// verb, or that the resource does not support the verb. Retrying does not help then.
func IsNotAllowed(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsMethodNotSupported(err)
}

// isServerError reports whether an error is a response with a status code of at least 500.
func isServerError(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError
}
