// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"bytes"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/term"

	"github.com/ordered-helm/helm/internal/event"
)

// queries matches the control sequences that query the type, cursor position, colors, modes,
// keyboard or properties of a terminal. The terminal sends its response as keyboard input.
var queries = regexp.MustCompile(`\x1b\[[0-9;?>=]*[cn]|\x1b\[\??[0-9;]*\$p|\x1b\[\?u|\x1b\[>[0-9]*q|\x1b\][0-9;]*\?|\x1b[P_]|\x05`)

// TestNoTerminalQueries checks that the display sends no queries to the terminal, because the
// responses would appear at the prompt.
func TestNoTerminalQueries(t *testing.T) {
	keyboard, screen, err := openTerminal(24, 80)
	if err != nil {
		t.Skipf("there are no terminals here: %v", err)
	}
	t.Cleanup(func() { _ = keyboard.Close() })
	before := modes(t, screen)
	var shown bytes.Buffer
	read := make(chan struct{})
	drawn := make(chan struct{})
	go func() {
		defer close(read)
		buffer := make([]byte, 4096)
		for seen := false; ; {
			n, err := keyboard.Read(buffer)
			shown.Write(buffer[:n])
			if !seen && strings.Contains(ansi.Strip(shown.String()), "waiting for rollout") {
				seen = true
				close(drawn)
			}
			if err != nil {
				return
			}
		}
	}()

	l := newLiveDisplay(Options{Mode: TTY, Out: screen, Terminal: screen, Env: func(string) string { return "" }})
	operation := &event.Operation{Name: "install", Release: "shop", Ordered: true}
	started := time.Now()
	for _, e := range []event.Event{
		{Type: event.Started, Operation: operation},
		{Type: event.Planned, Nodes: []event.PlannedNode{{ID: "shop:db", Chart: "shop", Layer: "db", Resources: 1}}},
		{Type: event.NodeStarted, Node: "shop:db"},
		{Type: event.NodeApplied, Node: "shop:db"},
		{Type: event.ResourceChanged, Node: "shop:db", Resource: "StatefulSet/db", State: "InProgress", Message: "waiting for rollout"},
	} {
		e.Time = started
		l.Event(e)
	}
	<-drawn
	if _, err := io.WriteString(l.OutputAbove(), "said meanwhile\n"); err != nil {
		t.Fatal(err)
	}
	l.Event(event.Event{Type: event.NodeReady, Time: time.Now(), Node: "shop:db"})
	l.Event(event.Event{Type: event.Finished, Time: time.Now(), Operation: operation})
	l.Close()
	if after := modes(t, screen); after != before {
		t.Errorf("the terminal's modes were %+v and are %+v", before, after)
	}
	if err := screen.Close(); err != nil {
		t.Fatal(err)
	}
	<-read
	if asked := queries.FindString(shown.String()); asked != "" {
		t.Errorf("the display sends the query %q", asked)
	}
	if text := ansi.Strip(shown.String()); !strings.Contains(text, "said meanwhile") || !strings.Contains(text, "install shop") {
		t.Errorf("got %q", text)
	}
}

// modes returns the input modes of a terminal.
func modes(t *testing.T, terminal *os.File) term.State {
	t.Helper()
	modes, err := term.GetState(terminal.Fd())
	if err != nil {
		t.Fatal(err)
	}
	return *modes
}

// TestHandlersBeforeTheStart checks that a handler that takes long while a chart is rendered is shown, although
// the view shows only operations that have started.
func TestHandlersBeforeTheStart(t *testing.T) {
	var out bytes.Buffer
	l := newLiveDisplay(Options{Mode: TTY, Out: &out, Env: func(string) string { return "" }})
	l.Event(event.Event{Type: event.HandlerRunning, HandlerEvent: "pre-render", Chart: "shop", Message: "waiting for the pre-render\nhandler of shop"})
	l.Event(event.Event{Type: event.HandlerDone, HandlerEvent: "pre-render", Chart: "shop"})
	if got, want := out.String(), "waiting for the pre-render handler of shop\n"; got != want || l.program != nil {
		t.Errorf("got %q, want %q", got, want)
	}
}
