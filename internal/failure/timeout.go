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

// HookTimeoutError reports that the wait for a hook timed out. It is the cause of the
// context of that wait.
type HookTimeoutError struct {
	// Limit is the timeout of the hook.
	Limit time.Duration
}

func (e *HookTimeoutError) Error() string {
	return fmt.Sprintf("the hook did not complete within %s", e.Limit)
}

// Unwrap makes it a context.DeadlineExceeded, like any other timeout.
func (e *HookTimeoutError) Unwrap() error { return context.DeadlineExceeded }

// DeletionTimeoutError reports that deleted objects of a node still existed when the wait
// for their deletion timed out. It is the cause of the context of that wait.
type DeletionTimeoutError struct {
	// Limit is the timeout of the wait.
	Limit time.Duration
}

func (e *DeletionTimeoutError) Error() string {
	return fmt.Sprintf("it still existed after %s", e.Limit)
}

// Unwrap makes it a context.DeadlineExceeded, like any other timeout.
func (e *DeletionTimeoutError) Unwrap() error { return context.DeadlineExceeded }

// NameTimeout adds to err that the operation timed out, if this ended ctx and err does not
// say so.
func NameTimeout(ctx context.Context, err error) error {
	var deploy *DeployError
	var timeout *TimeoutError
	if err != nil && !errors.As(err, &deploy) && errors.As(context.Cause(ctx), &timeout) && !errors.As(err, &timeout) {
		return fmt.Errorf("%w (%w)", timeout, err)
	}
	return err
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
