// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// TimeoutError reports that an operation timed out. It is the cause of the context then.
type TimeoutError struct {
	// Limit is the timeout of the operation.
	Limit time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the operation timed out after %s: raise --timeout", e.Limit)
}

// Unwrap makes it a context.DeadlineExceeded, like any other timeout.
func (e *TimeoutError) Unwrap() error { return context.DeadlineExceeded }

// WaitTimeoutError reports that the wait for a hook, or for the deletion of the objects of a
// node, timed out. It is the cause of the context of that wait.
type WaitTimeoutError struct {
	// Limit is the timeout of the wait.
	Limit time.Duration
	// outcome says what had not happened within Limit.
	outcome string
}

// HookTimeout returns the cause of the context of a wait for a hook.
func HookTimeout(limit time.Duration) *WaitTimeoutError {
	return &WaitTimeoutError{limit, "the hook did not complete within"}
}

// DeletionTimeout returns the cause of the context of a wait for deleted objects to be gone.
func DeletionTimeout(limit time.Duration) *WaitTimeoutError {
	return &WaitTimeoutError{limit, "it still existed after"}
}

func (e *WaitTimeoutError) Error() string { return fmt.Sprintf("%s %s", e.outcome, e.Limit) }

// Unwrap makes it a context.DeadlineExceeded, like any other timeout.
func (e *WaitTimeoutError) Unwrap() error { return context.DeadlineExceeded }

// NameTimeout adds to err that the operation timed out, if this ended ctx and err does not
// say so.
func NameTimeout(ctx context.Context, err error) error {
	timeout, timedOut := errors.AsType[*TimeoutError](context.Cause(ctx))
	if err == nil || !timedOut || is[*DeployError](err) || is[*TimeoutError](err) {
		return err
	}
	return fmt.Errorf("%w (%w)", timeout, err)
}

// is reports whether err is or wraps an error of type E.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// OrContextCause returns the error to report after an operation without an order has failed
// with err. If ctx has ended, it returns the cause of ctx, as in Helm, except for hooks that
// ran in parallel.
func OrContextCause(ctx context.Context, err error) error {
	if ctx.Err() != nil && !IsOfParallelHooks(err) {
		return context.Cause(ctx)
	}
	return err
}
