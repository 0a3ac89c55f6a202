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

// framesPerSecond is the maximum number of frames that are drawn per second. If no event
// occurs, one frame per second is drawn, to update the times in it.
const framesPerSecond = 5

// liveDisplay is the display for mode TTY. It shows a view of the operation that is redrawn
// while the operation runs, and prints other output above the view. Close replaces the view
// with a summary.
type liveDisplay struct {
	options Options
	theme   theme
	// recorder builds, from the events, the timeline that the view shows. While program
	// runs, only program uses the recorder.
	recorder timeline.Recorder
	// program draws the view with Bubble Tea. It is nil until the view is opened.
	program *tea.Program
	// programDone is closed when program has ended and no longer uses the terminal.
	programDone chan struct{}

	mu sync.Mutex
	// pendingEvents contains the events that the recorder has not received yet. The method
	// Event only appends to it, so that the operation never waits until a frame is drawn.
	pendingEvents []event.Event
	// started is true once an operation has started.
	started bool
	// pendingOutput contains the output that has not been printed above the view yet.
	pendingOutput bytes.Buffer
	// closing is true once Close has been called. No frame is drawn after that.
	closing bool
	// closed is true once the view has been removed. Output is then written directly.
	closed bool
	// warned contains the warnings that were printed, because each is printed only once.
	warned map[string]bool
}

func newLiveDisplay(o Options) *liveDisplay {
	return &liveDisplay{
		options: o, theme: newTheme(showsUnicode(o.Env), o.Env("NO_COLOR") == ""),
		warned: map[string]bool{},
	}
}

// showsUnicode reports whether the terminal can show characters other than ASCII, according
// to the locale in the environment.
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
// event about a node, resource or hook opens the view.
func (l *liveDisplay) Event(e event.Event) {
	l.mu.Lock()
	l.pendingEvents = append(l.pendingEvents, e)
	l.started = l.started || e.Type == event.Started
	started := l.started
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
	case event.ScriptOutput, event.Compared:
		_, _ = io.WriteString(l, cut(oneLine(e.Message))+"\n")
	case event.HandlerRunning:
		if started {
			l.open()
		} else { // the chart is rendered before the operation starts
			_, _ = io.WriteString(l, cut(oneLine(e.Message))+"\n")
		}
	case event.Started, event.Finished, event.HandlerDone:
	default:
		l.open()
	}
}

// open starts program, which draws the view, unless it is already running.
func (l *liveDisplay) open() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.program != nil || l.closing {
		return
	}
	l.programDone = make(chan struct{})
	// The environment is set so that Bubble Tea does not query the terminal for its features:
	// nothing would read the response, which would appear at the prompt. Without input, it
	// does not change the mode of the keyboard, so that Ctrl-C still sends a signal.
	program := tea.NewProgram(&liveModel{live: l},
		tea.WithInput(nil), tea.WithOutput(l.options.Terminal), tea.WithoutSignalHandler(),
		tea.WithFPS(framesPerSecond), tea.WithColorProfile(colorprofile.ANSI),
		tea.WithEnvironment([]string{"TERM=xterm-256color", "SSH_TTY=none"}))
	l.program = program
	go func() {
		defer close(l.programDone)
		// A failure to draw must not fail the operation.
		_, _ = program.Run()
	}()
}

// OutputAbove returns l, whose method Write prints above the view.
func (l *liveDisplay) OutputAbove() io.Writer { return l }

// Write stores output, which program prints above the view with the next frame. If there is
// no view, Write writes it directly.
func (l *liveDisplay) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.program == nil {
		return l.options.Out.Write(p)
	}
	return l.pendingOutput.Write(p)
}

// recordPendingEvents passes pendingEvents to the recorder.
func (l *liveDisplay) recordPendingEvents() {
	l.mu.Lock()
	events := l.pendingEvents
	l.pendingEvents = nil
	l.mu.Unlock()
	for _, e := range events {
		l.recorder.Event(e)
	}
}

// takePendingOutput removes the complete lines from pendingOutput and returns them, without
// the last line break.
func (l *liveDisplay) takePendingOutput() string {
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
func (l *liveDisplay) Close() {
	l.mu.Lock()
	l.closing = true
	program := l.program
	l.mu.Unlock()
	if program != nil {
		program.Quit()
		<-l.programDone
	}
	l.recordPendingEvents()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	l.closed = true
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

func (l *liveDisplay) isClosing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closing
}

// liveModel implements tea.Model for liveDisplay. Bubble Tea, the library that draws the view,
// calls its methods.
type liveModel struct {
	live *liveDisplay
	// width and height are the size of the terminal, or 0 until it is known.
	width, height int
	// narrowed is true if the terminal has become narrower since the last tick.
	narrowed bool
	// drawn is the current frame, and drawnFrom is the input from which it was drawn.
	drawn       string
	drawnFrom   frameInput
	frameNumber int
}

// frameInput identifies everything that a frame depends on: a new frame is drawn only if it
// has changed. events is the number of events received.
type frameInput struct {
	width, height, events int
	second                time.Time
}

// tick is the message that makes Bubble Tea draw the next frame.
type tick struct{}

func nextTick() tea.Cmd {
	return tea.Tick(time.Second/framesPerSecond, func(time.Time) tea.Msg { return tick{} })
}

// Init returns the command that makes Bubble Tea draw the first frame.
func (m *liveModel) Init() tea.Cmd { return nextTick() }

// Update handles a message from Bubble Tea: the size of the terminal, or a tick.
func (m *liveModel) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch message := message.(type) {
	case tea.WindowSizeMsg:
		m.narrowed = m.narrowed || message.Width < m.width
		m.width, m.height = message.Width, message.Height
	case tick:
		text := m.live.takePendingOutput()
		if text == "" && m.narrowed {
			// When a terminal becomes narrower, it wraps lines, which can move the frame up
			// to the first line. At this position, tmux keeps every cleared frame in its
			// history. Printing a line above the frame moves it down again.
			text = " "
		}
		m.narrowed = false
		if text != "" {
			return m, tea.Batch(tea.Println(text), nextTick())
		}
		return m, nextTick()
	}
	return m, nil
}

// View returns the current frame for Bubble Tea to draw, or an empty view when the display is
// closing.
func (m *liveModel) View() tea.View {
	view := tea.NewView("")
	view.DisableBracketedPasteMode = true
	if m.width == 0 || m.live.isClosing() {
		return view
	}
	view.SetContent(m.frame(time.Now()))
	// When a terminal becomes narrower, it wraps the lines of the frame, and moves the cursor
	// with the text. The cursor stays at the beginning of the frame, so that clearing
	// everything below it removes the frame, however its lines were wrapped.
	view.Cursor = tea.NewCursor(0, 0)
	view.Cursor.Shape, view.Cursor.Blink = tea.CursorUnderline, false
	return view
}

// frame returns the frame for the given time. It draws a new one only if an event has
// occurred, the size of the terminal has changed, or a second has passed.
func (m *liveModel) frame(now time.Time) string {
	m.live.recordPendingEvents()
	input := frameInput{m.width, m.height, m.live.recorder.Events(), now.Truncate(time.Second)}
	if input == m.drawnFrom {
		return m.drawn
	}
	m.drawnFrom = input
	m.frameNumber++
	s := frameRenderer{theme: m.live.theme, width: m.width, height: m.height - 1, now: now, frameNumber: m.frameNumber}
	m.live.recorder.Read(func(t *timeline.Timeline) { m.drawn = strings.Join(s.frame(t), "\n") })
	return m.drawn
}

// widthOf returns the width of a terminal, or 80 if it cannot be determined.
func widthOf(f *os.File) int {
	width, _, err := term.GetSize(f.Fd())
	if err != nil || width <= 0 {
		return 80
	}
	return width
}
