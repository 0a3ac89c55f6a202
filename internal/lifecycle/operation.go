// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Operation emits the events of one operation on a release. A nil Operation has no handlers.
type Operation struct {
	emitter    *Emitter
	newRequest func() (*Request, error)
	request    *Request
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
	if err := o.prepare(); err != nil {
		return err
	}
	return Emit(ctx, o.emitter, event, o.request)
}

func (o *Operation) prepare() (err error) {
	if o.request == nil {
		o.request, err = o.newRequest()
	}
	return err
}

// pollInterval is the time between two calls of the handlers of the event wait.
const pollInterval = time.Second

// TimeoutError reports that the handlers of the event wait were not done in time.
type TimeoutError struct{ Timeout time.Duration }

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("timed out after %s: a handler of %s still waits", e.Timeout, Wait)
}

func (e *TimeoutError) Unwrap() error { return context.DeadlineExceeded }

// Await calls the handlers of the event wait again and again until all of them are done, and then those of
// the event ready. It returns a *TimeoutError if that takes longer than timeout; 0 means that only ctx
// limits it.
func (o *Operation) Await(ctx context.Context, timeout time.Duration) error {
	if o == nil {
		return nil
	}
	if Has(o.emitter, Wait) {
		if err := o.prepare(); err != nil {
			return err
		}
		if err := o.poll(ctx, timeout); err != nil {
			return err
		}
	}
	return o.Emit(ctx, Ready)
}

func (o *Operation) poll(ctx context.Context, timeout time.Duration) error {
	limited := ctx
	if timeout > 0 {
		var cancel context.CancelFunc
		limited, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	for {
		done, err := Poll(limited, o.emitter, o.request)
		switch {
		case done:
			return nil
		case err == nil:
			err = sleep(limited, pollInterval)
		}
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return &TimeoutError{timeout}
		}
		if err != nil {
			return err
		}
	}
}

// sleep waits for some time, or until ctx is done.
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
