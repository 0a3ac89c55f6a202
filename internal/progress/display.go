// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package progress shows what an operation is doing while it runs: as a view that is redrawn
// on a terminal, as lines of text, or as JSON. It receives the events of the operation,
// which package event defines (docs/reference.md, "Progress").
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

// Mode says how progress is shown. It is the value of the flag --progress.
type Mode string

const (
	// Auto means TTY on a terminal that can redraw lines, and Plain elsewhere.
	Auto Mode = "auto"
	// TTY shows a view that is redrawn on the terminal while the operation runs.
	TTY Mode = "tty"
	// Plain prints one line for each event.
	Plain Mode = "plain"
	// JSON prints each event as one JSON object on a line of its own.
	JSON Mode = "json"
	// None prints only warnings.
	None Mode = "none"
)

// Modes returns all modes.
func Modes() []Mode { return []Mode{Auto, TTY, Plain, JSON, None} }

// ParseMode returns the Mode that text names. It returns an error if there is no such mode.
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

// Display shows the progress of one operation.
type Display interface {
	// Event shows an event of the operation. It is safe for concurrent use, and never waits
	// for a terminal.
	Event(e event.Event)
	// OutputAbove returns a writer for all other output of the program. In mode TTY, it
	// prints above the view, because output in the middle of the view would corrupt it. The
	// writer can still be used after Close.
	OutputAbove() io.Writer
	// Close stops the display, and waits until it has written everything.
	Close()
}

// Options are the parameters of New.
type Options struct {
	// Mode says how to show the progress. It must not be Auto, which Resolve replaces.
	Mode Mode
	// Out receives the output of the display.
	Out io.Writer
	// Terminal is the terminal to which Out writes. It is used only in mode TTY.
	Terminal *os.File
	// Env returns the value of an environment variable, like os.Getenv.
	Env func(string) string
}

// New returns a display, which shows nothing before the first event.
func New(o Options) Display {
	start := time.Now()
	switch o.Mode {
	case TTY:
		return newLiveDisplay(o)
	case JSON:
		return &jsonLines{out: o.Out}
	case None:
		return &warningPrinter{newPlainPrinter(o.Out, start)}
	}
	return newPlainPrinter(o.Out, start)
}

// Resolve replaces Auto with the mode that suits stderr, and returns other modes unchanged.
// It returns an error if mode is TTY but stderr is not a terminal that can redraw lines. env
// returns the value of an environment variable.
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

// warningPrinter is the display for mode None, which prints only warnings.
type warningPrinter struct{ *plainPrinter }

func (s *warningPrinter) Event(e event.Event) {
	if e.Type != event.Compared {
		s.Warning(e)
	}
}
