// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package waitlimit

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/podwatch"
)

const (
	// checkInterval is the maximum interval between two calls of Standstill.Check.
	checkInterval = time.Second
	// examineTimeout limits the time in which pods and events are first read.
	examineTimeout = 5 * time.Second
	// timeAfterFailure is how long resources without a limit are still waited for after
	// another resource has failed.
	timeAfterFailure = 10 * time.Second
)

// ErrOtherFailure is the error of a Standstill if the wait ended because another resource of
// the operation had failed.
var ErrOtherFailure = errors.New("another resource failed")

// StandstillError reports that a resource stood still for the time After.
type StandstillError struct{ After time.Duration }

func (e *StandstillError) Error() string { return fmt.Sprintf("stood still for %s", e.After) }

// FirstFailure records when a resource of an operation first failed. It is safe for concurrent
// use.
type FirstFailure struct{ at atomic.Pointer[time.Time] }

// Record records that a resource has failed now.
func (f *FirstFailure) Record() {
	now := time.Now()
	f.at.CompareAndSwap(nil, &now)
}

// remaining returns how long to wait for other resources.
func (f *FirstFailure) remaining() time.Duration {
	at := f.at.Load()
	if at == nil {
		return math.MaxInt64
	}
	return timeAfterFailure - time.Since(*at)
}

// StandstillConfig contains the parameters of NewStandstill.
type StandstillConfig struct {
	// Limit is how long the resource can stand still; 0 means no limit.
	Limit time.Duration
	// Pods watches the pods of resources that have stood still for the limit.
	Pods *podwatch.Watcher
	// Failure records the first failure in the operation.
	Failure *FirstFailure
}

// Standstill is the limit of a resource for which nobody has set one. It limits the time in
// which the resource makes no progress. Only when this time is used up, it reads the pods of
// the resource and their events, and watches them from then on. After another resource has
// failed, it also limits the rest of the wait.
type Standstill struct {
	config StandstillConfig
	clock  *clock
	obj    *unstructured.Unstructured
	// pods observes the pods of the resource. It is nil before Examine is called, and for
	// resources that have no pods.
	pods *podwatch.Follower
	// changes is the number of changes of pods that have been passed to clock.
	changes int
}

// NewStandstill returns a Standstill.
func NewStandstill(c StandstillConfig) *Standstill { return &Standstill{config: c} }

// Start starts to measure for how long the resource stands still.
func (s *Standstill) Start(at time.Time) { s.clock = newClock(at) }

// Observe records a version of the resource.
func (s *Standstill) Observe(obj *unstructured.Unstructured, ready bool, at time.Time) {
	s.obj = obj
	s.clock.observe(obj, ready, at)
	if podwatch.IsPod(obj) || s.pods != nil {
		s.observePods(at)
	}
}

// observePods records the current state of the pods, as far as they are known.
func (s *Standstill) observePods(at time.Time) {
	s.changes = s.pods.Changes()
	if state, known := s.pods.State(s.obj); known {
		s.clock.observePods(state, at)
	}
}

// Check returns the time until the limit is reached if the resource stands still, but at most
// checkInterval.
func (s *Standstill) Check(at time.Time) time.Duration {
	if s.pods.Changes() != s.changes {
		s.observePods(at)
	}
	return min(s.remaining(at), s.config.Failure.remaining(), checkInterval)
}

func (s *Standstill) remaining(at time.Time) time.Duration {
	if s.config.Limit <= 0 {
		return math.MaxInt64
	}
	return s.config.Limit - s.clock.standstill(at)
}

// Examine reads the pods of the resource and their events, and starts to watch them, if the
// resource has stood still for the limit.
func (s *Standstill) Examine(ctx context.Context) {
	if s.pods != nil || s.obj == nil || s.remaining(s.clock.at) > 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, examineTimeout)
	defer cancel()
	s.pods = s.config.Pods.Follow(ctx, s.obj)
	s.changes = -1 // observe the pods even if there are none
}

// Err returns a *StandstillError or ErrOtherFailure.
func (s *Standstill) Err() error {
	if s.remaining(s.clock.at) <= 0 {
		return &StandstillError{s.config.Limit}
	}
	return ErrOtherFailure
}
