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
)

const (
	defaultPollInterval  = 2 * time.Second
	initialRetryInterval = 50 * time.Millisecond
	maxRetryInterval     = 2 * time.Second
)

// Config sets up a Tracker.
type Config struct {
	// Client reaches the API. It must not throttle itself, or what it holds back
	// is seen late.
	Client dynamic.Interface
	// Evaluate judges targets that bring no Evaluator. The default is
	// Default with the storage classes that Client can read.
	Evaluate readiness.Evaluator
	// PollInterval is the time between two readings of what cannot be watched;
	// by default two seconds.
	PollInterval time.Duration
	// Notify, if set, is told about trouble with observing. Calls come one at a
	// time, none after Close has returned. The Tracker stands still meanwhile:
	// Notify must return soon and must not call the Tracker or its groups.
	Notify func(Notice)
}

// Watcher follows objects for everybody who waits in one operation.
type Watcher struct {
	config Config
	// start runs a function in a goroutine, under the context that Close ends.
	start  func(func(context.Context))
	cancel context.CancelFunc
	done   <-chan struct{}
	wg     sync.WaitGroup

	// mu guards all below, the streams and what they share with groups.
	mu                  sync.Mutex
	closed              bool
	notifiedUnreachable bool // as far as Notify was told
	streams             map[streamKey]*stream
}

// streamKey is what one watch covers.
type streamKey struct {
	resource  schema.GroupVersionResource
	namespace string
}

// New returns a Tracker that works until the context ends or Close is
// called. It sends nothing before somebody waits.
func New(ctx context.Context, config Config) *Watcher {
	if config.PollInterval <= 0 {
		config.PollInterval = defaultPollInterval
	}
	if config.Evaluate == nil {
		config.Evaluate = readiness.NewEvaluator(readiness.NewStorageClasses(config.Client).BindingMode)
	}
	ctx, cancel := context.WithCancel(ctx)
	t := &Watcher{config: config, cancel: cancel, done: ctx.Done(), streams: map[streamKey]*stream{}}
	t.start = func(run func(context.Context)) { t.wg.Go(func() { run(ctx) }) }
	return t
}

// ExpectReady returns a group that waits until its targets are ready. Called before
// they are written, it misses nothing: what a running watch tells about them
// from now on is kept until Applied says which version was written.
func (t *Watcher) ExpectReady(targets ...Target) *Group {
	return t.newGroup(targets, (*item).judgeReadiness)
}

// ExpectCompletion is Expect for Jobs and Pods that run to an end: each is Ready
// when it has completed, and Failed when it has failed or is gone before it had
// completed. What becomes of it later does not matter.
func (t *Watcher) ExpectCompletion(targets ...Target) *Group {
	return t.newGroup(targets, (*item).judgeCompletion)
}

// WaitDeleted waits until the objects are gone from the server: each by its UID, so
// that another object of the same name does not count. It first reads which of
// them are there, and watches only for these. OnChange and the results are
// those of Group.Wait, where Ready means gone.
func (t *Watcher) WaitDeleted(ctx context.Context, targets []Target, onChange func(Report)) ([]Report, error) {
	return t.newGroup(targets, (*item).judgeAbsence).Wait(ctx, onChange)
}

// Evaluate judges an object as one that brings no Evaluator of its own.
func (t *Watcher) Evaluate(ctx context.Context, obj *unstructured.Unstructured) readiness.Status {
	return t.config.Evaluate(ctx, obj)
}

// Close ends all watches and returns when no goroutine of the Tracker is left.
// Whoever still waits gets ErrClosed. It may be called more than once.
func (t *Watcher) Close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.cancel()
	t.wg.Wait()
}

func (t *Watcher) newGroup(targets []Target, judge judgeFunc) *Group {
	g := &Group{watcher: t, index: map[objectKey]*item{}, changed: make(chan struct{}, 1)}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, target := range targets {
		i := newItem(g, target, judge)
		i.index = len(g.items)
		i.stream = t.stream(target)
		i.stream.register(i)
		g.items = append(g.items, i)
		g.index[objectKey{target.GVK.GroupKind(), target.Namespace, target.Name}] = i
	}
	return g
}

// stream returns the one that covers the target. The caller holds mu.
func (t *Watcher) stream(target Target) *stream {
	key := streamKey{target.GVR, target.Namespace}
	s := t.streams[key]
	if s == nil {
		s = &stream{
			watcher: t,
			key:     key,
			reader:  &reader{client: t.config.Client.Resource(key.resource).Namespace(key.namespace)},
			items:   map[string]map[*item]struct{}{},
		}
		t.streams[key] = s
	}
	return s
}

// stopCause says why somebody who waits under the context has to stop.
func (t *Watcher) stopCause(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return ErrClosed
}

// notify passes a notice on; that the API answers again, only when no stream is
// without it any more. The caller holds mu.
func (t *Watcher) notify(n Notice) {
	switch n.Kind {
	case NoticeUnreachable:
		t.notifiedUnreachable = true
	case NoticeReachable:
		if !t.notifiedUnreachable || t.hasUnreachableStream() {
			return
		}
		t.notifiedUnreachable = false
	}
	if t.config.Notify != nil && !t.closed {
		t.config.Notify(n)
	}
}

// hasUnreachableStream reports whether any stream cannot reach the API.
func (t *Watcher) hasUnreachableStream() bool {
	for _, s := range t.streams {
		if s.unreachable || s.failingReads > 0 {
			return true
		}
	}
	return false
}

// retryBackoff grows from the first retry to the slowest.
func retryBackoff() wait.Backoff {
	return wait.Backoff{Duration: initialRetryInterval, Factor: 2, Jitter: 0.2, Steps: 32, Cap: maxRetryInterval}
}

// sleep waits for the duration, or reports false when the context ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
