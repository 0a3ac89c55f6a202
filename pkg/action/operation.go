// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"helm.sh/helm/v3/pkg/release"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/diagnosis"
	"github.com/ordered-helm/helm/internal/redact"
)

// operation is what one run of any action has: its cluster, its listeners and
// its limits.
type operation struct {
	cfg     *Configuration
	cluster *cluster.Client
	events  *events
	limits  timeouts
	// about is what was said to begin; nil if nothing was.
	about *Operation
	// during calls a function with the operation's context without its timeout.
	during func(func(context.Context))
	// end ends the operation for a reason.
	end context.CancelCauseFunc
	// holding is the ledger of the release that the operation holds; empty where it
	// holds none.
	holding atomic.Pointer[ledger]
}

// startOperation begins a run. If it is bounded, the context that it returns
// ends when the operation's time is over; requests to the cluster end with it.
func startOperation(ctx context.Context, cfg *Configuration, notify func(Event), limits timeouts, bounded bool) (*operation, context.Context, context.CancelFunc) {
	outer, cancel := context.WithCancelCause(ctx)
	ctx, release := outer, context.CancelFunc(func() {})
	if bounded && limits.operation > 0 {
		ctx, release = context.WithTimeoutCause(ctx, limits.operation, &timeoutError{limits.operation})
	}
	events := newEvents(notify)
	events.observe = redact.Observer(ctx)
	op := &operation{
		cfg: cfg, events: events, limits: limits, end: cancel,
		during: func(do func(context.Context)) { do(outer) },
	}
	op.cluster = op.openCluster(ctx)
	return op, ctx, func() { release(); cancel(nil) }
}

// mayChange returns an error if the operation no longer holds the release that it
// changes.
func (op *operation) mayChange() error {
	if l := op.holding.Load(); l != nil {
		return l.mayChange()
	}
	return nil
}

// hold has the release of a ledger say that the operation works on it, from its next
// write on, as long as it has a status.
func (op *operation) hold(l *ledger, what string, status release.Status) error {
	op.holding.Store(l)
	return l.hold(what, status, op.end)
}

// openCluster returns the cluster for the operation, whose requests end with ctx.
func (op *operation) openCluster(ctx context.Context) *cluster.Client {
	getter, log := clusterGetter(op.cfg), op.events.concealing(op.cfg.Log)
	if getter == nil {
		return cluster.New(op.cfg.KubeClient, nil, log)
	}
	client, shared := cluster.Bind(ctx, op.cfg.KubeClient, getter, op.mayChange, op.sayUnanswered)
	return cluster.New(client, shared, log)
}

// sayUnanswered says that the API server is in trouble.
func (op *operation) sayUnanswered(err error) {
	op.events.emit(Event{Type: EventObserving, Message: fmt.Sprintf("the API server does not serve a request, which is sent again: %v", err)})
}

// clusterGetter avoids a getter that is not nil but holds nothing.
func clusterGetter(cfg *Configuration) cluster.Getter {
	if cfg.RESTClientGetter == nil {
		return nil
	}
	return cfg.RESTClientGetter
}

// begins tells what begins. The revision may be set until the operation ends.
func (op *operation) begins(ctx context.Context, about Operation) {
	if deadline, bounded := ctx.Deadline(); bounded {
		about.Deadline = deadline
	}
	op.about = &about
	began := about
	op.events.emit(Event{Type: EventStarted, Operation: &began})
}

// result is how an operation ends: with the error in the words in which everybody
// may read it.
func (op *operation) result(ctx context.Context, err error) error {
	err = op.events.conceal(timedOut(ctx, err))
	if op.about != nil {
		op.events.emit(Event{Type: EventFinished, Operation: op.about, Err: err})
	}
	return err
}

// explainer returns an explainer for a release, of which masker hides what must
// not be printed, and later names what is not written so far; it may be nil.
func (op *operation) explainer(masker *redact.Redactor, later func(kind schema.GroupKind, namespace, name string) string) explainer {
	return explainer{
		during: op.during, masker: masker,
		diagnoser: sync.OnceValue(func() *diagnosis.Diagnoser { return newDiagnoser(op.cluster, masker, later) }),
	}
}

// timedOut names the operation's timeout in an error that does not, if that is
// what ended it.
func timedOut(ctx context.Context, err error) error {
	var deploy *DeployError
	var timeout *timeoutError
	if err != nil && !errors.As(err, &deploy) && errors.As(context.Cause(ctx), &timeout) && !errors.As(err, &timeout) {
		return fmt.Errorf("%w (%w)", timeout, err)
	}
	return err
}
