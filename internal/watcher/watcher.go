// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/watcher/notice"
	"github.com/ordered-helm/helm/internal/watcher/objectreader"
)

const (
	pollInterval         = 2 * time.Second // between two reads of objects that cannot be watched
	initialRetryInterval = 50 * time.Millisecond
	maxRetryInterval     = 2 * time.Second
)

// Config holds the parameters of New.
type Config struct {
	// Client sends the requests. It must not limit their rate, because that would delay
	// observations.
	Client dynamic.Interface
	// Notify, if not nil, is called with notices about problems with watching, by one
	// goroutine at a time, and not after Close has returned. It must return quickly, because
	// the Watcher is locked meanwhile, and must not call the Watcher or its groups.
	Notify func(notice.Notice)
}

// Watcher observes the objects for which one operation waits. Each wait is a TargetGroup.
type Watcher struct {
	config   Config
	evaluate readiness.Evaluator
	// start runs a function in a new goroutine, with a context that Close cancels. wg counts
	// these goroutines.
	start  func(func(context.Context))
	wg     sync.WaitGroup
	cancel context.CancelFunc
	done   <-chan struct{}
	// afterClose calls a function when the Watcher is closed, unless stop is called earlier.
	afterClose func(func()) (stop func() bool)

	// mu guards the fields below, the streams, and some fields of watchedObject and
	// TargetGroup.
	mu                  sync.Mutex
	closed              bool
	notifiedUnreachable bool // whether notice.Unreachable was sent, and notice.Reachable not yet
	streams             map[streamKey]*stream
}

// streamKey identifies the stream for the objects of one API resource in one namespace.
type streamKey struct {
	resource  schema.GroupVersionResource
	namespace string
}

// New returns a Watcher that runs until ctx is done or Close is called. It sends no requests
// before TargetGroup.Wait or WaitDeleted is called.
func New(ctx context.Context, config Config) *Watcher {
	ctx, cancel := context.WithCancel(ctx)
	w := &Watcher{
		config: config, evaluate: readiness.NewEvaluator(readiness.NewStorageClasses(config.Client).BindingMode),
		cancel: cancel, done: ctx.Done(), streams: map[streamKey]*stream{},
	}
	w.afterClose = func(run func()) func() bool { return context.AfterFunc(ctx, run) }
	w.start = func(run func(context.Context)) { w.wg.Go(func() { run(ctx) }) }
	return w
}

// ExpectReady returns a group that waits until its targets are ready. It must be called
// before the targets are written, so that events that arrive before TargetGroup.Applied is
// called are kept.
func (w *Watcher) ExpectReady(targets ...Target) *TargetGroup {
	return w.newGroup(targets, (*watchedObject).readinessStatus)
}

// ObserveReady is like ExpectReady, for objects that the operation does not write, so that Applied
// is not called. They need not exist. Any number of such groups for objects of the same API
// resource and namespace open one watch in total.
func (w *Watcher) ObserveReady(targets ...Target) *TargetGroup {
	g := w.newGroup(targets, (*watchedObject).readinessStatus)
	g.unwritten = true
	return g
}

// ExpectCompletion returns a group that waits until its targets, which are Jobs and Pods,
// have completed. The state of a target is Ready after it has succeeded, and Failed after it
// has failed or was deleted before it completed. Later changes are ignored.
func (w *Watcher) ExpectCompletion(targets ...Target) *TargetGroup {
	return w.newGroup(targets, (*watchedObject).completionStatus)
}

// WaitDeleted waits until objects no longer exist. Objects are identified by their UIDs:
// another object with the same name is ignored. WaitDeleted first reads the objects, and
// watches only those that still exist. It calls onChange and returns reports as
// TargetGroup.Wait does, but the state Ready means that the object no longer exists.
func (w *Watcher) WaitDeleted(ctx context.Context, targets []Target, onChange func(Report)) ([]Report, error) {
	return w.newGroup(targets, (*watchedObject).deletionStatus).Wait(ctx, onChange)
}

// Evaluate decides whether an object is ready. It is the readiness.Evaluator that the Watcher
// uses for targets without their own. It can read storage classes of the cluster.
func (w *Watcher) Evaluate(ctx context.Context, obj *unstructured.Unstructured) readiness.Status {
	return w.evaluate(ctx, obj)
}

// Close ends all watches, and returns when all goroutines of the Watcher have ended. Waits
// that are still running fail with the cause ErrClosed. Close can be called more than once.
func (w *Watcher) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.cancel()
	w.wg.Wait()
}

// newGroup returns a group that computes the status of its targets with computeStatus.
func (w *Watcher) newGroup(targets []Target, computeStatus statusFunc) *TargetGroup {
	g := &TargetGroup{watcher: w, index: map[objectKey]*watchedObject{}, changed: make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, target := range targets {
		i := newWatchedObject(g, target, computeStatus)
		i.index = len(g.objects)
		i.stream = w.stream(target)
		i.stream.register(i)
		g.objects = append(g.objects, i)
		g.index[objectKey{target.GVK.GroupKind(), target.Namespace, target.Name}] = i
	}
	return g
}

// stream returns the stream that observes a target. All targets with the same API resource
// and namespace share one. The caller must have locked mu.
func (w *Watcher) stream(target Target) *stream {
	key := streamKey{target.GVR, target.Namespace}
	s := w.streams[key]
	if s == nil {
		client := w.config.Client.Resource(key.resource).Namespace(key.namespace)
		s = &stream{
			watcher: w, client: client, reader: objectreader.New(client),
			reachability: reachability{watcher: w, key: key}, objects: objectsByName{},
		}
		w.streams[key] = s
	}
	return s
}

// stopCause returns why a wait ends after the Watcher was closed: the cause of ctx if it is
// done, too, otherwise ErrClosed.
func (w *Watcher) stopCause(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return ErrClosed
}

// notify calls Config.Notify. It drops notice.Reachable unless notice.Unreachable was sent
// before and the API server responds to all streams again. The caller must have locked mu.
func (w *Watcher) notify(n notice.Notice) {
	switch n.Kind {
	case notice.Unreachable:
		w.notifiedUnreachable = true
	case notice.Reachable:
		if !w.notifiedUnreachable || w.hasUnreachableStream() {
			return
		}
		w.notifiedUnreachable = false
	}
	if w.config.Notify != nil && !w.closed {
		w.config.Notify(n)
	}
}

// hasUnreachableStream reports whether there is a stream to whose requests the API server
// does not respond.
func (w *Watcher) hasUnreachableStream() bool {
	for _, s := range w.streams {
		if s.reachability.isUnreachable() {
			return true
		}
	}
	return false
}

// retryBackoff returns the intervals between retries. They grow from initialRetryInterval to
// maxRetryInterval.
func retryBackoff() wait.Backoff {
	return wait.Backoff{Duration: initialRetryInterval, Factor: 2, Jitter: 0.2, Steps: 32, Cap: maxRetryInterval}
}
