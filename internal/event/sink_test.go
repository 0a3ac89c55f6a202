// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package event

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/redact"
)

const secret = "hunter22secret"

// types are all types of events.
var types = []Type{
	Started, Finished, Warning, Observing, Planned, NodeStarted, NodeApplied, NodeReady, NodeFailed, Removing, NodeDeleting,
	NodeDeleted, ResourceChanged, HookStarted, HookDone, HookLog, Waiting, ScriptOutput, HandlerRunning,
	HandlerDone,
}

// failed returns an error that contains the secret in its own text and in the errors that
// it wraps.
func failed() error {
	cause := fmt.Errorf("it is not %s: %w", secret, context.Canceled)
	resource := &failure.Resource{Resource: "Deployment/web", State: failure.NotApplied, Message: cause.Error(), Err: cause, Outcome: "could not be applied"}
	return &failure.DeployError{Resources: []*failure.Resource{resource}}
}

// TestEveryTypeIsRedacted checks that an event of any type is redacted, and that this
// changes nothing else.
func TestEveryTypeIsRedacted(t *testing.T) {
	for _, eventType := range types {
		t.Run(string(eventType), func(t *testing.T) {
			var got []Event
			s := NewSink(func(e Event) { got = append(got, e) }, nil)
			s.RedactWith(redact.New([]string{secret}))
			s.Emit(Event{
				Type: eventType, Node: "shop:web", Resource: "Deployment/web", Hook: "Job/migrate",
				Message: "line of " + secret, Cause: "exited with " + secret, Err: failed(),
				Causes: []failure.Cause{{Reason: "Error", Message: "exited with " + secret}},
			})
			if len(got) != 1 {
				t.Fatalf("%d events", len(got))
			}
			e := got[0]
			resource, ok := errors.AsType[*failure.Resource](e.Err)
			if !ok || !errors.Is(e.Err, context.Canceled) {
				t.Fatalf("the error is now %#v", e.Err)
			}
			for _, text := range []string{e.Message, e.Cause, e.Causes[0].Message, e.Err.Error(), resource.Message, resource.Err.Error()} {
				if strings.Contains(text, secret) || !strings.Contains(text, "******") {
					t.Errorf("got %q", text)
				}
			}
			if e.Type != eventType || e.Node != "shop:web" || e.Resource != "Deployment/web" || e.Hook != "Job/migrate" || e.Time.IsZero() {
				t.Errorf("got %+v", e)
			}
		})
	}
}

// TestOtherTextsAreRedacted checks warnings, logs and errors.
func TestOtherTextsAreRedacted(t *testing.T) {
	var texts []string
	s := NewSink(func(e Event) { texts = append(texts, e.Message) }, nil)
	s.RedactWith(redact.New([]string{secret}))
	s.Warn("warning: " + secret)
	s.Warnf("warning: %s", secret)
	s.RedactLog(func(format string, v ...any) { texts = append(texts, fmt.Sprintf(format, v...)) })("100%% of %s", secret)
	texts = append(texts, s.RedactError(errors.New("it is "+secret)).Error())
	want := []string{"warning: ******", "warning: ******", "100% of ******", "it is ******"}
	if !slices.Equal(texts, want) {
		t.Errorf("got %q, want %q", texts, want)
	}
}

// TestRedactorIsReplaced replaces the redactor while several goroutines emit events. It
// checks that every event that is emitted after a secret is known is redacted, that events
// are passed on one at a time and in the order of their times, and that the observer gets
// each redactor.
func TestRedactorIsReplaced(t *testing.T) {
	const emitters, secrets = 4, 50
	secretOf := func(i int) string { return fmt.Sprintf("%s-%03d-", secret, i) }
	var known atomic.Int64 // the number of secrets that the sink knows
	var last time.Time
	var observed []*redact.Redactor
	s := NewSink(func(e Event) {
		if e.Time.Before(last) { // last is not locked: the race detector reports concurrent calls
			t.Error("the events are not in order")
		}
		last = e.Time
		if e.Resources > 0 && strings.Contains(e.Message, secret) {
			t.Errorf("got %q", e.Message)
		}
	}, func(r *redact.Redactor) { observed = append(observed, r) })
	var all sync.WaitGroup
	for range emitters {
		all.Go(func() {
			for known.Load() < secrets {
				n := int(known.Load()) // Resources says how many of the secrets are known
				s.Emit(Event{Type: NodeReady, Resources: n, Message: "a " + secretOf(max(n-1, 0)) + " b"})
			}
		})
	}
	var values []string
	var replaced []*redact.Redactor
	for i := range secrets {
		values = append(values, secretOf(i))
		r := redact.New(values)
		replaced = append(replaced, r)
		s.RedactWith(r)
		known.Add(1)
	}
	all.Wait()
	if !slices.Equal(observed, replaced) || s.Redactor() != replaced[secrets-1] {
		t.Errorf("observed %d redactors", len(observed))
	}
}

// TestNobodyListens checks that a sink without a listener discards events.
func TestNobodyListens(t *testing.T) {
	s := NewSink(nil, nil)
	s.RedactWith(redact.New([]string{secret}))
	s.Warn(secret)
	if s.HasListener() || !NewSink(func(Event) {}, nil).HasListener() {
		t.Error("HasListener is wrong")
	}
}
