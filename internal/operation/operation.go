// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package operation has the state that all parts of one run of an action, such as an
// install or upgrade, share: its context, cluster, events, timeouts, and the lock on its
// release.
package operation

import (
	"context"
	"sync/atomic"
	"time"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/hooks"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/wait"
)

// Operation has what all parts of one run of an action share. Start creates it, Begin
// announces it in an event, and Finish reports its end.
type Operation struct {
	Cluster  *cluster.Client
	Writer   objectwriter.Writer
	Waiter   wait.Waiter
	Events   *event.Sink
	Store    *history.Store
	Log      func(string, ...any)
	Timeouts wait.Timeouts

	config  *helmaction.Configuration
	options Options
	// deadline is the time at which the operation times out; zero if there is no limit.
	deadline time.Time
	// hookLogs reads the logs of hooks.
	hookLogs hooks.LogReader
	// delegates is the result of Delegates.
	delegates bool
	// announced is the operation as Begin announced it; nil before Begin.
	announced *event.Operation
	// unbounded is the context of the operation without its timeout. It ends only if the
	// caller cancels the operation or another operation takes over the release.
	unbounded context.Context
	// end cancels unbounded, and thereby the whole operation, with a cause.
	end context.CancelCauseFunc
	// lease is the lock on the release; nil while the operation has none.
	lease atomic.Pointer[lease.Lease]
}

// Options say how an operation runs.
type Options struct {
	// Notify receives the events; it can be nil.
	Notify   func(event.Event)
	Timeouts wait.Timeouts
	// Bounded says whether the timeout limits the whole operation.
	Bounded bool
	// NoCluster says that the Kubernetes client of the configuration has no cluster. All
	// requests are delegated to it.
	NoCluster bool
}

// Start begins an operation. The returned context ends when the operation times out, if
// o.Bounded is set. Requests to the cluster end with that context. The caller must call end
// when the operation is finished.
func Start(ctx context.Context, config *helmaction.Configuration, o Options) (op *Operation, bounded context.Context, end func()) {
	outer, cancel := context.WithCancelCause(ctx)
	ctx, release := outer, context.CancelFunc(func() {})
	if o.Bounded && o.Timeouts.Operation > 0 {
		ctx, release = context.WithTimeoutCause(ctx, o.Timeouts.Operation, &failure.TimeoutError{Limit: o.Timeouts.Operation})
	}
	op = &Operation{
		Events: event.NewSink(o.Notify, redact.Observer(ctx)), Store: history.NewStore(config.Releases, config.Log), Log: config.Log, Timeouts: o.Timeouts,
		config: config, options: o, unbounded: outer, end: cancel,
	}
	op.deadline, _ = ctx.Deadline()
	op.connect(ctx)
	return op, ctx, func() { release(); cancel(nil) }
}

// warnUnanswered emits an event that says that the API server does not answer requests.
func (op *Operation) warnUnanswered(err error) {
	op.Events.Emit(event.Event{Type: event.Observing, Message: "the API server does not answer a request; retrying: " + err.Error()})
}

// StartUndo begins an operation that undoes op, while op still has the lock on the release.
// Both share the lock. The new operation has its own timeout.
func (op *Operation) StartUndo(ctx context.Context) (undo *Operation, bounded context.Context, end func()) {
	undo, ctx, end = Start(ctx, op.config, op.options)
	undo.Events.RedactWith(op.Events.Redactor())
	held := op.lease.Load()
	undo.lease.Store(held)
	held.SetCancel(undo.end)
	return undo, ctx, end
}

// MayChange returns an error if the operation has lost the lock on its release.
func (op *Operation) MayChange() error { return op.lease.Load().MayChange() }

// Lock locks the release of w: from its next write on, w stores the lock with the release,
// for as long as the release has the given status. what is the operation that the lock
// names, as in "upgrade". Lock returns nil if the release cannot be locked because it has
// no chart.
func (op *Operation) Lock(w *history.Writer, what string, status release.Status) (*lease.Lease, error) {
	held, err := lease.Acquire(w, what, status, op.end)
	if err != nil {
		return nil, err
	}
	op.lease.Store(held)
	return held, nil
}

// Unlock removes the lock from w without writing the release. It is for a lock that could
// not be stored.
func (op *Operation) Unlock(w *history.Writer) {
	_, _ = w.SetGuard(nil) // cannot fail for nil
	op.lease.Store(nil)
}

// Lease returns the lock on the release; nil if the operation has none.
func (op *Operation) Lease() *lease.Lease { return op.lease.Load() }

// Begin emits the event Started for the operation that about describes. It adds the
// deadline.
func (op *Operation) Begin(about event.Operation) {
	about.Deadline = op.deadline
	op.announced = &about
	began := about
	op.Events.Emit(event.Event{Type: event.Started, Operation: &began})
}

// Deadline returns the time at which the operation times out; zero if there is no limit.
func (op *Operation) Deadline() time.Time { return op.deadline }

// Finish emits the event Finished if Begin was called. It returns err, with the timeout if
// that ended ctx, and without the contents of Secrets.
func (op *Operation) Finish(ctx context.Context, err error) error {
	err = op.Events.RedactError(failure.NameTimeout(ctx, err))
	if op.announced != nil {
		op.Events.Emit(event.Event{Type: event.Finished, Operation: op.announced, Err: err})
	}
	return err
}

// WithoutTimeout calls do with the context of the operation without its timeout.
func (op *Operation) WithoutTimeout(do func(context.Context)) { do(op.unbounded) }

// Hooks returns a runner for the hooks of the release.
func (op *Operation) Hooks(o hooks.Options) *hooks.Runner {
	return &hooks.Runner{
		Cluster: op.Cluster, Writer: op.Writer, Waiter: op.Waiter, Events: op.Events, LogReader: op.hookLogs,
		Output: op.config.HookOutputFunc, SkipRecovery: op.delegates, Options: o,
	}
}
