// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"bytes"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/term"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/timeline"
)

// framesPerSecond is the maximum number of frames that are drawn in a second. If no event
// occurs, one frame is drawn in a second, to update the times in it.
const framesPerSecond = 5

// live is the display for mode TTY. It redraws a view of the operation until the operation
// finishes, and prints other output above the view. Close replaces the view with a summary.
type live struct {
	options Options
	theme   theme
	// recorder turns the events into the data that is drawn. Until program has ended, only
	// program uses it.
	recorder timeline.Recorder
	// closed is closed when program has ended and no longer uses the terminal.
	closed  chan struct{}
	program *tea.Program

	mu sync.Mutex
	// pendingEvents contains the events that the recorder has not received yet. Event only
	// adds to it, so that the operation never waits until a frame is drawn.
	pendingEvents []event.Event
	// pendingOutput contains other output that was not printed above the view yet. over is
	// true after Close: then other output is written directly.
	pendingOutput bytes.Buffer
	over          bool
	// closing is true from the beginning of Close on: then no frame is drawn.
	closing bool
	// warned contains the warnings that were already printed, so that each is printed once.
	warned map[string]bool
}

func newLive(o Options) *live {
	return &live{
		options: o, theme: newTheme(showsUnicode(o.Env), o.Env("NO_COLOR") == ""),
		warned: map[string]bool{},
	}
}

// showsUnicode reports whether a terminal can show more than ASCII, according to the
// locale.
func showsUnicode(env func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := env(name); value != "" {
			value = strings.ToLower(value)
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return false
}

// Event stores an event for the next frame, and prints warnings above the view. The first
// event of a node, resource or hook opens the view.
func (l *live) Event(e event.Event) {
	l.mu.Lock()
	l.pendingEvents = append(l.pendingEvents, e)
	l.mu.Unlock()
	switch e.Type {
	case event.Warning, event.Observing:
		text := "WARNING: " + cut(oneLine(messageAndError(e)))
		l.mu.Lock()
		known := l.warned[text]
		l.warned[text] = true
		l.mu.Unlock()
		if !known {
			_, _ = io.WriteString(l, text+"\n")
		}
	case event.Started, event.Finished:
	default:
		l.open()
	}
}

// open starts program, which draws the view, unless it was already started.
func (l *live) open() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.program != nil || l.closing {
		return
	}
	l.closed = make(chan struct{})
	// The program does not query the terminal for its features, because nothing would read
	// the response, which would then appear at the prompt. It does not use the keyboard
	// either, so that ^C remains a signal.
	program := tea.NewProgram(&model{live: l},
		tea.WithInput(nil), tea.WithOutput(l.options.Terminal), tea.WithoutSignalHandler(),
		tea.WithFPS(framesPerSecond), tea.WithColorProfile(colorprofile.ANSI),
		tea.WithEnvironment([]string{"TERM=xterm-256color", "SSH_TTY=none"}))
	l.program = program
	go func() {
		defer close(l.closed)
		// A failure to draw must not fail the operation.
		_, _ = program.Run()
	}()
}

// OutputAbove returns l, whose method Write prints above the view.
func (l *live) OutputAbove() io.Writer { return l }

// Write stores output that program prints above the view. If there is no view, Write writes
// the output directly.
func (l *live) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.program == nil {
		return l.options.Out.Write(p)
	}
	return l.pendingOutput.Write(p)
}

// catchUp passes pendingEvents to the recorder.
func (l *live) catchUp() {
	l.mu.Lock()
	events := l.pendingEvents
	l.pendingEvents = nil
	l.mu.Unlock()
	for _, e := range events {
		l.recorder.Event(e)
	}
}

// takePendingOutput removes all complete lines from pendingOutput and returns them, without
// the last line break.
func (l *live) takePendingOutput() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	end := bytes.LastIndexByte(l.pendingOutput.Bytes(), '\n')
	if end < 0 {
		return ""
	}
	text := string(l.pendingOutput.Next(end + 1))
	return strings.TrimSuffix(text, "\n")
}

// Close removes the view, and prints the remaining output and the summary.
func (l *live) Close() {
	l.mu.Lock()
	l.closing = true
	program := l.program
	l.mu.Unlock()
	if program != nil {
		program.Quit()
		<-l.closed
	}
	l.catchUp()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	l.over = true
	_, _ = l.pendingOutput.WriteTo(l.options.Out)
	if l.program == nil {
		return
	}
	width := widthOf(l.options.Terminal)
	l.recorder.Read(func(t *timeline.Timeline) {
		for _, text := range summary(l.theme, t, width) {
			_, _ = io.WriteString(l.options.Out, text+"\n")
		}
	})
}

func (l *live) isClosing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closing
}

// model connects live to Bubble Tea, the library that draws the view.
type model struct {
	live          *live
	width, height int
	// narrowed is true if the terminal has become narrower since the last tick.
	narrowed bool
	// drawn is the current frame, and of is the input that it was drawn from.
	drawn string
	of    frameInput
	turn  int
}

// frameInput identifies the input of a frame. If it has not changed, the frame has not changed
// either. events is the number of events.
type frameInput struct {
	width, height, events int
	second                time.Time
}

// tick is the message that makes Bubble Tea draw the next frame.
type tick struct{}

func next() tea.Cmd {
	return tea.Tick(time.Second/framesPerSecond, func(time.Time) tea.Msg { return tick{} })
}

// Init makes Bubble Tea draw the first frame.
func (m *model) Init() tea.Cmd { return next() }

// Update handles a message from Bubble Tea: a new size of the terminal, or a tick.
func (m *model) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch message := message.(type) {
	case tea.WindowSizeMsg:
		m.narrowed = m.narrowed || message.Width < m.width
		m.width, m.height = message.Width, message.Height
	case tick:
		text := m.live.takePendingOutput()
		if text == "" && m.narrowed {
			// Lines that the terminal has wrapped may have moved the frame to the first
			// line of the terminal. From there on, tmux would keep every cleared frame in
			// its history.
			text = " "
		}
		m.narrowed = false
		if text != "" {
			return m, tea.Batch(tea.Println(text), next())
		}
		return m, next()
	}
	return m, nil
}

// View returns the current frame for Bubble Tea to draw; nothing when the display is
// closing.
func (m *model) View() tea.View {
	view := tea.NewView("")
	view.DisableBracketedPasteMode = true
	if m.width == 0 || m.live.isClosing() {
		return view
	}
	view.SetContent(m.frame(time.Now()))
	// When terminals become narrower, they wrap lines by different rules, and keep the
	// cursor at its position in the text. The cursor is therefore always at the beginning
	// of the frame, so that everything below it is the frame, however its lines were
	// wrapped.
	view.Cursor = tea.NewCursor(0, 0)
	view.Cursor.Shape, view.Cursor.Blink = tea.CursorUnderline, false
	return view
}

// frame returns the frame for the time now. It draws a new frame only if an event has
// occurred, the terminal has changed its size, or a second has passed.
func (m *model) frame(now time.Time) string {
	m.live.catchUp()
	of := frameInput{m.width, m.height, m.live.recorder.Events(), now.Truncate(time.Second)}
	if of == m.of {
		return m.drawn
	}
	m.of = of
	m.turn++
	s := frameRenderer{theme: m.live.theme, width: m.width, height: m.height - 1, now: now, turn: m.turn}
	m.live.recorder.Read(func(t *timeline.Timeline) { m.drawn = strings.Join(s.frame(t), "\n") })
	return m.drawn
}

func widthOf(f *os.File) int {
	width, _, err := term.GetSize(f.Fd())
	if err != nil || width <= 0 {
		return 80
	}
	return width
}
