// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package progress shows people, and programs, what an operation does while it does
// it (docs/reference.md, "Progress").
package progress

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/term"

	"github.com/ordered-helm/helm/internal/event"
)

// Mode is a way to show progress.
type Mode string

const (
	// Auto is TTY on a terminal that can redraw, and Plain elsewhere.
	Auto Mode = "auto"
	// TTY redraws a view on a terminal.
	TTY Mode = "tty"
	// Plain prints a line an event.
	Plain Mode = "plain"
	// JSON prints an object a line, for programs.
	JSON Mode = "json"
	// None shows warnings alone.
	None Mode = "none"
)

// Modes are all modes.
func Modes() []Mode { return []Mode{Auto, TTY, Plain, JSON, None} }

// ParseMode reads a mode.
func ParseMode(text string) (Mode, error) {
	if mode := Mode(text); slices.Contains(Modes(), mode) {
		return mode, nil
	}
	var names []string
	for _, m := range Modes() {
		names = append(names, string(m))
	}
	return "", fmt.Errorf("invalid value %q: must be one of %s", text, strings.Join(names, ", "))
}

// Display shows the progress of one operation. Event is safe for concurrent use and
// never waits for a terminal.
type Display interface {
	Event(e event.Event)
	// OutputAbove is where others write while the display is open, so that they do not
	// write into it. It passes on what it gets once the display is closed.
	OutputAbove() io.Writer
	// Close ends the display. Nothing of it goes on after that.
	Close()
}

// Options say what is shown and where.
type Options struct {
	// Mode is not Auto.
	Mode Mode
	// Out is where it is shown.
	Out io.Writer
	// Terminal is Out for TTY.
	Terminal *os.File
	// Env is how to look up an environment variable.
	Env func(string) string
}

// New returns a display. Nothing is shown before the first event.
func New(o Options) Display {
	start := time.Now()
	switch o.Mode {
	case TTY:
		return newLive(o)
	case JSON:
		return &jsonLines{out: o.Out}
	case None:
		return &silent{newPlainPrinter(o.Out, start)}
	}
	return newPlainPrinter(o.Out, start)
}

// Resolve says what a mode means for standard error. A view that was asked for by
// name and cannot be drawn is an error.
func Resolve(mode Mode, stderr *os.File, env func(string) string) (Mode, error) {
	terminal := stderr != nil && term.IsTerminal(stderr.Fd())
	dumb := env("TERM") == "" || env("TERM") == "dumb"
	switch {
	case mode == TTY && !terminal:
		return "", fmt.Errorf("standard error is not a terminal: use %s or %s", Plain, Auto)
	case mode == TTY && dumb:
		return "", fmt.Errorf("the terminal does not support redrawing (TERM=%s): use %s or %s", env("TERM"), Plain, Auto)
	case mode != Auto:
		return mode, nil
	case terminal && !dumb:
		return TTY, nil
	}
	return Plain, nil
}

// silent shows warnings alone.
type silent struct{ *plainPrinter }

func (s *silent) Event(e event.Event) { s.Warning(e) }
