// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package operation is what one run of any action has: its context, its cluster, its
// events, its limits and the lock on its release.
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

// Operation is one run of an action.
type Operation struct {
	Cluster  *cluster.Client
	Writer   objectwriter.Writer
	Events   *event.Sink
	Store    *history.Store
	Log      func(string, ...any)
	Timeouts wait.Timeouts

	config  *helmaction.Configuration
	options Options
	// announced is what Begin announced; nil before.
	announced *event.Operation
	// unbounded is the context of the operation without its timeout.
	unbounded context.Context
	// end ends the operation for a reason.
	end context.CancelCauseFunc
	// lease is the lock on the release that the operation works on; nil while there is
	// none.
	lease atomic.Pointer[lease.Lease]
}

// Options say how an operation runs.
type Options struct {
	// Notify receives the events; it may be nil.
	Notify   func(event.Event)
	Timeouts wait.Timeouts
	// Bounded is whether the timeout bounds the whole operation.
	Bounded bool
	// NoCluster leaves everything to the Kubernetes client of the configuration, which has
	// no cluster.
	NoCluster bool
}

// Start begins an operation. If it is bounded, the context that it returns ends when the
// timeout of the operation is over. Requests to the cluster end with that context. The
// caller calls end when the operation is done.
func Start(ctx context.Context, config *helmaction.Configuration, o Options) (op *Operation, bounded context.Context, end func()) {
	outer, cancel := context.WithCancelCause(ctx)
	ctx, release := outer, context.CancelFunc(func() {})
	if o.Bounded && o.Timeouts.Operation > 0 {
		ctx, release = context.WithTimeoutCause(ctx, o.Timeouts.Operation, &failure.TimeoutError{Limit: o.Timeouts.Operation})
	}
	op = &Operation{
		Events: event.NewSink(o.Notify), Store: history.NewStore(config.Releases, config.Log), Log: config.Log, Timeouts: o.Timeouts,
		config: config, options: o, unbounded: outer, end: cancel,
	}
	op.Events.Observe(redact.Observer(ctx))
	op.Cluster = op.openCluster(ctx)
	op.Writer = objectwriter.New(op.Cluster)
	return op, ctx, func() { release(); cancel(nil) }
}

// openCluster returns the cluster of the operation, whose requests end with ctx.
func (op *Operation) openCluster(ctx context.Context) *cluster.Client {
	log := op.Events.RedactLog(op.Log)
	if op.options.NoCluster || op.config.RESTClientGetter == nil {
		return cluster.New(op.config.KubeClient, nil, log)
	}
	client, shared := cluster.WithContext(ctx, op.config.KubeClient, op.config.RESTClientGetter, op.MayChange, op.warnUnanswered)
	return cluster.New(client, shared, log)
}

// warnUnanswered says that the API server does not serve requests.
func (op *Operation) warnUnanswered(err error) {
	op.Events.Emit(event.Event{Type: event.Observing, Message: "the API server does not answer a request; retrying: " + err.Error()})
}

// StartUndo begins an operation that undoes this one, while this one still holds the
// release. It has a timeout of its own.
func (op *Operation) StartUndo(ctx context.Context) (undo *Operation, bounded context.Context, end func()) {
	undo, ctx, end = Start(ctx, op.config, op.options)
	undo.Events.RedactWith(op.Events.Redactor())
	held := op.lease.Load()
	undo.lease.Store(held)
	held.SetCancel(undo.end)
	return undo, ctx, end
}

// MayChange returns an error if the operation no longer holds the release that it changes.
func (op *Operation) MayChange() error { return op.lease.Load().MayChange() }

// Hold locks the release of a writer from its next write on, as long as it has a status.
func (op *Operation) Hold(w *history.Writer, what string, status release.Status) (*lease.Lease, error) {
	held, err := lease.Acquire(w, what, status, op.end)
	if err != nil {
		return nil, err
	}
	op.lease.Store(held)
	return held, nil
}

// Release gives the lock of a writer up without recording that, where the lock could not be
// stored.
func (op *Operation) Release(w *history.Writer) {
	_, _ = w.SetGuard(nil) // which cannot fail
	op.lease.Store(nil)
}

// Lease is the lock on the release; nil if the operation holds none.
func (op *Operation) Lease() *lease.Lease { return op.lease.Load() }

// Begin announces the operation.
func (op *Operation) Begin(ctx context.Context, about event.Operation) {
	if deadline, bounded := ctx.Deadline(); bounded {
		about.Deadline = deadline
	}
	op.announced = &about
	began := about
	op.Events.Emit(event.Event{Type: event.Started, Operation: &began})
}

// Deadline is until when the operation may take; zero if there is no limit.
func (op *Operation) Deadline() time.Time {
	if op.announced == nil {
		return time.Time{}
	}
	return op.announced.Deadline
}

// Finish announces the end of the operation, and returns its error without the contents of
// Secrets.
func (op *Operation) Finish(ctx context.Context, err error) error {
	err = op.Events.RedactError(failure.NameTimeout(ctx, err))
	if op.announced != nil {
		op.Events.Emit(event.Event{Type: event.Finished, Operation: op.announced, Err: err})
	}
	return err
}

// WithoutTimeout calls do with the context of the operation without its timeout.
func (op *Operation) WithoutTimeout(do func(context.Context)) { do(op.unbounded) }

// Hooks returns the runner of hooks.
func (op *Operation) Hooks(o hooks.Options) *hooks.Runner {
	return &hooks.Runner{
		Cluster: op.Cluster, Writer: op.Writer, Events: op.Events, WithoutTimeout: op.WithoutTimeout, Options: o,
		LogPrinter: hooks.LogPrinter{Output: op.config.HookOutputFunc, Client: op.config.KubeClient},
	}
}
