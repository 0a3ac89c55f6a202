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

// printDelay is how long the printer waits before it prints that a resource is not ready. If
// the resource becomes ready within this time, the line is not printed: the line about its
// node is sufficient.
const printDelay = time.Second

// plainPrinter is the display for mode Plain. It prints one line for each event, which begins
// with the seconds since the start of the operation. It is safe for concurrent use.
type plainPrinter struct {
	start time.Time

	mu sync.Mutex
	w  io.Writer
	// last contains the last text that was printed about each subject: a node, resource or
	// hook. The same text is not printed twice in a row about a subject.
	last map[string]string
	// delayed contains the lines that are printed later, sorted by time. An event about the
	// same subject removes a line that has not been printed.
	delayed []delayedLine
	timer   *time.Timer // calls printDue; nil if no line is delayed
	closed  bool
}

// delayedLine is a line about a subject that is printed at the time due, unless it is outdated
// by then.
type delayedLine struct {
	due           time.Time
	subject, text string
	// waiting is true for the line that says that the operation waits until all resources
	// are ready.
	waiting bool
}

// NewWarnings returns a printer that prints warnings to w and ignores all other events.
func NewWarnings(w io.Writer) interface{ Event(event.Event) } {
	return &warningPrinter{newPlainPrinter(w, time.Now())}
}

func newPlainPrinter(w io.Writer, start time.Time) *plainPrinter {
	return &plainPrinter{start: start, w: w, last: make(map[string]string)}
}

// OutputAbove returns the writer to which the printer writes, because other output between
// its lines does no harm.
func (p *plainPrinter) OutputAbove() io.Writer { return p.w }

// Close stops the printer. Lines that are still delayed are not printed.
func (p *plainPrinter) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

// Event prints the line for an event, or delays it. It does not print the same line twice in
// a row about a node, resource or hook.
func (p *plainPrinter) Event(e event.Event) {
	if isMessage(e.Type) {
		p.Warning(e)
		return
	}
	text := describe(e)
	subject := strings.Join([]string{e.Node, e.Namespace, e.Resource, e.HookEvent, e.Hook, e.HandlerEvent, e.Chart}, "\x00")
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Type {
	case event.Finished:
		p.delayed = nil
	case event.HookStarted, event.Removing: // these events show that the wait for all resources has ended
		p.delayed = slices.DeleteFunc(p.delayed, func(d delayedLine) bool { return d.waiting })
	}
	if text == "" {
		return
	}
	switch e.Type {
	case event.ResourceChanged:
		p.changed(e, subject, text)
	case event.Waiting: // the resources can become ready immediately
		p.delay(delayedLine{due: e.Time.Add(printDelay), subject: subject, text: text, waiting: true})
	default:
		p.print(e.Time, subject, text)
	}
}

// changed handles an event about a new state of a resource. The first line about a resource
// is delayed if the resource is not ready, and is not printed at all if it is ready.
func (p *plainPrinter) changed(e event.Event, subject, text string) {
	p.delayed = slices.DeleteFunc(p.delayed, func(d delayedLine) bool { return d.subject == subject })
	_, printedBefore := p.last[subject]
	switch e.State {
	case "Ready", "Gone":
		if printedBefore {
			p.print(e.Time, subject, text)
		}
	case "InProgress", "Terminating", "Missing":
		if printedBefore {
			p.print(e.Time, subject, text)
		} else {
			p.delay(delayedLine{due: e.Time.Add(printDelay), subject: subject, text: text})
		}
	default:
		p.print(e.Time, subject, text)
	}
}

// delay adds a line to p.delayed, and makes sure that printDue is called when it is due.
func (p *plainPrinter) delay(line delayedLine) {
	p.delayed = append(p.delayed, line)
	if p.timer == nil {
		p.timer = time.AfterFunc(printDelay, p.printDue)
	}
}

// printDue prints the delayed lines that are due. If others are left, it schedules its next
// call.
func (p *plainPrinter) printDue() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	for len(p.delayed) > 0 && !p.closed && !p.delayed[0].due.After(now) {
		p.print(p.delayed[0].due, p.delayed[0].subject, p.delayed[0].text)
		p.delayed = p.delayed[1:]
	}
	p.timer = nil
	if len(p.delayed) > 0 && !p.closed {
		p.timer = time.AfterFunc(p.delayed[0].due.Sub(now), p.printDue)
	}
}

// Warning prints an event of type Warning, Observing, ScriptOutput or Compared, and ignores others. It prints each
// warning only once. Observing events say whether the cluster can be observed; one of them is
// printed if its text differs from that of the last one.
func (p *plainPrinter) Warning(e event.Event) {
	text := "WARNING: " + oneLine(messageAndError(e))
	p.mu.Lock()
	defer p.mu.Unlock()
	switch e.Type {
	case event.Warning:
		p.write(text, text, text)
	case event.Observing:
		p.write(string(e.Type), text, text)
	case event.ScriptOutput, event.Compared:
		p.writeLine(oneLine(e.Message))
	}
}

func isMessage(t event.Type) bool {
	return t == event.Warning || t == event.Observing || t == event.ScriptOutput || t == event.Compared
}

// print writes a line that begins with the seconds between the start of the operation and the
// time at, or with 0.0s if at is zero.
func (p *plainPrinter) print(at time.Time, subject, text string) {
	p.write(subject, text, fmt.Sprintf("%7.1fs  %s", max(at.Sub(p.start), 0).Seconds(), text))
}

// write writes line, unless text is equal to the last text about the same subject.
func (p *plainPrinter) write(subject, text, line string) {
	if p.last[subject] == text {
		return
	}
	p.last[subject] = text
	p.writeLine(line)
}

// writeLine writes a line. It ignores errors, because an operation must not fail if its progress cannot
// be written.
func (p *plainPrinter) writeLine(line string) { _, _ = io.WriteString(p.w, cut(line)+"\n") }
