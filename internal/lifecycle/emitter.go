// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
)

// Request describes the operation that has an event. Which fields are set depends on the event.
type Request struct {
	// Name and Namespace are those of the release. They are empty for ChartLoaded.
	Name, Namespace string
	// Chart is the chart of the release. Handlers must not change it.
	Chart *chart.Chart
	// Values are the values that the templates of the chart see. Handlers of PreRender can change
	// them. Changes are not stored with the release.
	Values map[string]any
	// Manifest contains the documents of the release, without hooks and custom resource definitions
	// from crds/. Handlers of PostRender can change it.
	Manifest *Manifest
	// Releases are the releases that are listed. It is set for PostList, for which nothing else is.
	Releases []*release.Release
}

// Handler handles an event. An error ends the operation, as a hook that fails does.
type Handler func(ctx context.Context, r *Request) error

// WaitHandler handles the event Wait. It returns whether the operation can stop waiting. An error ends
// the operation.
type WaitHandler func(ctx context.Context, r *Request) (done bool, err error)

// Emitter contains the handlers of events. The zero value has none. An emitter can be used by several
// operations at the same time.
type Emitter struct {
	mu       sync.Mutex
	handlers map[Event][]registration
	// observe, if not nil, is called for handlers that take long.
	observe func(Progress)
}

// registration is a registered handler.
type registration struct {
	weight float64
	// chart is the path of the chart whose handler it is; empty for handlers of Go programs.
	chart  string
	handle Handler
	wait   WaitHandler
}

// depth returns the number of charts that contain the chart of the handler. It is -1 for handlers of Go
// programs, which do not belong to a chart.
func (r registration) depth() int {
	if r.chart == "" {
		return -1
	}
	return strings.Count(r.chart, "/charts/")
}

// WeightError reports a weight that is not between 0 and 1.
type WeightError struct {
	Event  Event
	Weight float64
}

func (e *WeightError) Error() string {
	return fmt.Sprintf("the weight of a handler of %s is %v: must be a number from 0 to 1", e.Event, e.Weight)
}

// On registers a handler for an event. Handlers with lower weights, from 0 to 1, are called first; at
// equal weight, the handlers of charts come before those of Go programs, and otherwise the order of
// registration counts. The error is an *UnknownEventError or a *WeightError. For the event Wait, use
// OnWait.
func (e *Emitter) On(event Event, weight float64, h Handler) error {
	if _, err := ParseEvent(string(event)); err != nil {
		return err
	}
	if event == Wait {
		return fmt.Errorf("a handler of the event %s must say when it is done: use OnWait", Wait)
	}
	return e.register(event, registration{weight: weight, handle: h})
}

// OnWait registers a handler for the event Wait, with a weight as for On.
func (e *Emitter) OnWait(weight float64, h WaitHandler) error {
	return e.register(Wait, registration{weight: weight, wait: h})
}

// OnChart is like On for the handler of a chart with this path. At equal weight, handlers of subcharts
// come before those of the charts around them.
func (e *Emitter) OnChart(event Event, weight float64, chart string, h Handler) error {
	return e.register(event, registration{weight: weight, chart: chart, handle: h})
}

// OnChartWait is like OnWait for the handler of a chart with this path.
func (e *Emitter) OnChartWait(weight float64, chart string, h WaitHandler) error {
	return e.register(Wait, registration{weight: weight, chart: chart, wait: h})
}

// Clone returns an emitter with the handlers of e, which can be nil. It calls observe, unless that is nil,
// for handlers that take longer than a second, when they have taken a second and when they return.
func (e *Emitter) Clone(observe func(Progress)) *Emitter {
	c := &Emitter{observe: observe}
	if e != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		c.handlers = maps.Clone(e.handlers)
	}
	return c
}

func (e *Emitter) register(event Event, r registration) error {
	if !(r.weight >= 0 && r.weight <= 1) { // also if it is not a number
		return &WeightError{event, r.weight}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.handlers == nil {
		e.handlers = map[Event][]registration{}
	}
	// The list is replaced, because Emit may be reading it.
	list := append(slices.Clone(e.handlers[event]), r)
	slices.SortStableFunc(list, func(a, b registration) int {
		return cmp.Or(cmp.Compare(a.weight, b.weight), cmp.Compare(b.depth(), a.depth()))
	})
	e.handlers[event] = list
	return nil
}

// Has reports whether an emitter, which can be nil, has handlers for an event.
func Has(e *Emitter, event Event) bool { return len(e.registered(event)) > 0 }

func (e *Emitter) registered(event Event) []registration {
	if e == nil {
		return nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.handlers[event]
}

// Error reports that a handler has failed.
type Error struct {
	Event Event
	Err   error
}

func (e *Error) Error() string { return fmt.Sprintf("a handler of %s failed: %v", e.Event, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// Emit calls the handlers that an emitter, which can be nil, has for an event, one after the other,
// until one fails or ctx is done. The error is an *Error, or that of ctx.
func Emit(ctx context.Context, e *Emitter, event Event, r *Request) error {
	for _, h := range e.registered(event) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := observed(e.observe, Progress{Event: event, Chart: h.chart}, func() error { return h.handle(ctx, r) }); err != nil {
			return &Error{event, err}
		}
	}
	return nil
}

// WaitingCharts returns the paths of the charts with handlers that an emitter, which can be nil, has for the
// event Wait, in the order in which the handlers are called.
func WaitingCharts(e *Emitter) []string {
	var paths []string
	for _, h := range e.registered(Wait) {
		if h.chart != "" && !slices.Contains(paths, h.chart) {
			paths = append(paths, h.chart)
		}
	}
	return paths
}

// Poll calls the handlers that an emitter, which can be nil, has for the event Wait: those of the chart
// with a path or, if chart is empty, all. It returns the paths of the charts whose handlers are not done,
// with an empty path for handlers of Go programs. Handlers that were done before are called again: what
// they wait for may have changed.
func Poll(ctx context.Context, e *Emitter, chart string, r *Request) (pending []string, err error) {
	for _, h := range e.registered(Wait) {
		if chart != "" && h.chart != chart {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		done, err := h.wait(ctx, r)
		if err != nil {
			return nil, &Error{Wait, err}
		}
		if !done && !slices.Contains(pending, h.chart) {
			pending = append(pending, h.chart)
		}
	}
	return pending, nil
}
