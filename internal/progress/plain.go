// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ordered-helm/helm/internal/event"
)

// holdDuration is how long a resource can be unready before a line is printed about it.
// Most resources are ready earlier, and then the line about their node is sufficient.
const holdDuration = time.Second

// plainPrinter prints one line for each event, with the seconds since the start of the
// operation. It is for logs and for terminals that cannot redraw lines. It is safe for
// concurrent use.
type plainPrinter struct {
	start time.Time

	mu sync.Mutex
	w  io.Writer
	// last is the last line about each subject, to avoid repetitions.
	last map[string]string
	// held are delayed lines, in the order in which they are due. A line is printed when it
	// is due, unless a later event replaces it.
	held   []heldLine
	timer  *time.Timer
	closed bool
}

type heldLine struct {
	due           time.Time
	subject, text string
	// waiting is whether the line is about waiting for all resources together.
	waiting bool
}

// NewWarnings returns a printer of only the warnings.
func NewWarnings(w io.Writer) interface{ Event(event.Event) } {
	return &silent{newPlainPrinter(w, time.Now())}
}

func newPlainPrinter(w io.Writer, start time.Time) *plainPrinter {
	return &plainPrinter{start: start, w: w, last: make(map[string]string)}
}

// OutputAbove returns the output of the printer.
func (p *plainPrinter) OutputAbove() io.Writer { return p.w }

// Close discards delayed lines.
func (p *plainPrinter) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

// Event prints an event, unless it repeats a printed line.
func (p *plainPrinter) Event(e event.Event) {
	if isWarning(e.Type) {
		p.Warning(e)
		return
	}
	text := describe(e)
	subject := strings.Join([]string{e.Node, e.Namespace, e.Resource, e.HookEvent, e.Hook}, "\x00")
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Type {
	case event.Finished:
		p.held = nil
	case event.HookStarted, event.Removing: // these mean that the waiting has ended
		p.held = slices.DeleteFunc(p.held, func(h heldLine) bool { return h.waiting })
	}
	if text == "" {
		return
	}
	switch e.Type {
	case event.ResourceChanged:
		p.changed(e, subject, text)
	case event.Waiting: // the resources may be ready immediately
		p.hold(heldLine{due: e.Time.Add(holdDuration), subject: subject, text: text, waiting: true})
	default:
		p.print(e.Time, subject, text)
	}
}

// changed prints the state of a resource, or delays the line.
func (p *plainPrinter) changed(e event.Event, subject, text string) {
	p.held = slices.DeleteFunc(p.held, func(h heldLine) bool { return h.subject == subject })
	_, told := p.last[subject]
	switch e.State {
	case "Ready", "Gone":
		if told {
			p.print(e.Time, subject, text)
		}
	case "InProgress", "Terminating", "Missing":
		if told {
			p.print(e.Time, subject, text)
		} else {
			p.hold(heldLine{due: e.Time.Add(holdDuration), subject: subject, text: text})
		}
	default:
		p.print(e.Time, subject, text)
	}
}

// hold delays a line.
func (p *plainPrinter) hold(h heldLine) {
	p.held = append(p.held, h)
	if p.timer == nil {
		p.timer = time.AfterFunc(holdDuration, p.release)
	}
}

// release prints the lines that are due.
func (p *plainPrinter) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for len(p.held) > 0 && !p.closed && !p.held[0].due.After(now) {
		p.print(p.held[0].due, p.held[0].subject, p.held[0].text)
		p.held = p.held[1:]
	}
	p.timer = nil
	if len(p.held) > 0 && !p.closed {
		p.timer = time.AfterFunc(p.held[0].due.Sub(now), p.release)
	}
}

// Warning prints an event if it is a warning. It prints each warning once. For the way in
// which the cluster is observed, it prints every change.
func (p *plainPrinter) Warning(e event.Event) {
	text := "WARNING: " + oneLine(messageAndError(e))
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Type {
	case event.Warning:
		p.write(text, text, text)
	case event.Observing:
		p.write(string(e.Type), text, text)
	}
}

func isWarning(t event.Type) bool {
	return t == event.Warning || t == event.Observing
}

// print writes a line that begins with the time since the start of the operation. An event
// without a time has the time 0.
func (p *plainPrinter) print(at time.Time, subject, text string) {
	p.write(subject, text, fmt.Sprintf("%7.1fs  %s", max(at.Sub(p.start), 0).Seconds(), text))
}

// write writes a line, unless the previous line about the same subject was the same. A
// failure to write must not fail the operation.
func (p *plainPrinter) write(subject, text, line string) {
	if p.last[subject] == text {
		return
	}
	p.last[subject] = text
	_, _ = io.WriteString(p.w, cut(line)+"\n")
}
