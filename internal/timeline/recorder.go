// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"slices"
	"sync"

	"github.com/ordered-helm/helm/internal/event"
)

// maxChanges is the maximum number of states that are stored for one resource. If there are
// more, only the first one and the latest ones are kept.
const maxChanges = 100

// Recorder builds a Timeline from the events of operations. The zero value is ready to use,
// and a Recorder is safe for concurrent use.
type Recorder struct {
	mu       sync.Mutex
	timeline Timeline
	// running contains the operations that have not finished. Events belong to the last one:
	// it can be the rollback or uninstall of --atomic, which starts before the failed
	// operation finishes.
	running []*runningOperation
	// early contains the events of handlers that ran before an operation started, because the chart
	// was rendered before that. They are added to the next operation.
	early []event.Event
	// events is the number of events received.
	events int
}

// runningOperation is a running operation, with maps that find the span or resource of an
// event.
type runningOperation struct {
	*Operation
	spans     map[spanKey]*Span
	resources map[resourceKey]*Resource
}

// spanKey identifies a span of an operation. event is the hook event of a hook, or the lifecycle event of
// a handler.
type spanKey struct {
	kind      SpanKind
	id, event string
}

type resourceKey struct {
	span            *Span
	namespace, name string
}

// Read calls use with the current timeline, which the recorder does not change until use
// returns. use must not keep the timeline.
func (r *Recorder) Read(use func(t *Timeline)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	use(&r.timeline)
}

// Events returns the number of events that the recorder has received.
func (r *Recorder) Events() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events
}

// Event adds an event to the timeline. Outside an operation, it adds only warnings and handlers.
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
	if len(r.running) == 0 {
		if e.Type == event.HandlerRunning || e.Type == event.HandlerDone {
			r.early = append(r.early, e)
		}
		return
	}
	o := r.running[len(r.running)-1]
	if e.Type == event.Finished {
		o.finish(e)
		r.running = r.running[:len(r.running)-1]
		return
	}
	o.event(e)
}

func (r *Recorder) begin(e event.Event) {
	o := &Operation{Operation: *e.Operation, Start: e.Time}
	r.timeline.Operations = append(r.timeline.Operations, o)
	started := &runningOperation{Operation: o, spans: map[spanKey]*Span{}, resources: map[resourceKey]*Resource{}}
	r.running = append(r.running, started)
	for _, e := range r.early {
		if e.Since.Before(o.Start) {
			o.Start = e.Since
		}
		started.event(e)
	}
	r.early = nil
}

func (o *runningOperation) event(e event.Event) {
	switch e.Type {
	case event.Planned, event.Removing:
		o.plan(e)
	case event.Waiting:
		o.LastMessage = e.Message
		if !o.Ordered || o.Name == "uninstall" {
			o.start(o.span(spanKey{kind: Wait}), e)
		}
	case event.CRDsStarted, event.CRDsDone:
		o.definitions(o.span(spanKey{kind: Definitions, id: "CustomResourceDefinitions"}), e)
	case event.NodeStarted, event.NodeApplied, event.NodeReady:
		o.node(o.deployed(e.Node), e)
	case event.NodeDeleting, event.NodeDeleted:
		o.node(o.span(spanKey{kind: Remove, id: e.Node}), e)
	case event.NodeFailed:
		o.fail(o.current(e.Node), e)
	case event.HookStarted, event.HookDone, event.HookLog:
		o.hook(o.span(spanKey{kind: Hook, id: e.Hook, event: e.HookEvent}), e)
	case event.HandlerRunning, event.HandlerDone:
		o.handler(e)
	case event.ResourceChanged:
		o.change(o.current(e.Node), e)
	}
}

// finish sets the end of the operation, and of its spans that are still running.
func (o *runningOperation) finish(e event.Event) {
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
func (o *runningOperation) plan(e event.Event) {
	o.LastMessage = e.Message
	kind := Deploy
	if e.Type == event.Removing || o.Name == "uninstall" {
		kind = Remove
	}
	for _, n := range e.Nodes {
		key := spanKey{kind: kind, id: n.ID}
		if len(n.External) > 0 {
			key.kind = External
		}
		s := o.span(key)
		s.Chart, s.Layer, s.Needs, s.NeedsCharts, s.Size = n.Chart, n.Layer, n.After, n.AfterCharts, n.Resources
	}
}

// span returns the span with the given key. If there is none, it adds one to the operation.
func (o *runningOperation) span(key spanKey) *Span {
	s := o.spans[key]
	if s == nil {
		s = &Span{Kind: key.kind, ID: key.id, State: Waiting}
		if key.kind == Handler {
			s.HandlerEvent = key.event
		} else {
			s.HookEvent = key.event
		}
		o.spans[key] = s
		o.Spans = append(o.Spans, s)
	}
	return s
}

// current returns the span to which an event about a node belongs; node is its ID. A node can
// have two spans: one for its deployment and, later in the same operation, one for its
// deletion. If node is empty, the event belongs to the wait for all resources.
func (o *runningOperation) current(node string) *Span {
	if node == "" {
		return o.span(spanKey{kind: Wait})
	}
	if s := o.spans[spanKey{kind: Remove, id: node}]; s != nil {
		if deployed := o.spans[spanKey{kind: Deploy, id: node}]; deployed == nil || s.State != Waiting {
			return s
		}
	}
	return o.deployed(node)
}

// deployed returns the span of the deployment of a node or, if id is that of a wait for external
// dependencies, the span of the wait.
func (o *runningOperation) deployed(id string) *Span {
	if s := o.spans[spanKey{kind: External, id: id}]; s != nil {
		return s
	}
	return o.span(spanKey{kind: Deploy, id: id})
}

func (o *runningOperation) start(s *Span, e event.Event) {
	if s.Start.IsZero() {
		s.Start = e.Time
	}
	s.State, s.Message = Running, e.Message
	if s.Kind == Wait {
		s.ID, s.Size = o.LastMessage, e.Resources
	}
}

// node sets the times and the state of the span of a node.
func (o *runningOperation) node(s *Span, e event.Event) {
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

// definitions sets the times and the state of the span of definitions.
func (o *runningOperation) definitions(s *Span, e event.Event) {
	switch {
	case e.Type == event.CRDsStarted:
		o.start(s, e)
		s.Size = e.Resources
	case e.Err != nil:
		o.fail(s, e)
	default:
		s.End, s.State, s.Message = e.Time, Done, e.Message
	}
}

func (o *runningOperation) fail(s *Span, e event.Event) {
	if s.Start.IsZero() {
		s.Start = e.Time
	}
	s.End, s.State, s.Err, s.Message = e.Time, Failed, e.Err, e.Message
}

func (o *runningOperation) hook(s *Span, e event.Event) {
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

// handler sets the times and the state of the span of a handler. Each run of a handler has its own span.
func (o *runningOperation) handler(e event.Event) {
	key := spanKey{Handler, event.HandlerOwner(e.Chart), e.HandlerEvent}
	if e.Type == event.HandlerRunning {
		delete(o.spans, key)
	}
	s := o.span(key)
	s.Start = e.Since
	switch {
	case e.Type == event.HandlerRunning:
		o.start(s, e)
	case e.Err != nil:
		e.Message = e.Err.Error()
		o.fail(s, e)
	default:
		s.End, s.State = e.Time, Done
	}
}

// change records a new state of a resource. If the span was done but the resource is not ready
// any more, the span is running again.
func (o *runningOperation) change(s *Span, e event.Event) {
	key := resourceKey{s, e.Namespace, e.Resource}
	res := o.resources[key]
	if res == nil {
		res = &Resource{Name: e.Resource, Namespace: e.Namespace}
		o.resources[key] = res
		s.Resources = append(s.Resources, res)
	}
	res.StateChange, res.Deadline = StateChange{e.Time, e.State, e.Message, e.Cause, e.Causes}, e.Deadline
	if len(res.Changes) == maxChanges {
		res.Changes = append(res.Changes[:1], res.Changes[2:]...)
	}
	res.Changes = append(res.Changes, res.StateChange)
	if s.State == Done && !res.IsReadyOrDeleted() {
		s.State = Running
	}
}

// isReadyOrDeleted reports whether all resources of the span are ready or deleted.
func (s *Span) isReadyOrDeleted() bool {
	return !slices.ContainsFunc(s.Resources, func(res *Resource) bool { return !res.IsReadyOrDeleted() })
}
