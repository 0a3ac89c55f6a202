// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"cmp"
	"context"
	"errors"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/externalneed"
	"github.com/ordered-helm/helm/internal/externalwait"
	"github.com/ordered-helm/helm/internal/readiness"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
)

// awaitExternal waits for the external dependencies of a step.
func (o *orderedStrategy) awaitExternal(ctx context.Context, s *sequencer.Step) error {
	needs := s.Needs()
	names := make([]string, len(needs))
	for i, n := range needs {
		names[i] = n.String()
	}
	o.run.emit(event.Event{Type: event.NodeStarted, Node: s.ID(), Message: "waiting for " + text.List(names, maxNamedNeeds)})
	err := o.externalWaiter().Wait(ctx, needs, s.Timeout)
	if err == nil {
		o.run.emit(event.Event{Type: event.NodeReady, Node: s.ID()})
		return nil
	}
	o.waiter.RecordFailure()
	unmet, is := errors.AsType[*externalwait.UnmetError](err)
	if !is {
		return err
	}
	failures := unmet.Resources()
	for i, f := range failures {
		f.Node, f.Title = s.ID(), s.Title()
		for _, e := range s.External {
			if i < len(unmet.Unmet) && e.Need == unmet.Unmet[i].Need {
				f.File = e.Reasons[0].File
			}
		}
	}
	o.run.emit(event.Event{Type: event.NodeFailed, Node: s.ID(), Err: failures, Message: failures.Error()})
	return failures
}

// maxNamedNeeds is the maximum number of external dependencies that an event names.
const maxNamedNeeds = 5

// externalWaiter returns the Waiter that all steps share. The first call creates it.
func (o *orderedStrategy) externalWaiter() *externalwait.Waiter {
	o.externalOnce.Do(func() {
		stepOf := map[externalneed.Need]string{}
		for _, s := range o.run.plan.Steps {
			for _, n := range s.Needs() {
				stepOf[n] = cmp.Or(stepOf[n], s.ID())
			}
		}
		o.external = o.run.op.ExternalWaiter(o.run.Release().Namespace, func(status externalwait.Status) {
			o.run.emit(externalEvent(status, stepOf[status.Need], o.run))
		})
	})
	return o.external
}

// externalEvent returns an event about the status of an external dependency of a step.
func externalEvent(s externalwait.Status, step string, r *Run) event.Event {
	e := event.Event{Type: event.ResourceChanged, Node: step, Resource: s.Resource(), State: string(s.State), Message: string(s.State)}
	if s.Namespace != r.Release().Namespace {
		e.Namespace = s.Namespace
	}
	if s.State != readiness.Ready {
		e.Deadline = r.op.Deadline()
		if s.Message != "" {
			e.Message += ": " + s.Message
		}
	}
	return e
}

// closeExternal ends the watches of external dependencies.
func (o *orderedStrategy) closeExternal() {
	o.externalOnce.Do(func() {}) // no other step creates it from now on
	if o.external != nil {
		o.external.Close()
	}
}
