// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"fmt"
	"time"
)

// WaitStrategy says how an operation waits (docs/reference.md, "SDK").
type WaitStrategy string

const (
	// WaitStrategyNone leaves it to the field Wait, which has Helm's meaning.
	WaitStrategyNone WaitStrategy = ""
	// WaitStrategyOrdered deploys in the order that the charts declare, and
	// waits until all is ready.
	WaitStrategyOrdered WaitStrategy = "ordered"
)

func (s WaitStrategy) validate() error {
	switch s {
	case WaitStrategyNone, WaitStrategyOrdered:
		return nil
	}
	return fmt.Errorf("unknown wait strategy %q: use %q, or leave it empty", string(s), WaitStrategyOrdered)
}

// defaultReadinessTimeout is how long a resource may take to get ready where
// nothing says otherwise.
const defaultReadinessTimeout = 10 * time.Second

// timeouts are the limits of one operation. An operation timeout of 0 is none.
type timeouts struct {
	operation, readiness time.Duration
}

// newTimeouts checks that an explicit readiness timeout fits into the
// operation's; the default is cut down to it.
func newTimeouts(operation, readiness time.Duration, ordered bool) (timeouts, error) {
	switch {
	case ordered && operation < 0:
		return timeouts{}, fmt.Errorf("the timeout %s is negative: raise --timeout, 0 is no limit", operation)
	case readiness < 0:
		return timeouts{}, fmt.Errorf("the readiness timeout %s is negative", readiness)
	case operation > 0 && readiness > operation:
		return timeouts{}, fmt.Errorf("the readiness timeout %s is longer than the timeout of the whole operation, %s: raise --timeout, or lower --readiness-timeout", readiness, operation)
	case readiness == 0:
		readiness = defaultReadinessTimeout
		if operation > 0 {
			readiness = min(readiness, operation)
		}
	}
	return timeouts{operation: operation, readiness: readiness}, nil
}

// timeoutError is why an operation ends when its time is over.
type timeoutError struct{ limit time.Duration }

func (e *timeoutError) Error() string {
	return fmt.Sprintf("the operation took longer than its timeout of %s: raise --timeout", e.limit)
}

// Unwrap makes it a context.DeadlineExceeded, like the end of any other time.
func (e *timeoutError) Unwrap() error { return context.DeadlineExceeded }
