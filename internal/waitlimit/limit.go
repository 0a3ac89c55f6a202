// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package waitlimit decides how long an operation waits for a resource that is not ready
// (docs/reference.md, "Time"). A Fixed is a limit that somebody has set. A Standstill applies
// if nobody has: it ends the wait for a resource that makes no progress.
//
// Package watcher passes the observed versions of the resource to its limit. A Standstill also
// uses the pods of the resource and their events, which package podwatch observes.
package waitlimit

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Limit limits the wait for one resource. Time during which the API server cannot be reached
// does not count: the caller subtracts it from the times that it passes. The methods must not
// be called at the same time.
type Limit interface {
	// Start is called once, before all other methods, when the resource has been applied.
	Start(at time.Time)
	// Observe is called after each observation, with the last version of the resource that
	// existed, and says whether the resource is ready.
	Observe(obj *unstructured.Unstructured, ready bool, at time.Time)
	// Check returns the time after which it must be called again. If it is not positive,
	// the time of the resource is used up.
	Check(at time.Time) time.Duration
	// Examine is called when the time is used up. Check is then called again: the resource
	// times out only if its time still is used up. Examine can read from the cluster what
	// Check needs, and returns soon after ctx ends.
	Examine(ctx context.Context)
	// Err says why the resource has timed out. It is called only after that.
	Err() error
}
