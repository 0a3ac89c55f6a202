// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
	"github.com/ordered-helm/helm/internal/redact"
)

const (
	// busyDelay is the time after which a request is processed again that has to wait for others in its namespace.
	busyDelay = time.Second
	// changedDelay is the time after which a request is processed again that has changed.
	changedDelay = time.Millisecond
)

// prepare reads something that an operation needs. The result is nil if the next step decides what to do.
func (r *run) prepare(ctx context.Context, read func(context.Context) error) (*ctrl.Result, error) {
	if r.operation == nil {
		if result, err := r.open(ctx); result != nil || err != nil {
			return result, err
		}
	}
	err := read(r.operation) //nolint:contextcheck // it is derived from ctx
	if r.isCanceled() {
		return &ctrl.Result{RequeueAfter: changedDelay}, nil
	}
	return nil, r.failed(ctx, err)
}

// open begins the part of a run that takes time. From now on, a change of the request cancels r.operation. The result
// is not nil if the run must end, because the request has already changed or too many others run in its namespace.
func (r *run) open(ctx context.Context) (*ctrl.Result, error) {
	operation, end, started := r.running.start(redact.WithObserver(ctx, func(s *redact.Redactor) { r.secrets.Store(s) }), r.request)
	if !started {
		return &ctrl.Result{RequeueAfter: busyDelay}, nil
	}
	r.operation, r.end = operation, end
	now := new(v1alpha1.HelmRequest)
	if err := r.cached.Get(ctx, client.ObjectKeyFromObject(r.request), now); err != nil {
		return &ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if now.Generation != r.generation {
		return &ctrl.Result{RequeueAfter: changedDelay}, nil
	}
	return nil, nil
}

// close ends what open has begun.
func (r *run) close() {
	if r.end != nil {
		r.end()
	}
}

// isCanceled reports whether the request has changed since open.
func (r *run) isCanceled() bool { return errors.Is(context.Cause(r.operation), errChanged) }
