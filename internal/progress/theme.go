// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"
)

// theme is the appearance of the view.
type theme struct {
	done, failed, running, open, waiting, cut string
	// turning are the frames of an animation.
	turning []string
	// colour is whether to use colours.
	colour bool
}

// newTheme returns the theme for the features of a terminal.
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

// row combines a text on the left and one on the right to a line with a width. It cuts off
// the left text if there is not enough space. It omits a right text that would take too
// much space.
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

// wholeSeconds formats a duration that changes all the time, in whole seconds.
func wholeSeconds(d time.Duration) string {
	if d = max(d, 0); d < time.Minute {
		return fmt.Sprintf("%ds", int(d.Seconds()))
	}
	return formatDuration(d)
}
