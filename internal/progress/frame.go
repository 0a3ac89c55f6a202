// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"slices"
	"time"

	"github.com/ordered-helm/helm/internal/timeline"
)

// frameRenderer draws frames. A frame is one state of the view in mode TTY: the lines that
// are on the terminal at the same time.
type frameRenderer struct {
	theme
	width, height int
	now           time.Time
	// turn is the number of frames drawn before. It selects the picture of the animation.
	turn int
}

// rank decides which lines are omitted if a frame has more lines than the terminal. Lines
// with a lower rank are kept longer.
type rank int

const (
	always rank = iota
	// running is for nodes and hooks that are running or have failed, and for the charts of
	// such nodes.
	running
	// why is for the first resource that such a node waits for, or for the error.
	why
	// further is for the other resources that such a node waits for, and for hook logs.
	further
	// coming is for nodes that are still waiting.
	coming
	// over is for nodes and hooks that have finished.
	over
	ranks
)

// line is one line of a frame. left and right return the text at its left and right end.
// They are called only if the line is not omitted. If both do not fit, left is cut off.
type line struct {
	rank        rank
	left, right func() string
	// more is the number of additional lines that were not created at all, because there is
	// no space for them.
	more int
}

// frame returns the lines for all running operations, in at most s.height lines. An
// operation that undoes another one follows it.
func (s frameRenderer) frame(t *timeline.Timeline) []string {
	var lines []line
	for _, o := range t.Operations {
		if !o.End.IsZero() {
			continue
		}
		lines = append(lines, s.operation(o)...)
	}
	return s.fit(lines)
}

// fit returns the texts of the lines, at most s.height. If there are more lines, it omits
// those with the highest ranks, and adds a line with the number of omitted lines.
func (s frameRenderer) fit(lines []line) []string {
	height := max(s.height, 1)
	limit := ranks // of this rank, only some lines are kept; of lower ranks, all
	if len(lines) > height {
		if height > 1 {
			height-- // for the number of removed lines
		}
		kept := 0
		for limit = 0; limit < ranks && kept <= height; limit++ {
			for _, l := range lines {
				if l.rank == limit {
					kept++
				}
			}
		}
		limit--
	}
	space := height
	for _, l := range lines {
		if l.rank < limit {
			space--
		}
	}
	var texts []string
	cut := 0
	for _, l := range lines {
		switch {
		case l.rank < limit:
			texts = append(texts, s.draw(l))
		case l.rank == limit && space > 0:
			space--
			texts = append(texts, s.draw(l))
		default:
			cut += 1 + l.more
		}
	}
	if cut > 0 && s.height > 1 {
		texts = append(texts, s.row(s.width, s.faint(fmt.Sprintf("%s %d more", s.cut, cut)), ""))
	}
	return texts
}

func (s frameRenderer) draw(l line) string {
	right := ""
	if l.right != nil {
		right = l.right()
	}
	return s.row(s.width, l.left(), right)
}

// fixedText returns a function for the fields left and right of a line that returns text.
func fixedText(text string) func() string { return func() string { return text } }

func (s frameRenderer) operation(o *timeline.Operation) []line {
	took := wholeSeconds(s.now.Sub(o.Start))
	if !o.Deadline.IsZero() && s.width >= 40 {
		took += " of " + wholeSeconds(o.Deadline.Sub(o.Start).Round(time.Second))
	}
	title := s.busy(s.turning[s.turn%len(s.turning)]) + " " + s.bold(o.Name+" "+o.Release)
	if s.width >= 40 {
		title += s.faint(fmt.Sprintf("  revision %d, namespace %s", o.Revision, o.Namespace))
	}
	lines := []line{{rank: always, left: fixedText(title), right: fixedText(took)}}
	if text := nodeCounts(o); text != "" {
		lines = append(lines, line{rank: always, left: fixedText("  " + text)})
	}
	return slices.Concat(lines, s.hooks(o), s.charts(o), s.waits(o))
}
