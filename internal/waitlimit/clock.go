// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package waitlimit

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/podwatch"
)

// clock measures for how long a resource has stood still. It sends no requests and reads no
// clock: each call passes what was observed, and when. These times must not decrease.
//
// Time does not count while the resource is ready, and while one of its pods waits for a node
// or for its image. The measured time starts again when the resource makes progress: when a
// number exceeds the highest value that it had so far, or a phase occurs for the first time.
type clock struct {
	// idle is for how long the resource had stood still at the time at.
	idle time.Duration
	at   time.Time
	// progress is when the resource last made progress.
	progress time.Time
	// ready and waiting say whether time currently does not count: because the resource is
	// ready, or because of one of its pods. wasReady says whether it was ever ready.
	ready, wasReady, waiting bool
	// highest contains the highest value of each number so far, and phases the phases.
	highest map[string]int64
	phases  map[string]bool
	// knowsPods and knowsEvents say whether pods and events have been observed before.
	knowsPods, knowsEvents bool
	// offset is the difference between the clocks of the cluster and the caller, as far as
	// it is known: at least that much the cluster's clock is ahead.
	offset      time.Duration
	knowsOffset bool
}

// newClock returns a clock for a resource that was applied at the given time.
func newClock(start time.Time) *clock {
	return &clock{at: start, progress: start, highest: map[string]int64{}, phases: map[string]bool{}}
}

// standstill returns for how long the resource has stood still.
func (c *clock) standstill(at time.Time) time.Duration {
	c.advance(at)
	return c.idle
}

// advance computes idle for the time at.
func (c *clock) advance(at time.Time) {
	if !at.After(c.at) {
		return
	}
	if !c.ready && !c.waiting {
		c.idle += at.Sub(c.at)
	}
	c.at = at
}

// restart records that the resource has made progress.
func (c *clock) restart(at time.Time) { c.idle, c.progress = 0, at }

// observe records a version of the resource, and whether it is ready.
func (c *clock) observe(obj *unstructured.Unstructured, ready bool, at time.Time) {
	c.advance(at)
	c.learnOffset(objectTimes(obj), at)
	progressed := c.raise(replicaCounts(obj))
	if phase := currentPhase(obj); phase != "" && !c.phases[phase] {
		c.phases[phase], progressed = true, true
	}
	if ready && !c.wasReady {
		c.wasReady, progressed = true, true
	}
	c.ready = ready
	if progressed {
		c.restart(at)
	}
}

// raise updates highest. It reports whether any value is higher than before.
func (c *clock) raise(values map[string]int64) bool {
	raised := false
	for name, value := range values {
		if value > c.highest[name] {
			c.highest[name], raised = value, true
		}
	}
	return raised
}

// observePods records the state of the resource's pods. At the first call, the time that has
// passed since the last progress is computed again from the timestamps of pods and events.
func (c *clock) observePods(s podwatch.State, at time.Time) {
	c.advance(at)
	c.learnOffset(podTimes(s), at)
	progressed := c.raise(podCounts(s.Pods))
	switch {
	case progressed && c.knowsPods:
		c.restart(at)
	case !c.knowsPods, s.EventsKnown && !c.knowsEvents:
		c.correct(s, progressed, at)
	}
	c.waiting = anyPodWaits(s)
	c.knowsPods, c.knowsEvents = true, c.knowsEvents || s.EventsKnown
}

// correct reduces idle by what the pods and events say about the past: when the resource last
// made progress, if progressed is set, and when its pods were waiting.
func (c *clock) correct(s podwatch.State, progressed bool, at time.Time) {
	if progressed {
		if last := c.latest(lastProgress(s), at); last.After(c.progress) {
			c.progress = last
		}
	}
	var waits []span
	for _, w := range podWaits(s, !c.knowsPods) {
		from, until := w.from.Add(-c.offset), at
		if !w.until.IsZero() {
			until = c.latest(w.until, at)
		}
		waits = append(waits, span{laterOf(from, c.progress), until})
	}
	c.idle = max(0, min(c.idle, at.Sub(c.progress))-totalLength(waits))
}

// latest converts a timestamp of the cluster into a time of the caller. Timestamps are rounded
// down to seconds: the result is the latest possible time, but not after the time at.
func (c *clock) latest(timestamp, at time.Time) time.Time {
	if possible := timestamp.Add(time.Second - c.offset); possible.Before(at) {
		return possible
	}
	return at
}

// learnOffset updates offset from timestamps that were observed at the time at, and are
// therefore not later.
func (c *clock) learnOffset(timestamps []time.Time, at time.Time) {
	for _, t := range timestamps {
		if offset := t.Sub(at); !t.IsZero() && (!c.knowsOffset || offset > c.offset) {
			c.offset, c.knowsOffset = offset, true
		}
	}
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
