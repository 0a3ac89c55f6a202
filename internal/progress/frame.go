// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"slices"
	"time"

	"github.com/ordered-helm/helm/internal/timeline"
)

// screen is what a frame is drawn for.
type screen struct {
	theme
	width, height int
	now           time.Time
	// turn counts the frames.
	turn int
}

// rank says how much a line is worth where there is no space for all.
type rank int

const (
	always rank = iota
	// running are nodes and hooks that run or have failed, with their charts.
	running
	// why is what the first resources of them wait for.
	why
	// further is more of that, and logs.
	further
	// coming is what has not begun.
	coming
	// over is what has ended.
	over
	ranks
)

// line is one line of a frame. It is only drawn where there is space for it: its left
// part is cut off where the right one begins.
type line struct {
	rank        rank
	left, right func() string
	// more is how many lines it stands for beside itself.
	more int
}

// frame draws the operations that go on, the outermost first, in as many lines as
// there is height for.
func (s screen) frame(t *timeline.Timeline) []string {
	var lines []line
	for _, o := range t.Operations {
		if !o.End.IsZero() {
			continue
		}
		lines = append(lines, s.operation(o)...)
	}
	return s.fit(lines)
}

// fit leaves out the lines that are worth least, and says how many.
func (s screen) fit(lines []line) []string {
	height := max(s.height, 1)
	most := ranks
	if len(lines) > height {
		if height > 1 {
			height-- // for saying so
		}
		kept := 0
		for most = 0; most < ranks && kept <= height; most++ {
			for _, l := range lines {
				if l.rank == most {
					kept++
				}
			}
		}
		most-- // of this one there is space for some
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

func (s screen) draw(l line) string {
	right := ""
	if l.right != nil {
		right = l.right()
	}
	return s.row(s.width, l.left(), right)
}

// fixedText is a text that is there already.
func fixedText(text string) func() string { return func() string { return text } }

func (s screen) operation(o *timeline.Operation) []line {
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
