// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/diagnosis"
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
}

// startOperation begins a run. If it is bounded, the context that it returns
// ends when the operation's time is over; requests to the cluster end with it.
func startOperation(ctx context.Context, cfg *Configuration, notify func(Event), limits timeouts, bounded bool) (*operation, context.Context, context.CancelFunc) {
	outer, cancel := ctx, context.CancelFunc(func() {})
	if bounded && limits.operation > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, limits.operation, &timeoutError{limits.operation})
	}
	events := newEvents(notify)
	return &operation{
		cfg: cfg, cluster: openCluster(ctx, cfg, events.concealing(cfg.Log)), events: events, limits: limits,
		during: func(do func(context.Context)) { do(outer) },
	}, ctx, cancel
}

// openCluster returns the cluster for an operation, whose requests end with ctx.
func openCluster(ctx context.Context, cfg *Configuration, log DebugLog) *cluster.Client {
	getter := clusterGetter(cfg)
	if getter == nil {
		return cluster.New(cfg.KubeClient, nil, log)
	}
	client, shared := cluster.Bind(ctx, cfg.KubeClient, getter)
	return cluster.New(client, shared, log)
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
func (op *operation) explainer(masker *diagnosis.Masker, later func(kind schema.GroupKind, namespace, name string) string) explainer {
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
