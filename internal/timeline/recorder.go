// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"slices"
	"sync"

	"github.com/ordered-helm/helm/internal/event"
)

// maxChanges is the maximum number of states that are stored for one resource. If there are
// more, the first one and the newest ones are kept.
const maxChanges = 100

// Recorder builds a Timeline from the events of operations. The zero value is ready to use.
// It is safe for concurrent use.
type Recorder struct {
	mu       sync.Mutex
	timeline Timeline
	// open contains the operations that have not finished. An operation that undoes another
	// one follows it.
	open []*recording
	// events is the number of events received.
	events int
}

// recording is a running operation, with indexes to find the span and the resource that an
// event is about.
type recording struct {
	*Operation
	spans map[spanKey]*Span
	// resources contains the resources that events were about.
	resources map[resourceKey]*Resource
}

type spanKey struct {
	kind      Kind
	id, event string
}

type resourceKey struct {
	span            *Span
	namespace, name string
}

// Read calls do with the timeline as it is now. do must not use the timeline after it
// returns.
func (r *Recorder) Read(do func(t *Timeline)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do(&r.timeline)
}

// Events returns the number of events that the recorder has received.
func (r *Recorder) Events() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events
}

// Event adds an event to the timeline. It ignores events outside an operation, except
// warnings.
func (r *Recorder) Event(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events++
	switch e.Type {
	case event.Started:
		r.begin(e)
		return
	case event.Warning, event.Observing:
		r.timeline.Warnings = append(r.timeline.Warnings, Warning{e.Time, e.Message})
		return
	}
	if len(r.open) == 0 {
		return
	}
	o := r.open[len(r.open)-1]
	if e.Type == event.Finished {
		o.finish(e)
		r.open = r.open[:len(r.open)-1]
		return
	}
	o.event(e)
}

func (r *Recorder) begin(e event.Event) {
	o := &Operation{Operation: *e.Operation, Start: e.Time}
	r.timeline.Operations = append(r.timeline.Operations, o)
	r.open = append(r.open, &recording{Operation: o, spans: map[spanKey]*Span{}, resources: map[resourceKey]*Resource{}})
}

func (o *recording) event(e event.Event) {
	switch e.Type {
	case event.Planned, event.Removing:
		o.plan(e)
	case event.Waiting:
		o.Doing = e.Message
		if !o.Ordered || o.Name == "uninstall" {
			o.start(o.span(spanKey{kind: Wait}), e)
		}
	case event.NodeStarted, event.NodeApplied, event.NodeReady:
		o.node(o.span(spanKey{kind: Deploy, id: e.Node}), e)
	case event.NodeDeleting, event.NodeDeleted:
		o.node(o.span(spanKey{kind: Remove, id: e.Node}), e)
	case event.NodeFailed:
		o.fail(o.current(e.Node), e)
	case event.HookStarted, event.HookDone, event.HookLog:
		o.hook(o.span(spanKey{kind: Hook, id: e.Hook, event: e.HookEvent}), e)
	case event.ResourceChanged:
		o.change(o.current(e.Node), e)
	}
}

// finish sets the end of the operation and of all spans that are still running.
func (o *recording) finish(e event.Event) {
	o.End, o.Err = e.Time, e.Err
	for _, s := range o.Spans {
		if s.State != Running {
			continue
		}
		s.End, s.State = e.Time, Done
		if e.Err != nil && !s.isReadyOrDeleted() {
			s.State = Unfinished
		}
	}
	o.markCritical()
}

// plan adds a span for each node that the operation will deploy or delete.
func (o *recording) plan(e event.Event) {
	o.Doing = e.Message
	kind := Deploy
	if e.Type == event.Removing || o.Name == "uninstall" {
		kind = Remove
	}
	for _, n := range e.Nodes {
		s := o.span(spanKey{kind: kind, id: n.ID})
		s.Chart, s.Layer, s.Needs, s.NeedsAll, s.Size = n.Chart, n.Layer, n.After, n.AfterCharts, n.Resources
	}
}

// span returns the span for a node or hook. It adds the span to the operation if it is new.
func (o *recording) span(key spanKey) *Span {
	s := o.spans[key]
	if s == nil {
		s = &Span{Kind: key.kind, ID: key.id, HookEvent: key.event, State: Waiting}
		o.spans[key] = s
		o.Spans = append(o.Spans, s)
	}
	return s
}

// current returns the span for an event about a node, given by its ID. A node can have two
// spans: one for its deployment and, later in the same operation, one for its deletion. If
// node is empty, current returns the span for the wait for all resources.
func (o *recording) current(node string) *Span {
	if node == "" {
		return o.span(spanKey{kind: Wait})
	}
	if s := o.spans[spanKey{kind: Remove, id: node}]; s != nil {
		if deployed := o.spans[spanKey{kind: Deploy, id: node}]; deployed == nil || s.State != Waiting {
			return s
		}
	}
	return o.span(spanKey{kind: Deploy, id: node})
}

func (o *recording) start(s *Span, e event.Event) {
	if s.Start.IsZero() {
		s.Start = e.Time
	}
	s.State, s.Message = Running, e.Message
	if s.Kind == Wait {
		s.ID, s.Size = o.Doing, e.Resources
	}
}

// node sets the times and the state of the span of a node.
func (o *recording) node(s *Span, e event.Event) {
	switch e.Type {
	case event.NodeStarted, event.NodeDeleting:
		s.After = e.After
		o.start(s, e)
	case event.NodeApplied:
		s.Applied, s.Message = e.Time, e.Message
	case event.NodeReady, event.NodeDeleted:
		s.End, s.State = e.Time, Done
	}
}

func (o *recording) fail(s *Span, e event.Event) {
	if s.Start.IsZero() {
		s.Start = e.Time
	}
	s.End, s.State, s.Err, s.Message = e.Time, Failed, e.Err, e.Message
}

func (o *recording) hook(s *Span, e event.Event) {
	switch e.Type {
	case event.HookStarted:
		s.Deadline = e.Deadline
		o.start(s, e)
	case event.HookLog:
		s.Log = e.Message
	case event.HookDone:
		if e.Err != nil {
			o.fail(s, e)
			return
		}
		s.End, s.State = e.Time, Done
	}
}

// change records a new state of a resource. If the node was ready and the resource no
// longer is, the node is running again.
func (o *recording) change(s *Span, e event.Event) {
	key := resourceKey{s, e.Namespace, e.Resource}
	res := o.resources[key]
	if res == nil {
		res = &Resource{Name: e.Resource, Namespace: e.Namespace}
		o.resources[key] = res
		s.Resources = append(s.Resources, res)
	}
	res.Change, res.Deadline = Change{e.Time, e.State, e.Message, e.Cause}, e.Deadline
	if len(res.Changes) == maxChanges {
		res.Changes = append(res.Changes[:1], res.Changes[2:]...)
	}
	res.Changes = append(res.Changes, res.Change)
	if s.State == Done && !res.IsReadyOrDeleted() {
		s.State = Running
	}
}

// isReadyOrDeleted reports whether all resources of the span are ready or deleted.
func (s *Span) isReadyOrDeleted() bool {
	return !slices.ContainsFunc(s.Resources, func(res *Resource) bool { return !res.IsReadyOrDeleted() })
}
