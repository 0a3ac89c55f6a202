// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	"sync"

	"github.com/ordered-helm/helm/internal/event"
)

// maxChanges limits the recorded changes of one resource: the first one and the last ones.
const maxChanges = 100

// Recorder creates a Timeline from events. The zero value is ready to use. It is safe for
// concurrent use.
type Recorder struct {
	mu       sync.Mutex
	timeline Timeline
	// open are the operations that have not finished, the innermost last.
	open []*recording
	// events is the number of events.
	events int
}

// recording is a running operation.
type recording struct {
	*Operation
	spans map[spanKey]*Span
	// resources are the resources that events were about.
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

// Read calls a function with the current timeline. The function must not keep it.
func (r *Recorder) Read(do func(t *Timeline)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	do(&r.timeline)
}

// Events returns the number of events received so far.
func (r *Recorder) Events() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.events
}

// Event adds an event. It ignores events outside an operation, except warnings.
func (r *Recorder) Event(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events++
	switch e.Type {
	case event.Started:
		r.begin(e)
		return
	case event.Warning, event.Observing:
		r.timeline.Warnings = append(r.timeline.Warnings, Note{e.Time, e.Message})
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

// finish ends an operation.
func (o *recording) finish(e event.Event) {
	o.End, o.Err = e.Time, e.Err
	for _, s := range o.Spans {
		if s.State != Running {
			continue
		}
		s.End, s.State = e.Time, Done
		if e.Err != nil && !s.settled() {
			s.State = Unfinished
		}
	}
	o.markCritical()
}

// plan adds the nodes that will be deployed or deleted.
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

// span returns a span of an operation, and creates it if needed.
func (o *recording) span(key spanKey) *Span {
	s := o.spans[key]
	if s == nil {
		s = &Span{Kind: key.kind, ID: key.id, HookEvent: key.event, State: Waiting}
		o.spans[key] = s
		o.Spans = append(o.Spans, s)
	}
	return s
}

// current returns the span for an event about a node. A node that is being deleted may have
// been deployed earlier in the operation. Without a node, it is the wait for all resources.
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

// node records the progress of a node.
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

// change records the state of a resource. If a node was ready and no longer is, it is
// running again.
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
	if s.State == Done && !res.Settled() {
		s.State = Running
	}
}

// settled reports whether all known resources have reached the state that the operation
// waits for.
func (s *Span) settled() bool {
	for _, res := range s.Resources {
		if !res.Settled() {
			return false
		}
	}
	return true
}
