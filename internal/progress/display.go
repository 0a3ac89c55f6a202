// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package progress shows the progress of an operation to users and to programs
// (docs/reference.md, "Progress").
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
	// Auto is TTY on a terminal that can redraw lines, and otherwise Plain.
	Auto Mode = "auto"
	// TTY redraws a view on a terminal.
	TTY Mode = "tty"
	// Plain prints one line for each event.
	Plain Mode = "plain"
	// JSON prints one JSON object for each event, each on its own line, for programs.
	JSON Mode = "json"
	// None prints only warnings.
	None Mode = "none"
)

// Modes returns all modes.
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

// Display shows the progress of one operation. Event is safe for concurrent use and never
// blocks on a terminal.
type Display interface {
	Event(e event.Event)
	// OutputAbove returns a writer for other output while the display is open, so that the
	// output does not corrupt the display. After the display is closed, it writes directly.
	OutputAbove() io.Writer
	// Close ends the display and waits until it has stopped.
	Close()
}

// Options configure a display.
type Options struct {
	// Mode is the mode. It must not be Auto.
	Mode Mode
	// Out receives the output.
	Out io.Writer
	// Terminal is Out in the mode TTY.
	Terminal *os.File
	// Env returns the value of an environment variable.
	Env func(string) string
}

// New returns a display. It shows nothing before the first event.
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

// Resolve returns the mode to use for standard error. It returns an error if the mode is
// TTY and the terminal cannot redraw lines.
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

// silent prints only warnings.
type silent struct{ *plainPrinter }

func (s *silent) Event(e event.Event) { s.Warning(e) }
