// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"slices"
	"time"
)

// Progress reports that a handler takes long, or that such a handler has returned.
type Progress struct {
	Event Event
	// Chart is the path of the chart whose handler it is; empty for handlers of Go programs.
	Chart string
	// Start is when the handler was called or, for the event Wait, called first.
	Start time.Time
	// Done reports whether the handler has returned or, for the event Wait, whether the wait for it has
	// ended. Err is the error with which it failed.
	Done bool
	Err  error
}

// longCall is the time after which a handler is reported, because it takes long.
const longCall = time.Second

// observed calls a handler, and reports it with observe if it takes long. observe can be nil.
func observed(observe func(Progress), p Progress, call func() error) error {
	if observe == nil {
		return call()
	}
	p.Start = time.Now()
	reported := make(chan struct{})
	timer := time.AfterFunc(longCall, func() {
		defer close(reported)
		observe(p)
	})
	err := call()
	if !timer.Stop() {
		<-reported
		p.Done, p.Err = true, err
		observe(p)
	}
	return err
}

// waitObserver reports the charts whose handlers of the event Wait are not done.
type waitObserver struct {
	observe func(Progress) // can be nil
	start   time.Time
	// waiting contains the paths of the charts that were reported, but not as done.
	waiting []string
}

// update reports what has changed, if the handlers of the charts in pending are not done.
func (w *waitObserver) update(pending []string, err error) {
	if w.observe == nil {
		return
	}
	for _, chart := range w.waiting {
		if err != nil || !slices.Contains(pending, chart) {
			w.observe(Progress{Event: Wait, Chart: chart, Start: w.start, Done: true, Err: err})
		}
	}
	for _, chart := range pending {
		if !slices.Contains(w.waiting, chart) {
			w.observe(Progress{Event: Wait, Chart: chart, Start: w.start})
		}
	}
	w.waiting = pending
}
