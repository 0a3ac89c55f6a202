// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// theme contains the symbols of the view and the summary, and says whether to use colors.
type theme struct {
	// These symbols mark nodes, hooks and charts. open is for a chart whose nodes are shown.
	done, failed, running, open, waiting string
	// ellipsis marks text that is cut off, and lines that are omitted.
	ellipsis string
	// spinner contains the characters that a running operation shows in succession.
	spinner []string
	color   bool
}

// newTheme returns the theme for a terminal. It contains only ASCII characters if unicode
// is false.
func newTheme(unicode, color bool) theme {
	if unicode {
		return theme{
			done: "✓", failed: "✗", running: "▸", open: "▾", waiting: "·", ellipsis: "…",
			spinner: []string{"⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"}, color: color,
		}
	}
	return theme{
		done: "+", failed: "x", running: ">", open: "v", waiting: "-", ellipsis: "~",
		spinner: []string{"|", "/", "-", `\`}, color: color,
	}
}

func (t theme) styled(s ansi.Style, text string) string {
	if !t.color || text == "" {
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

// row returns a line of the given width that begins with left and ends with right. If both do
// not fit, it cuts off the end of left. It omits right if right needs more than a third of
// the width.
func (t theme) row(width int, left, right string) string {
	space := width - ansi.StringWidth(right) - 1
	if right == "" || space < 2*width/3 {
		return ansi.Truncate(left, width, t.ellipsis)
	}
	left = ansi.Truncate(left, space, t.ellipsis)
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

// wholeSeconds formats a duration without fractions of a second, because the view may be
// redrawn only once per second.
func wholeSeconds(d time.Duration) string {
	if d = max(d, 0); d < time.Minute {
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	return formatDuration(d)
}
