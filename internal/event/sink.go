// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/watcher"
)

// Sink passes the events of an operation to the caller of the operation, one at a time, and
// redacts the contents of Secrets. It is safe for concurrent use.
type Sink struct {
	mu     sync.Mutex
	notify func(Event)
	// redactor redacts the contents of the Secrets of the release.
	redactor atomic.Pointer[redact.Redactor]
	// observe is called with each new redactor; it can be nil.
	observe func(*redact.Redactor)
}

// NewSink returns a Sink that calls notify with each event. If notify is nil, the events
// are discarded. If observe is not nil, the sink calls it with each new redactor.
func NewSink(notify func(Event), observe func(*redact.Redactor)) *Sink {
	return &Sink{notify: notify, observe: observe}
}

// HasListener reports whether somebody receives the events.
func (s *Sink) HasListener() bool { return s.notify != nil }

// RedactWith makes the sink redact all later events with r.
func (s *Sink) RedactWith(r *redact.Redactor) {
	s.redactor.Store(r)
	if s.observe != nil {
		s.observe(r)
	}
}

// Redactor returns the redactor of the sink; it can be nil.
func (s *Sink) Redactor() *redact.Redactor { return s.redactor.Load() }

// Emit redacts an event, sets its time, and passes it to the caller of the operation.
func (s *Sink) Emit(e Event) {
	if s.notify == nil {
		return
	}
	redactor := s.Redactor()
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Time = time.Now()
	e.Message, e.Cause, e.Err = redactor.ServerMessage(e.Message), redactor.ServerMessage(e.Cause), failure.Redact(redactor, e.Err)
	s.notify(e)
}

// Warn emits a warning.
func (s *Sink) Warn(message string) { s.Emit(Event{Type: Warning, Message: message}) }

// Warnf emits a formatted warning.
func (s *Sink) Warnf(format string, args ...any) { s.Warn(fmt.Sprintf(format, args...)) }

// Notice emits a notice of the watcher: that the cluster cannot be observed, or can be
// observed again.
func (s *Sink) Notice(n watcher.Notice) { s.Emit(Event{Type: Observing, Message: n.String()}) }

// RedactError returns an error without the contents of Secrets.
func (s *Sink) RedactError(err error) error { return failure.Redact(s.Redactor(), err) }

// RedactLog returns a log function that redacts the contents of Secrets and then calls log.
func (s *Sink) RedactLog(log func(string, ...any)) func(string, ...any) {
	return func(format string, v ...any) { log("%s", s.Redactor().ServerMessage(fmt.Sprintf(format, v...))) }
}
