// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ordered-helm/helm/cmd/helm-controller/api/v1alpha1"
)

// errChanged is the cause with which an operation is canceled because its request has changed.
var errChanged = errors.New("the HelmRequest has changed")

// runningOperations are the operations that run now. An operation is canceled when its request changes, so
// that the change does not have to wait until, for example, a mistake has reached its timeout.
type runningOperations struct {
	mu     sync.Mutex
	cancel map[client.ObjectKey]runningOperation
}

type runningOperation struct {
	generation int64
	deleted    bool
	cancel     context.CancelCauseFunc
}

func newRunningOperations() *runningOperations {
	return &runningOperations{cancel: map[client.ObjectKey]runningOperation{}}
}

// start returns the context of an operation because of a request. The caller must call end when it has
// ended.
func (o *runningOperations) start(ctx context.Context, key client.ObjectKey, r *v1alpha1.HelmRequest) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cancel[key] = runningOperation{r.Generation, !r.DeletionTimestamp.IsZero(), cancel}
	return ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.cancel, key)
		cancel(nil)
	}
}

// changed cancels the operation of a request that has changed since it began. Deleting a request changes its
// generation, too.
func (o *runningOperations) changed(r *v1alpha1.HelmRequest) {
	o.mu.Lock()
	defer o.mu.Unlock()
	running, found := o.cancel[client.ObjectKeyFromObject(r)]
	if found && r.Generation > running.generation && !running.deleted {
		running.cancel(errChanged)
	}
}
