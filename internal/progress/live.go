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

// framesPerSecond is how often the view is drawn at most. While nothing happens it is
// drawn once a second, for its clocks.
const framesPerSecond = 5

// live redraws a view of an operation on a terminal, until that ends. What is said
// meanwhile goes above it; at the end a summary takes its place.
type live struct {
	options Options
	theme   theme
	// recorder is for the program alone, until that has ended.
	recorder timeline.Recorder
	// closed is closed when the program has given the terminal back.
	closed  chan struct{}
	program *tea.Program

	mu sync.Mutex
	// news are the events that the recorder was not told of yet: drawing must not keep
	// anybody waiting.
	news []event.Event
	// pendingOutput is what has not been written yet, and over whether it is written at once.
	pendingOutput bytes.Buffer
	over  bool
	// closing is whether there is nothing to draw any more.
	closing bool
	// warned are the warnings that were written.
	warned map[string]bool
}

func newLive(o Options) *live {
	return &live{
		options: o, theme: newTheme(showsUnicode(o.Env), o.Env("NO_COLOR") == ""),
		warned: map[string]bool{},
	}
}

// showsUnicode tells from the locale whether a terminal shows more than ASCII.
func showsUnicode(env func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := env(name); value != "" {
			value = strings.ToLower(value)
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return false
}

// Event opens the view with the first event that there is something to see of.
func (l *live) Event(e event.Event) {
	l.mu.Lock()
	l.news = append(l.news, e)
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

// open starts the program that draws. The events of an operation come one at a time.
func (l *live) open() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.program != nil || l.closing {
		return
	}
	l.closed = make(chan struct{})
	// The terminal is not asked what it can: nobody reads its answers, which would
	// end up at the prompt. Neither is the keyboard touched, so that ^C stays a signal.
	program := tea.NewProgram(&model{live: l},
		tea.WithInput(nil), tea.WithOutput(l.options.Terminal), tea.WithoutSignalHandler(),
		tea.WithFPS(framesPerSecond), tea.WithColorProfile(colorprofile.ANSI),
		tea.WithEnvironment([]string{"TERM=xterm-256color", "SSH_TTY=none"}))
	l.program = program
	go func() {
		defer close(l.closed)
		// A terminal that cannot be drawn on must not fail the operation.
		_, _ = program.Run()
	}()
}

// OutputAbove is the display itself.
func (l *live) OutputAbove() io.Writer { return l }

// Write keeps what is to stand above the view.
func (l *live) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.program == nil {
		return l.options.Out.Write(p)
	}
	return l.pendingOutput.Write(p)
}

// catchUp tells the recorder what is new.
func (l *live) catchUp() {
	l.mu.Lock()
	news := l.news
	l.news = nil
	l.mu.Unlock()
	for _, e := range news {
		l.recorder.Event(e)
	}
}

// takePendingOutput returns the whole lines that are to be written above the view.
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

// Close takes the view away and writes the summary.
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

// model is what the library draws.
type model struct {
	live          *live
	width, height int
	// narrowed is whether the terminal became narrower since the last tick.
	narrowed bool
	// drawn is the frame that is shown, and of what it was drawn.
	drawn string
	of    subject
	turn  int
}

// subject is all that a frame depends on.
type subject struct {
	width, height, events int
	second                time.Time
}

type tick struct{}

func next() tea.Cmd {
	return tea.Tick(time.Second/framesPerSecond, func(time.Time) tea.Msg { return tick{} })
}

// Init asks for the first frame.
func (m *model) Init() tea.Cmd { return next() }

// Update notes what has changed.
func (m *model) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	switch message := message.(type) {
	case tea.WindowSizeMsg:
		m.narrowed = m.narrowed || message.Width < m.width
		m.width, m.height = message.Width, message.Height
	case tick:
		text := m.live.takePendingOutput()
		if text == "" && m.narrowed {
			// What the terminal has wrapped may have moved the frame to its first
			// line, and tmux keeps what is cleared from there on, frame by frame.
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

// View draws a frame; none at the end.
func (m *model) View() tea.View {
	view := tea.NewView("")
	view.DisableBracketedPasteMode = true
	if m.width == 0 || m.live.isClosing() {
		return view
	}
	view.SetContent(m.frame(time.Now()))
	// Terminals that are made narrower wrap lines, by rules of their own, and keep the
	// cursor where its text goes. So it stays at the beginning of the frame: all below
	// it is the frame, whatever became of its lines.
	view.Cursor = tea.NewCursor(0, 0)
	view.Cursor.Shape, view.Cursor.Blink = tea.CursorUnderline, false
	return view
}

// frame draws a frame, or returns the one that is shown if it would be the same.
func (m *model) frame(now time.Time) string {
	m.live.catchUp()
	of := subject{m.width, m.height, m.live.recorder.Events(), now.Truncate(time.Second)}
	if of == m.of {
		return m.drawn
	}
	m.of = of
	m.turn++
	s := screen{theme: m.live.theme, width: m.width, height: m.height - 1, now: now, turn: m.turn}
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
