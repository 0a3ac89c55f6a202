// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"encoding/json"
	"io"
	"math"
	"sync"
	"time"

	"github.com/ordered-helm/helm/internal/event"
)

// jsonLines is the display for mode JSON. It prints each event as one JSON object on a line
// of its own.
type jsonLines struct {
	mu  sync.Mutex
	out io.Writer
	// open contains the operations that have started but not finished. The last one is the
	// current one: it can be the rollback or uninstall of --atomic, which starts before the
	// failed operation finishes.
	open []*event.Operation
	// began is the time of the first event.
	began time.Time
}

// jsonEvent is the JSON form of an event. docs/reference.md, "Progress as JSON", describes
// the fields.
type jsonEvent struct {
	Time      time.Time  `json:"time"`
	Elapsed   float64    `json:"elapsed"`
	Type      event.Type `json:"type"`
	Operation string     `json:"operation,omitempty"`
	Release   string     `json:"release,omitempty"`
	Namespace string     `json:"namespace,omitempty"`
	Revision  int        `json:"revision,omitempty"`
	Ordered   *bool      `json:"ordered,omitempty"`

	Nodes             []jsonNode `json:"nodes,omitempty"`
	Node              string     `json:"node,omitempty"`
	After             string     `json:"after,omitempty"`
	Resource          string     `json:"resource,omitempty"`
	ResourceNamespace string     `json:"resourceNamespace,omitempty"`
	State             string     `json:"state,omitempty"`
	Resources         int        `json:"resources,omitempty"`
	Hook              string     `json:"hook,omitempty"`
	HookEvent         string     `json:"hookEvent,omitempty"`
	HandlerEvent      string     `json:"handlerEvent,omitempty"`
	Chart             string     `json:"chart,omitempty"`
	Since             *time.Time `json:"since,omitempty"`
	Deadline          *time.Time `json:"deadline,omitempty"`
	Message           string     `json:"message,omitempty"`
	Cause             string     `json:"cause,omitempty"`
	Error             string     `json:"error,omitempty"`
}

type jsonNode struct {
	ID          string   `json:"id"`
	Chart       string   `json:"chart"`
	Layer       string   `json:"layer,omitempty"`
	External    []string `json:"external,omitempty"`
	After       []string `json:"after,omitempty"`
	AfterCharts []string `json:"afterCharts,omitempty"`
	Resources   int      `json:"resources"`
}

func (p *jsonLines) OutputAbove() io.Writer { return p.out }

func (p *jsonLines) Close() {}

// Event prints an event as JSON.
func (p *jsonLines) Event(e event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.began.IsZero() {
		p.began = e.Time
	}
	if e.Type == event.Started {
		p.open = append(p.open, e.Operation)
	}
	j := jsonEvent{
		Time: e.Time, Elapsed: math.Round(e.Time.Sub(p.began).Seconds()*1000) / 1000, Type: e.Type,
		Node: e.Node, After: e.After, Resource: e.Resource, ResourceNamespace: e.Namespace, State: e.State,
		Resources: e.Resources, Hook: e.Hook, HookEvent: e.HookEvent, HandlerEvent: e.HandlerEvent, Chart: e.Chart, Since: timeOrNil(e.Since),
		Deadline: timeOrNil(e.Deadline), Message: e.Message, Cause: e.Cause,
	}
	if len(p.open) > 0 {
		o := p.open[len(p.open)-1]
		j.Operation, j.Release, j.Namespace, j.Revision = o.Name, o.Release, o.Namespace, o.Revision
		if e.Operation != nil {
			j.Ordered, j.Deadline = &o.Ordered, timeOrNil(o.Deadline)
		}
	}
	for _, n := range e.Nodes {
		j.Nodes = append(j.Nodes, jsonNode(n))
	}
	if e.Err != nil {
		j.Error = e.Err.Error()
	}
	// A failure to write the output must not fail the operation. Encoding the object cannot
	// fail.
	_ = json.NewEncoder(p.out).Encode(j)
	if e.Type == event.Finished && len(p.open) > 0 {
		p.open = p.open[:len(p.open)-1]
	}
}

// timeOrNil returns nil for the zero time, so that JSON omits it.
func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
