// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package reconcile runs the loops of simple controllers, which call a function for every
// object that has changed.
package reconcile

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

const (
	initialRetryDelay = 5 * time.Millisecond
	maxRetryDelay     = time.Second
)

// Sync brings the object with a name to its desired state. It returns the time at which it
// must be called again, or the zero time if it must be called only after another change.
type Sync func(ctx context.Context, name types.NamespacedName) (time.Time, error)

// Loop calls a Sync for objects that have changed, and calls it again after an error. Calls
// for the same object never run in parallel.
type Loop struct {
	sync     Sync
	workers  int
	log      *slog.Logger
	informer informers.SharedInformerFactory
	queue    workqueue.TypedRateLimitingInterface[types.NamespacedName]
}

// New returns a Loop with the given number of workers. Run starts the informers of the
// factory. The Loop does nothing before.
func New(factory informers.SharedInformerFactory, workers int, log *slog.Logger, sync Sync) *Loop {
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[types.NamespacedName](initialRetryDelay, maxRetryDelay)
	return &Loop{
		sync:     sync,
		workers:  workers,
		log:      log,
		informer: factory,
		queue:    workqueue.NewTypedRateLimitingQueue(limiter),
	}
}

// Enqueue makes the Loop call its Sync for the object with a name.
func (l *Loop) Enqueue(name types.NamespacedName) { l.queue.Add(name) }

// Watch makes the Loop call its Sync for objects of the informer whenever they change.
func (l *Loop) Watch(informer cache.SharedIndexInformer) error {
	return OnChange(informer, l.Enqueue)
}

// OnChange calls act with the name of every object of the informer that is added, changed or
// deleted.
func OnChange(informer cache.SharedIndexInformer, act func(types.NamespacedName)) error {
	handle := func(object any) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		if o, err := meta.Accessor(object); err == nil {
			act(types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()})
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    handle,
		UpdateFunc: func(_, object any) { handle(object) },
		DeleteFunc: handle,
	})
	if err != nil {
		return fmt.Errorf("watch the cluster: %w", err)
	}
	return nil
}

// Run runs the loop until ctx ends.
func (l *Loop) Run(ctx context.Context) error {
	l.informer.StartWithContext(ctx)
	defer l.informer.Shutdown()
	for kind, ok := range l.informer.WaitForCacheSync(ctx.Done()) {
		if !ok && ctx.Err() == nil {
			return fmt.Errorf("watch %s: the cache did not sync", kind)
		}
	}
	var working sync.WaitGroup
	for range l.workers {
		working.Go(func() { l.work(ctx) })
	}
	<-ctx.Done()
	l.queue.ShutDown()
	working.Wait()
	return nil
}

func (l *Loop) work(ctx context.Context) {
	for {
		name, shutdown := l.queue.Get()
		if shutdown {
			return
		}
		l.handle(ctx, name)
		l.queue.Done(name)
	}
}

func (l *Loop) handle(ctx context.Context, name types.NamespacedName) {
	wake, err := l.sync(ctx, name)
	if err != nil {
		// The cache was outdated. The watch will deliver the change, which causes another
		// call.
		behind := apierrors.IsConflict(err) || apierrors.IsNotFound(err)
		if !behind && ctx.Err() == nil {
			l.log.WarnContext(ctx, "object not updated", "object", name.String(), "error", err)
		}
		l.queue.AddRateLimited(name)
		return
	}
	l.queue.Forget(name)
	if !wake.IsZero() {
		l.queue.AddAfter(name, max(time.Until(wake), time.Millisecond))
	}
}

// Found returns err, or nil if err means that an object does not exist.
func Found(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
