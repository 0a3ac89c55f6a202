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
	"github.com/ordered-helm/helm/internal/watcher/objectreader"
)

const (
	pollInterval         = 2 * time.Second // between two reads of objects that cannot be watched
	initialRetryInterval = 50 * time.Millisecond
	maxRetryInterval     = 2 * time.Second
)

// Config configures a Watcher.
type Config struct {
	// Client sends the requests. It must not limit their rate, because delayed requests
	// delay what the Watcher observes.
	Client dynamic.Interface
	// Notify, if not nil, receives notices about problems with watching. It is called by
	// one goroutine at a time, and not after Close has returned. It must return quickly,
	// because it blocks the Watcher. It must not call the Watcher or its groups.
	Notify func(Notice)
}

// Watcher observes the objects that one operation waits for. Create a Group for each wait.
type Watcher struct {
	config   Config
	evaluate readiness.Evaluator
	// start runs a function in a goroutine, with a context that Close cancels. wg counts
	// these goroutines.
	start  func(func(context.Context))
	wg     sync.WaitGroup
	cancel context.CancelFunc
	done   <-chan struct{}
	// afterClose calls a function when the Watcher is closed, unless the returned function
	// is called before.
	afterClose func(func()) (stop func() bool)

	// mu guards the fields below, the streams, and the fields of items that streams use.
	mu                  sync.Mutex
	closed              bool
	notifiedUnreachable bool // whether NoticeUnreachable was sent
	streams             map[streamKey]*stream
}

// streamKey identifies the objects that one stream observes.
type streamKey struct {
	resource  schema.GroupVersionResource
	namespace string
}

// New returns a Watcher that runs until ctx is done or Close is called. It sends no request
// before a wait begins.
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

// ExpectReady returns a group that waits until its targets are ready. Call it before the
// targets are written. The group then keeps the events of running watches until Applied is
// called with the written version.
func (w *Watcher) ExpectReady(targets ...Target) *Group {
	return w.newGroup(targets, (*item).judgeReadiness)
}

// ExpectCompletion returns a group that waits until its targets, which are Jobs and Pods,
// have completed. A target is Ready when it has succeeded, and Failed when it has failed
// or was deleted before it completed. Later changes are ignored.
func (w *Watcher) ExpectCompletion(targets ...Target) *Group {
	return w.newGroup(targets, (*item).judgeCompletion)
}

// WaitDeleted waits until objects are deleted. An object is identified by its UID, so
// that another object with the same name does not count. WaitDeleted reads the objects
// first, and watches only those that exist. It calls onChange and returns reports as
// Group.Wait does; the state Ready means deleted.
func (w *Watcher) WaitDeleted(ctx context.Context, targets []Target, onChange func(Report)) ([]Report, error) {
	return w.newGroup(targets, (*item).judgeAbsence).Wait(ctx, onChange)
}

// Evaluate decides whether an object is ready. It is readiness.NewEvaluator with the storage
// classes of the cluster.
func (w *Watcher) Evaluate(ctx context.Context, obj *unstructured.Unstructured) readiness.Status {
	return w.evaluate(ctx, obj)
}

// Close ends all watches, and returns when all goroutines of the Watcher have ended. Waits
// that are still running return ErrClosed as cause. Close can be called more than once.
func (w *Watcher) Close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.cancel()
	w.wg.Wait()
}

// newGroup returns a group whose observations are judged by judge.
func (w *Watcher) newGroup(targets []Target, judge judgeFunc) *Group {
	g := &Group{watcher: w, index: map[objectKey]*item{}, changed: make(chan struct{}, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, target := range targets {
		i := newItem(g, target, judge)
		i.index = len(g.items)
		i.stream = w.stream(target)
		i.stream.register(i)
		g.items = append(g.items, i)
		g.index[objectKey{target.GVK.GroupKind(), target.Namespace, target.Name}] = i
	}
	return g
}

// stream returns the stream that observes a target. All targets with the same resource and
// namespace share one. The caller must have locked mu.
func (w *Watcher) stream(target Target) *stream {
	key := streamKey{target.GVR, target.Namespace}
	s := w.streams[key]
	if s == nil {
		client := w.config.Client.Resource(key.resource).Namespace(key.namespace)
		s = &stream{
			watcher: w, client: client, reader: objectreader.New(client),
			connection: connection{watcher: w, key: key}, items: itemSet{},
		}
		w.streams[key] = s
	}
	return s
}

// stopCause returns why a wait with ctx ends after done was closed: the cause of ctx, or
// ErrClosed.
func (w *Watcher) stopCause(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return ErrClosed
}

// notify passes a notice to Config.Notify. It drops NoticeReachable unless
// NoticeUnreachable was sent before and all streams are reachable again. The caller must
// have locked mu.
func (w *Watcher) notify(n Notice) {
	switch n.Kind {
	case NoticeUnreachable:
		w.notifiedUnreachable = true
	case NoticeReachable:
		if !w.notifiedUnreachable || w.hasUnreachableStream() {
			return
		}
		w.notifiedUnreachable = false
	}
	if w.config.Notify != nil && !w.closed {
		w.config.Notify(n)
	}
}

// hasUnreachableStream reports whether the API server does not respond to any of the
// streams.
func (w *Watcher) hasUnreachableStream() bool {
	for _, s := range w.streams {
		if s.connection.isUnreachable() {
			return true
		}
	}
	return false
}

// retryBackoff returns the intervals between retries: each call of Step returns a longer
// one, up to maxRetryInterval.
func retryBackoff() wait.Backoff {
	return wait.Backoff{Duration: initialRetryInterval, Factor: 2, Jitter: 0.2, Steps: 32, Cap: maxRetryInterval}
}
