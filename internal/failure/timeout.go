// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package failure

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// TimeoutError is the cause of the context of an operation that timed out.
type TimeoutError struct {
	// Limit is the timeout of the operation.
	Limit time.Duration
}

func (e *TimeoutError) Error() string {
	return fmt.Sprintf("the operation timed out after %s: raise --timeout", e.Limit)
}

// Unwrap makes it a context.DeadlineExceeded, like any other timeout.
func (e *TimeoutError) Unwrap() error { return context.DeadlineExceeded }

// HookTimeoutError is the cause of the context of the wait for a hook that timed out.
type HookTimeoutError struct {
	// Limit is the timeout of the hook.
	Limit time.Duration
}

func (e *HookTimeoutError) Error() string {
	return fmt.Sprintf("the hook did not complete within %s", e.Limit)
}

// Unwrap makes it a context.DeadlineExceeded, like any other timeout.
func (e *HookTimeoutError) Unwrap() error { return context.DeadlineExceeded }

// DeletionTimeoutError is the cause of the context of the wait for deleted objects of a
// node if it timed out.
type DeletionTimeoutError struct {
	// Limit is the timeout of the wait.
	Limit time.Duration
}

func (e *DeletionTimeoutError) Error() string {
	return fmt.Sprintf("it still existed after %s", e.Limit)
}

// Unwrap makes it a context.DeadlineExceeded, like any other timeout.
func (e *DeletionTimeoutError) Unwrap() error { return context.DeadlineExceeded }

// NameTimeout adds the timeout of the operation to an error that does not name it, if this
// timeout ended the context.
func NameTimeout(ctx context.Context, err error) error {
	var deploy *DeployError
	var timeout *TimeoutError
	if err != nil && !errors.As(err, &deploy) && errors.As(context.Cause(ctx), &timeout) && !errors.As(err, &timeout) {
		return fmt.Errorf("%w (%w)", timeout, err)
	}
	return err
}
