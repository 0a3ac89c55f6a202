// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"slices"
	"time"

	"github.com/ordered-helm/helm/internal/timeline"
)

// frameRenderer is the screen that a frame is drawn for.
type frameRenderer struct {
	theme
	width, height int
	now           time.Time
	// turn is the number of the frame.
	turn int
}

// rank is the priority of a line if there is no space for all lines. Lower ranks are more
// important.
type rank int

const (
	always rank = iota
	// running is for nodes and hooks that run or have failed, with their charts.
	running
	// why is for the first resources that these wait for.
	why
	// further is for further such resources, and logs.
	further
	// coming is for nodes that have not started.
	coming
	// over is for nodes and hooks that have finished.
	over
	ranks
)

// line is one line of a frame. It is rendered only if there is space for it. Its left part
// is cut off where the right part begins.
type line struct {
	rank        rank
	left, right func() string
	// more is the number of further lines that it stands for.
	more int
}

// frame draws the running operations, the outermost first, in at most as many lines as the
// frameRenderer has.
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

// fit removes the lines with the lowest priority, and adds the number of removed lines.
func (s frameRenderer) fit(lines []line) []string {
	height := max(s.height, 1)
	most := ranks
	if len(lines) > height {
		if height > 1 {
			height-- // for the number of removed lines
		}
		kept := 0
		for most = 0; most < ranks && kept <= height; most++ {
			for _, l := range lines {
				if l.rank == most {
					kept++
				}
			}
		}
		most-- // there is space for some lines of this rank
	}
	space := height
	for _, l := range lines {
		if l.rank < most {
			space--
		}
	}
	var texts []string
	cut := 0
	for _, l := range lines {
		switch {
		case l.rank < most:
			texts = append(texts, s.draw(l))
		case l.rank == most && space > 0:
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

// fixedText returns a function that returns a text.
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
	if text := newCounts(o).text(); text != "" {
		lines = append(lines, line{rank: always, left: fixedText("  " + text)})
	}
	return slices.Concat(lines, s.hooks(o), s.charts(o), s.waits(o))
}
