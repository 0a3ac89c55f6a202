// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// TimeoutError reports that an operation timed out. It is the cause of the operation's
// context when --timeout (the field Timeout) expires.
type TimeoutError struct {
	// Limit is the timeout of the operation.
	Limit time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the operation timed out after %s: increase --timeout", e.Limit)
}

// Unwrap returns context.DeadlineExceeded, so that errors.Is finds it, as in any other
// timeout.
func (e *TimeoutError) Unwrap() error { return context.DeadlineExceeded }

// WaitTimeoutError reports that a wait timed out: for a hook, or for the deletion of the
// objects of a node. It is the cause of the context of that wait.
type WaitTimeoutError struct {
	// Limit is the timeout of the wait.
	Limit time.Duration
	// outcome begins the text of the error. Limit follows it.
	outcome string
}

// HookTimeout returns the error for a hook that did not complete within limit.
func HookTimeout(limit time.Duration) *WaitTimeoutError {
	return &WaitTimeoutError{limit, "the hook did not complete within"}
}

// DeletionTimeout returns the error for objects that still existed after limit, although
// the server had accepted their deletion.
func DeletionTimeout(limit time.Duration) *WaitTimeoutError {
	return &WaitTimeoutError{limit, "it still existed after"}
}

func (e *WaitTimeoutError) Error() string { return fmt.Sprintf("%s %s", e.outcome, e.Limit) }

// Unwrap returns context.DeadlineExceeded, so that errors.Is finds it, as in any other
// timeout.
func (e *WaitTimeoutError) Unwrap() error { return context.DeadlineExceeded }

// AddTimeout adds the TimeoutError of the operation to err if it is the cause of ctx and
// err does not contain it. It leaves a DeployError unchanged, because its text already
// mentions the timeout.
func AddTimeout(ctx context.Context, err error) error {
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

// PreferContextCause returns the error to report for an operation without an order that failed
// with err. As in Helm, this is the cause of ctx if ctx is done, and err otherwise. It is
// always err if err is a HookError of hooks that ran in parallel.
func PreferContextCause(ctx context.Context, err error) error {
	if ctx.Err() != nil && !IsOfParallelHooks(err) {
		return context.Cause(ctx)
	}
	return err
}
