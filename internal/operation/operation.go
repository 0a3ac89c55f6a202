// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package operation provides what all parts of one run of an action, such as an install or
// an upgrade, share: its context, the clients of the cluster, its events and timeouts, and
// the lock on its release.
package operation

import (
	"context"
	"sync/atomic"
	"time"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/earlierjobs"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/hooks"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/recreation"
	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/wait"
)

// Operation is one run of an action on a release. Start creates it, Announce emits the event
// that it has begun, and Finish the event that it has ended.
type Operation struct {
	Cluster  *cluster.Client
	Writer   objectwriter.Writer
	Waiter   wait.Waiter
	Events   *event.Sink
	Store    *history.Store
	Log      func(string, ...any)
	Timeouts wait.Timeouts

	config  *helmaction.Configuration
	options StartOptions
	// deadline is the time at which the operation times out; zero if there is no limit.
	deadline time.Time
	// hookLogs reads the logs of hooks.
	hookLogs hooks.LogReader
	// jobPods reads the pods of Jobs; nil if the operation delegates.
	jobPods earlierjobs.PodReader
	// copies stores copies of objects that are recreated; nil if the operation delegates.
	copies *recreation.Storage
	// connection is the connection to the cluster; nil if there is none.
	connection *cluster.Connection
	// delegates is the result of Delegates.
	delegates bool
	// announced is the argument of Announce with the deadline; nil before Announce is
	// called.
	announced *event.Operation
	// unbounded is the context of the operation without its timeout. It ends only if the
	// caller cancels the operation or another operation takes over the release.
	unbounded context.Context
	// end cancels unbounded, and with it the whole operation, with a cause.
	end context.CancelCauseFunc
	// lease is the lock on the release; nil while the operation has none.
	lease atomic.Pointer[lease.Lease]
}

// StartOptions contains the options of Start.
type StartOptions struct {
	// Notify receives the events. It can be nil.
	Notify   func(event.Event)
	Timeouts wait.Timeouts
	// Bounded says whether Timeouts.Operation limits the whole operation.
	Bounded bool
	// Guard, if not nil, is called directly before each request that changes something in the
	// cluster. If it returns an error, the request is not sent, and the operation ends with
	// this error as its cause. Guard does not apply to cleanups.
	Guard func() error
	// NoCluster says that the Kubernetes client of the configuration works without a
	// cluster, as a fake does. The operation then calls only this client.
	NoCluster bool
}

// Start returns a new Operation. The context bounded ends when the operation times out, if
// o.Bounded is set. When it ends, running requests to the cluster end, too. The caller must
// call end when the operation is finished.
func Start(ctx context.Context, config *helmaction.Configuration, o StartOptions) (op *Operation, bounded context.Context, end func()) {
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

// warnNoResponse emits an event that says that a request is retried because the API server
// does not respond.
func (op *Operation) warnNoResponse(err error) {
	op.Events.Emit(event.Event{Type: event.Observing, Message: "the API server does not respond to a request; retrying: " + err.Error()})
}

// StartCleanup starts an operation that cleans up after op has failed. The new operation
// uses the lock that op still has on the release, but has a timeout of its own.
func (op *Operation) StartCleanup(ctx context.Context) (cleanup *Operation, bounded context.Context, end func()) {
	options := op.options
	options.Guard = nil
	cleanup, ctx, end = Start(ctx, op.config, options)
	cleanup.Events.RedactWith(op.Events.Redactor())
	held := op.lease.Load()
	cleanup.lease.Store(held)
	held.SetCancel(cleanup.end)
	return cleanup, ctx, end
}

// MayChange returns an error if the operation has lost the lock on its release, or if its Guard
// returns one, so that it must not change anything.
func (op *Operation) MayChange() error {
	if guard := op.options.Guard; guard != nil {
		if err := guard(); err != nil {
			op.end(err)
			return err
		}
	}
	return op.lease.Load().MayChange()
}

// Lock locks the release of w: w stores the lease from its next write on, while the release
// has the given status. name is the name of the operation, as in "upgrade". Lock returns nil
// if the release cannot be locked because it has no chart.
func (op *Operation) Lock(w *history.Writer, name string, status release.Status) (*lease.Lease, error) {
	held, err := lease.Acquire(w, name, status, op.end)
	if err != nil {
		return nil, err
	}
	op.lease.Store(held)
	return held, nil
}

// Unlock discards the lock: w no longer stores the lease. Unlock does not write the release
// of w.
func (op *Operation) Unlock(w *history.Writer) {
	_, _ = w.SetGuard(nil) // cannot fail when it removes a Guard
	op.lease.Store(nil)
}

// Lease returns the lock on the release; nil if the operation has none.
func (op *Operation) Lease() *lease.Lease { return op.lease.Load() }

// Announce emits an event of the type Started. about describes the operation; Announce adds
// the deadline.
func (op *Operation) Announce(about event.Operation) {
	about.Deadline = op.deadline
	op.announced = &about
	began := about
	op.Events.Emit(event.Event{Type: event.Started, Operation: &began})
}

// Deadline returns the time at which the operation times out; zero if there is no limit.
func (op *Operation) Deadline() time.Time { return op.deadline }

// Finish emits an event of the type Finished if Announce was called. It returns err without
// the contents of Secrets. If a timeout ended ctx, the returned error names the timeout.
func (op *Operation) Finish(ctx context.Context, err error) error {
	err = op.Events.RedactError(failure.AddTimeout(ctx, err))
	if op.announced != nil {
		op.Events.Emit(event.Event{Type: event.Finished, Operation: op.announced, Err: err})
	}
	return err
}

// WithoutTimeout calls do with the context of the operation without its timeout.
func (op *Operation) WithoutTimeout(do func(context.Context)) { do(op.unbounded) }

// JobPods returns the reader of the pods of Jobs; nil if Delegates returns true.
func (op *Operation) JobPods() earlierjobs.PodReader { return op.jobPods }

// RecreatedObjects returns the storage of copies of objects that are deleted and created again; nil if Delegates
// returns true.
func (op *Operation) RecreatedObjects() *recreation.Storage { return op.copies }

// Hooks returns a Runner for the hooks of the release.
func (op *Operation) Hooks(o hooks.Options) *hooks.Runner {
	return &hooks.Runner{
		Cluster: op.Cluster, Writer: op.Writer, Waiter: op.Waiter, Events: op.Events, LogReader: op.hookLogs,
		Output: op.config.HookOutputFunc, SkipRecovery: op.delegates, Options: o,
	}
}
