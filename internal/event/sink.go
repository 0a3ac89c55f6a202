// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/watcher/notice"
)

// Sink passes the events of an operation to the caller of the operation, one at a time and
// without the contents of Secrets. It is safe for concurrent use.
type Sink struct {
	mu     sync.Mutex
	notify func(Event)
	// redactor removes the contents of the release's Secrets. It is nil until they are
	// known.
	redactor atomic.Pointer[redact.Redactor]
	// observe, if not nil, is called with each new redactor.
	observe func(*redact.Redactor)
}

// NewSink returns a Sink that calls notify with each event. If notify is nil, the events
// are discarded. If observe is not nil, the sink calls it with each redactor that
// RedactWith sets.
func NewSink(notify func(Event), observe func(*redact.Redactor)) *Sink {
	return &Sink{notify: notify, observe: observe}
}

// HasListener reports whether events are passed on, and not discarded.
func (s *Sink) HasListener() bool { return s.notify != nil }

// RedactWith makes the sink redact all later events with r.
func (s *Sink) RedactWith(r *redact.Redactor) {
	s.redactor.Store(r)
	if s.observe != nil {
		s.observe(r)
	}
}

// Redactor returns the redactor that was set last; nil if none was.
func (s *Sink) Redactor() *redact.Redactor { return s.redactor.Load() }

// Emit sets the time of an event, removes the contents of Secrets from it, and passes it to
// the caller of the operation.
func (s *Sink) Emit(e Event) {
	if s.notify == nil {
		return
	}
	redactor := s.Redactor()
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Time = time.Now()
	e.Message, e.Cause, e.Err = redactor.ServerMessage(e.Message), redactor.ServerMessage(e.Cause), failure.Redact(redactor, e.Err)
	e.Causes = slices.Clone(e.Causes)
	for i := range e.Causes {
		e.Causes[i].Message = redactor.ServerMessage(e.Causes[i].Message)
	}
	s.notify(e)
}

// Warn emits an event of type Warning.
func (s *Sink) Warn(message string) { s.Emit(Event{Type: Warning, Message: message}) }

// Warnf formats a message and emits it as an event of type Warning.
func (s *Sink) Warnf(format string, args ...any) { s.Warn(fmt.Sprintf(format, args...)) }

// Notice emits a notice of the watcher as an event of type Observing: the API server cannot
// be reached, is read instead of watched, or can be reached again.
func (s *Sink) Notice(n notice.Notice) { s.Emit(Event{Type: Observing, Message: n.String()}) }

// RedactError returns err without the contents of Secrets.
func (s *Sink) RedactError(err error) error { return failure.Redact(s.Redactor(), err) }

// RedactLog returns a log function that passes messages to log without the contents of
// Secrets.
func (s *Sink) RedactLog(log func(string, ...any)) func(string, ...any) {
	return func(format string, v ...any) { log("%s", s.Redactor().ServerMessage(fmt.Sprintf(format, v...))) }
}
