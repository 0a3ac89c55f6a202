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
	// maxPerNamespace is the maximum number of operations in one namespace, so that those of one user that wait for
	// a long time do not keep all others from running.
	maxPerNamespace int

	mu          sync.Mutex
	cancel      map[client.ObjectKey]runningOperation
	inNamespace map[string]int
}

type runningOperation struct {
	generation int64
	deleted    bool
	cancel     context.CancelCauseFunc
}

func newRunningOperations(maxPerNamespace int) *runningOperations {
	return &runningOperations{maxPerNamespace: maxPerNamespace, cancel: map[client.ObjectKey]runningOperation{}, inNamespace: map[string]int{}}
}

// start returns the context of an operation because of a request. started is false if too many operations run in
// the namespace. Otherwise, the caller must call end when the operation has ended.
func (o *runningOperations) start(ctx context.Context, r *v1alpha1.HelmRequest) (_ context.Context, end func(), started bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.inNamespace[r.Namespace] >= o.maxPerNamespace {
		return nil, nil, false
	}
	key, namespace := client.ObjectKeyFromObject(r), r.Namespace
	ctx, cancel := context.WithCancelCause(ctx)
	o.cancel[key] = runningOperation{r.Generation, !r.DeletionTimestamp.IsZero(), cancel}
	o.inNamespace[namespace]++
	return ctx, func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		delete(o.cancel, key)
		if o.inNamespace[namespace]--; o.inNamespace[namespace] == 0 {
			delete(o.inNamespace, namespace)
		}
		cancel(nil)
	}, true
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
