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

// holdDuration is how long a line about a resource that is not ready is delayed. If the
// resource becomes ready within this time, the line is not printed, because the line about
// its node is sufficient.
const holdDuration = time.Second

// plainPrinter is the display for mode Plain. It prints one line for each event, beginning
// with the seconds since the start of the operation. It is safe for concurrent use.
type plainPrinter struct {
	start time.Time

	mu sync.Mutex
	w  io.Writer
	// last contains the last line about each subject: a node, resource or hook. A line that
	// is equal to the last one about its subject is not printed.
	last map[string]string
	// held contains the delayed lines, sorted by the time at which they are due. A line is
	// printed when it is due, unless an event about the same subject removes it earlier.
	held   []heldLine
	timer  *time.Timer
	closed bool
}

// heldLine is a line that is printed at the time due, if it is still true then.
type heldLine struct {
	due           time.Time
	subject, text string
	// waiting is true for the line that says that the operation waits for all resources
	// together.
	waiting bool
}

// NewWarnings returns a printer that prints warnings to w and ignores all other events.
func NewWarnings(w io.Writer) interface{ Event(event.Event) } {
	return &silent{newPlainPrinter(w, time.Now())}
}

func newPlainPrinter(w io.Writer, start time.Time) *plainPrinter {
	return &plainPrinter{start: start, w: w, last: make(map[string]string)}
}

// OutputAbove returns the writer of the printer, because lines of text cannot corrupt each
// other.
func (p *plainPrinter) OutputAbove() io.Writer { return p.w }

// Close stops the printer. It does not print lines that are still delayed.
func (p *plainPrinter) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	if p.timer != nil {
		p.timer.Stop()
	}
}

// Event prints the line for an event or delays it. It does not print a line twice in a row
// for the same node, resource or hook.
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

// changed handles a new state of a resource. It delays the first line about a resource if
// the resource is not ready, and prints nothing if the first state is ready.
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

// hold adds a line to held and makes sure that release is called when it is due.
func (p *plainPrinter) hold(h heldLine) {
	p.held = append(p.held, h)
	if p.timer == nil {
		p.timer = time.AfterFunc(holdDuration, p.release)
	}
}

// release prints the delayed lines that are due, and schedules its next call.
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

// Warning prints an event if it is a warning, each text only once. Events about how the
// cluster can be observed are printed whenever the text changes.
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

// print writes a line that begins with the seconds since the start of the operation. If the
// event has no time, the line begins with 0.0s.
func (p *plainPrinter) print(at time.Time, subject, text string) {
	p.write(subject, text, fmt.Sprintf("%7.1fs  %s", max(at.Sub(p.start), 0).Seconds(), text))
}

// write writes line, unless text is equal to the last text about the same subject. It
// ignores errors, because a failure to write must not fail the operation.
func (p *plainPrinter) write(subject, text, line string) {
	if p.last[subject] == text {
		return
	}
	p.last[subject] = text
	_, _ = io.WriteString(p.w, cut(line)+"\n")
}
