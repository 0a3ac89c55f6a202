// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package waitlimit

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Fixed is a limit that somebody has set, for example with an annotation: the resource must be
// ready before its timeout expires. The timeout starts again when the resource was ready and
// no longer is.
type Fixed struct {
	timeout time.Duration
	since   time.Time
	ready   bool
}

// NewFixed returns a Fixed with a timeout.
func NewFixed(timeout time.Duration) *Fixed { return &Fixed{timeout: timeout} }

// TimeoutError reports that a resource was not ready within its timeout.
type TimeoutError struct{ Timeout time.Duration }

func (e *TimeoutError) Error() string { return fmt.Sprintf("not ready within %s", e.Timeout) }

// Timeout returns the timeout.
func (f *Fixed) Timeout() time.Duration { return f.timeout }

// Start starts the timeout.
func (f *Fixed) Start(at time.Time) { f.since = at }

// Observe records whether the resource is ready.
func (f *Fixed) Observe(_ *unstructured.Unstructured, ready bool, at time.Time) {
	if f.ready && !ready {
		f.since = at
	}
	f.ready = ready
}

// Check returns the time until the timeout expires.
func (f *Fixed) Check(at time.Time) time.Duration { return f.timeout - at.Sub(f.since) }

// Examine does nothing.
func (f *Fixed) Examine(context.Context) {}

// Err returns a *TimeoutError.
func (f *Fixed) Err() error { return &TimeoutError{f.timeout} }
