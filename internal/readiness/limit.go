// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"fmt"
	"time"
)

// blindCheck is how often a limit is looked at again while its clock stands
// still because nothing can be observed.
const blindCheck = 100 * time.Millisecond

// Limit is how long a group may take. Time in which the API could not be
// reached does not count.
type Limit struct {
	// Within is the time from Since; 0 is no limit.
	Within time.Duration
	// Since is when the time began.
	Since time.Time
}

// TimeoutError is the cause of a NotReadyError when a Limit ran out.
type TimeoutError struct {
	// Within is the time that the limit gave.
	Within time.Duration
}

func (e *TimeoutError) Error() string { return fmt.Sprintf("not ready within %s", e.Within) }

// left is the time that the limit still gives, and when to look again at the
// latest.
func (g *Group) left() (left, next time.Duration) {
	g.tracker.mu.Lock()
	defer g.tracker.mu.Unlock()
	now := time.Now()
	var unobserved time.Duration
	blind := false
	for _, i := range g.items {
		if i.attached && i.report.Status.State != Ready {
			unobserved = max(unobserved, i.stream.unobserved(now)-i.blindAt)
			blind = blind || !i.stream.blindSince.IsZero()
		}
	}
	left = g.limit.Within - now.Sub(g.limit.Since) + unobserved
	if blind {
		return left, max(left, blindCheck)
	}
	return left, left
}

// limitTimer says when the limit has to be looked at; nil without one.
func (g *Group) limitTimer() (<-chan time.Time, func(), error) {
	if g.limit.Within <= 0 {
		return nil, func() {}, nil
	}
	left, next := g.left()
	if left <= 0 {
		return nil, nil, &TimeoutError{Within: g.limit.Within}
	}
	timer := time.NewTimer(next)
	return timer.C, func() { timer.Stop() }, nil
}
