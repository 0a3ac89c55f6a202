// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// theme contains the symbols of the view and the summary, and says whether they use
// colours.
type theme struct {
	done, failed, running, open, waiting, cut string
	// turning contains the pictures of the animation for a running operation.
	turning []string
	// colour says whether to use colours.
	colour bool
}

// newTheme returns the theme for a terminal. It contains only ASCII characters if unicode
// is false.
func newTheme(unicode, colour bool) theme {
	if unicode {
		return theme{
			done: "✓", failed: "✗", running: "▸", open: "▾", waiting: "·", cut: "…",
			turning: []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}, colour: colour,
		}
	}
	return theme{
		done: "+", failed: "x", running: ">", open: "v", waiting: "-", cut: "~",
		turning: []string{"|", "/", "-", `\`}, colour: colour,
	}
}

func (t theme) styled(s ansi.Style, text string) string {
	if !t.colour || text == "" {
		return text
	}
	return s.Styled(text)
}

func (t theme) bold(text string) string  { return t.styled(ansi.NewStyle().Bold(), text) }
func (t theme) faint(text string) string { return t.styled(ansi.NewStyle().Faint(), text) }
func (t theme) good(text string) string {
	return t.styled(ansi.NewStyle().ForegroundColor(ansi.Green), text)
}
func (t theme) bad(text string) string {
	return t.styled(ansi.NewStyle().ForegroundColor(ansi.Red), text)
}
func (t theme) busy(text string) string {
	return t.styled(ansi.NewStyle().ForegroundColor(ansi.Cyan), text)
}

// row returns a line of the given width that begins with left and ends with right. If there
// is not enough space, it cuts off the end of left. If right would take more than a third
// of the width, row omits it.
func (t theme) row(width int, left, right string) string {
	space := width - ansi.StringWidth(right) - 1
	if right == "" || space < 2*width/3 {
		return ansi.Truncate(left, width, t.cut)
	}
	left = ansi.Truncate(left, space, t.cut)
	return left + strings.Repeat(" ", width-ansi.StringWidth(left)-ansi.StringWidth(right)) + right
}

// formatDuration formats a duration for users: "0.4s", "12s", "3m05s".
func formatDuration(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Minute:
		return wholeSeconds(d)
	}
	return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
}

// wholeSeconds formats a duration without fractions of a second, because the view is
// redrawn only once a second if no event occurs.
func wholeSeconds(d time.Duration) string {
	if d = max(d, 0); d < time.Minute {
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	return formatDuration(d)
}
