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

// holdDuration is how long a resource may not be ready before a line says so: most are
// within that time, and then the line about their node is enough.
const holdDuration = time.Second

// plainPrinter prints one line an event, with the seconds since the operation began,
// for logs and for terminals that cannot redraw. It is safe for concurrent use.
type plainPrinter struct {
	start time.Time

	mu sync.Mutex
	w  io.Writer
	// last is the last line about each subject, so that none is repeated.
	last map[string]string
	// held are lines that are printed if nothing better is heard until they are due,
	// in that order.
	held   []heldLine
	timer  *time.Timer
	closed bool
}

type heldLine struct {
	due           time.Time
	subject, text string
	// waiting is whether it says that everything together is waited for.
	waiting bool
}

// NewWarnings returns a printer of warnings alone.
func NewWarnings(w io.Writer) interface{ Event(event.Event) } {
	return &silent{newPlainPrinter(w, time.Now())}
}

func newPlainPrinter(w io.Writer, start time.Time) *plainPrinter {
	return &plainPrinter{start: start, w: w, last: make(map[string]string)}
}

// OutputAbove is where this prints.
func (p *plainPrinter) OutputAbove() io.Writer { return p.w }

// Close drops what is held.
func (p *plainPrinter) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

// Event prints an event, unless it says nothing that was not printed before.
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
	case event.HookStarted, event.Removing: // which come when the waiting is over
		p.held = slices.DeleteFunc(p.held, func(h heldLine) bool { return h.waiting })
	}
	if text == "" {
		return
	}
	switch e.Type {
	case event.ResourceChanged:
		p.changed(e, subject, text)
	case event.Waiting: // what is waited for may be ready at once
		p.hold(heldLine{due: e.Time.Add(holdDuration), subject: subject, text: text, waiting: true})
	default:
		p.print(e.Time, subject, text)
	}
}

// changed prints how a resource stands, or holds that back for a while.
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

// hold keeps a line for a while.
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

// Warning prints an event that is a warning and leaves out any other. A warning
// is printed once, and how the cluster can be observed whenever that changes.
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

// print writes a line with the time since the operation began: an event without a
// time is as old as that.
func (p *plainPrinter) print(at time.Time, subject, text string) {
	p.write(subject, text, fmt.Sprintf("%7.1fs  %s", max(at.Sub(p.start), 0).Seconds(), text))
}

// write writes a line unless the one before about the same subject said the same. A
// screen that cannot be written to must not fail the operation.
func (p *plainPrinter) write(subject, text, line string) {
	if p.last[subject] == text {
		return
	}
	p.last[subject] = text
	_, _ = io.WriteString(p.w, cut(line)+"\n")
}
