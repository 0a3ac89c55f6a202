// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package progress shows what an operation is doing while it runs: as a view that is
// redrawn on a terminal, as lines of text, or as JSON. It receives the events of package
// event (docs/reference.md, "Progress").
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

// Mode is a value of the flag --progress.
type Mode string

const (
	// Auto is TTY on a terminal that can redraw lines, and otherwise Plain.
	Auto Mode = "auto"
	// TTY shows a view on a terminal that is redrawn while the operation runs.
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

// ParseMode converts the value of the flag --progress. It returns an error if the value is
// not a Mode.
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

// Display shows the progress of one operation. The operation calls Event for each event.
// Event is safe for concurrent use and never waits for a terminal.
type Display interface {
	Event(e event.Event)
	// OutputAbove returns the writer to which the program must write all other output while
	// the display is open, so that this output does not corrupt the display. After Close,
	// the writer writes directly.
	OutputAbove() io.Writer
	// Close stops the display and returns when it no longer writes anything.
	Close()
}

// Options configures a display.
type Options struct {
	// Mode says how to show the progress. It must not be Auto; see Resolve.
	Mode Mode
	// Out is where the display writes.
	Out io.Writer
	// Terminal is the terminal that Out writes to. It is used only in mode TTY.
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

// Resolve returns the mode to use for a display on stderr: it replaces Auto, and returns
// other modes unchanged. It returns an error if the mode is TTY but stderr is not a
// terminal, or is one that cannot redraw lines.
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

// silent is the display for mode None. It prints only warnings.
type silent struct{ *plainPrinter }

func (s *silent) Event(e event.Event) { s.Warning(e) }
