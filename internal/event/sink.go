// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ordered-helm/helm/internal/diagnosis"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/readiness"
)

// Sink passes the events of an operation on to its caller, one at a time, without the
// contents of Secrets. It is safe for concurrent use.
type Sink struct {
	mu     sync.Mutex
	notify func(Event)
	// masker removes the contents of the Secrets of the release.
	masker atomic.Pointer[diagnosis.Masker]
}

// NewSink returns a sink that calls notify, which may be nil.
func NewSink(notify func(Event)) *Sink { return &Sink{notify: notify} }

// HasListener reports whether anybody receives the events.
func (s *Sink) HasListener() bool { return s.notify != nil }

// Redact removes what the masker hides from everything that is emitted from now on.
func (s *Sink) Redact(masker *diagnosis.Masker) { s.masker.Store(masker) }

// Masker is what removes the contents of Secrets; it may be nil.
func (s *Sink) Masker() *diagnosis.Masker { return s.masker.Load() }

// Emit passes an event on.
func (s *Sink) Emit(e Event) {
	if s.notify == nil {
		return
	}
	masker := s.Masker()
	s.mu.Lock()
	defer s.mu.Unlock()
	e.Time = time.Now()
	e.Message, e.Cause, e.Err = masker.Refusal(e.Message), masker.Refusal(e.Cause), failure.Redact(masker, e.Err)
	s.notify(e)
}

// Warn emits a warning.
func (s *Sink) Warn(message string) { s.Emit(Event{Type: Warning, Message: message}) }

// Warnf emits a warning.
func (s *Sink) Warnf(format string, args ...any) { s.Warn(fmt.Sprintf(format, args...)) }

// Notice emits trouble with observing the cluster.
func (s *Sink) Notice(n readiness.Notice) { s.Emit(Event{Type: Observing, Message: n.String()}) }

// RedactError returns an error without the contents of Secrets.
func (s *Sink) RedactError(err error) error { return failure.Redact(s.Masker(), err) }

// RedactLog returns a log without the contents of Secrets.
func (s *Sink) RedactLog(log func(string, ...any)) func(string, ...any) {
	return func(format string, v ...any) { log("%s", s.Masker().Refusal(fmt.Sprintf(format, v...))) }
}
