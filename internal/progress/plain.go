// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package progress shows people what an operation does, while it does it.
package progress

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/ordered-helm/helm/pkg/action"
)

// Plain prints one line an event, with the seconds since the operation began,
// for logs and for terminals that cannot redraw. It is safe for concurrent use.
type Plain struct {
	start time.Time

	mu sync.Mutex
	w  io.Writer
	// last is the last line about each subject, so that none is repeated.
	last map[string]string
}

// NewPlain returns a printer to w that counts time from start.
func NewPlain(w io.Writer, start time.Time) *Plain {
	return &Plain{start: start, w: w, last: make(map[string]string)}
}

// Event prints an event, unless it says nothing that was not printed before.
func (p *Plain) Event(e action.Event) {
	if isWarning(e.Type) {
		p.Warning(e)
		return
	}
	text := describe(e)
	at := max(e.Time.Sub(p.start), 0) // an event without a time is as old as the operation
	p.print(strings.Join([]string{e.Node, e.Namespace, e.Resource, e.Hook}, "\x00"), text, fmt.Sprintf("%7.1fs  %s", at.Seconds(), text))
}

// Warning prints an event that is a warning and leaves out any other. A warning
// is printed once, and how the cluster can be observed whenever that changes.
func (p *Plain) Warning(e action.Event) {
	text := "WARNING: " + oneLine(explain(e))
	switch e.Type {
	case action.EventWarning:
		p.print(text, text, text)
	case action.EventObserving:
		p.print(string(e.Type), text, text)
	}
}

func isWarning(t action.EventType) bool {
	return t == action.EventWarning || t == action.EventObserving
}

// print writes a line unless the one before about the same subject said the
// same. A screen that cannot be written to must not fail the operation.
func (p *Plain) print(subject, text, line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last[subject] == text {
		return
	}
	p.last[subject] = text
	_, _ = io.WriteString(p.w, cut(line)+"\n")
}

// describe puts an event into words: what it is about, what happened to it, and
// why.
func describe(e action.Event) string {
	words := make([]string, 0, 5)
	for _, subject := range []string{e.Node, e.Resource} {
		if subject != "" {
			words = append(words, subject)
		}
	}
	if e.Hook != "" {
		words = append(words, "hook "+e.Hook)
	}
	if e.Namespace != "" {
		words = append(words, "in namespace "+e.Namespace)
	}
	why := explain(e)
	if why == "" || !speaksForItself(e.Type) {
		words = append(words, verb(e))
	}
	text := strings.Join(words, " ")
	switch {
	case why == "":
	case text == "":
		text = why
	default:
		text += ": " + why
	}
	return oneLine(text)
}

// speaksForItself tells whether the message of an event says what happened.
func speaksForItself(t action.EventType) bool {
	switch t {
	case action.EventResourceChanged, action.EventWaiting, action.EventPlanned, action.EventRemoving:
		return true
	}
	return false
}

// verb is what happened, as the end of a sentence.
func verb(e action.Event) string {
	switch e.Type {
	case action.EventNodeStarted, action.EventHookStarted:
		return "started"
	case action.EventNodeApplied:
		return "applied"
	case action.EventNodeReady:
		return "ready"
	case action.EventNodeFailed:
		return "failed"
	case action.EventNodeDeleting:
		return "deleting"
	case action.EventNodeDeleted:
		return "deleted"
	case action.EventResourceChanged:
		return "changed"
	case action.EventHookDone:
		if e.Err != nil {
			return "failed"
		}
		return "done"
	case action.EventWaiting:
		return "waiting"
	default:
		return string(e.Type)
	}
}

// explain joins an event's message and error.
func explain(e action.Event) string {
	switch {
	case e.Err == nil:
		return e.Message
	case e.Message == "" || strings.Contains(e.Err.Error(), e.Message):
		return e.Err.Error()
	default:
		return e.Message + ": " + e.Err.Error()
	}
}

// oneLine folds line breaks and other control characters, which come from the
// cluster and must not move the cursor of a terminal, into single spaces.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
}

// cut shortens a line that would fill the screen.
func cut(line string) string {
	const most = 1000 // characters
	if utf8.RuneCountInString(line) <= most {
		return line
	}
	return string([]rune(line)[:most-1]) + "…"
}
