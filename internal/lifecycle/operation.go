// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Operation emits the events of one operation on a release. A nil Operation has no handlers.
type Operation struct {
	emitter    *Emitter
	newRequest func() (*Request, error)

	mu      sync.Mutex
	request *Request
}

// NewOperation returns an Operation with the handlers of an emitter, which can be nil. newRequest returns
// the request for all events. It is called at most once, and only if there are handlers.
func NewOperation(e *Emitter, newRequest func() (*Request, error)) *Operation {
	return &Operation{emitter: e, newRequest: newRequest}
}

// Emit calls the handlers of an event, as the function Emit does.
func (o *Operation) Emit(ctx context.Context, event Event) error {
	if o == nil || !Has(o.emitter, event) {
		return nil
	}
	r, err := o.prepare()
	if err != nil {
		return err
	}
	return Emit(ctx, o.emitter, event, r)
}

// prepare returns the request for all events.
func (o *Operation) prepare() (_ *Request, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.request == nil {
		o.request, err = o.newRequest()
	}
	return o.request, err
}

// WaitingCharts returns the paths of the charts with handlers of the event wait.
func (o *Operation) WaitingCharts() []string {
	if o == nil {
		return nil
	}
	return WaitingCharts(o.emitter)
}

// pollInterval is the time between two calls of the handlers of the event wait.
const pollInterval = time.Second

// TimeoutError reports that the handlers of the event wait were not done in time.
type TimeoutError struct{ Timeout time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("timed out after %s: a handler of %s still waits", e.Timeout, Wait)
}

func (e *TimeoutError) Unwrap() error { return context.DeadlineExceeded }

// WaitOptions configures Await.
type WaitOptions struct {
	// Chart is the path of the chart whose handlers are called. If it is empty, all are.
	Chart string
	// Timeout limits the wait; 0 means that only the context does.
	Timeout time.Duration
	// Observe, if not nil, is called when the handlers of a chart are not done, and when they are done
	// after that.
	Observe func(Progress)
}

// Await calls the handlers of the event wait again and again until all of them are done. It returns a
// *TimeoutError if that takes longer than the timeout.
func (o *Operation) Await(ctx context.Context, w WaitOptions) error {
	if o == nil || !Has(o.emitter, Wait) {
		return nil
	}
	r, err := o.prepare()
	if err != nil {
		return err
	}
	limited := ctx
	if w.Timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, w.Timeout)
		defer cancel()
	}
	observer := &waitObserver{observe: w.Observe, start: time.Now()}
	err = poll(limited, o.emitter, r, w.Chart, observer)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && limited.Err() != nil {
		err = &TimeoutError{w.Timeout}
	}
	observer.update(nil, err)
	return err
}

// poll calls the handlers of the event wait until all of them are done.
func poll(ctx context.Context, e *Emitter, r *Request, chart string, observer *waitObserver) error {
	for {
		pending, err := Poll(ctx, e, chart, r)
		if err != nil || len(pending) == 0 {
			return err
		}
		observer.update(pending, nil)
		if err := sleep(ctx, pollInterval); err != nil {
			return err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
