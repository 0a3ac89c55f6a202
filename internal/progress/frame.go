// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"slices"
	"time"

	"github.com/ordered-helm/helm/internal/timeline"
)

// frameRenderer draws frames. A frame is the content of the view in mode TTY at one time.
type frameRenderer struct {
	theme
	width, height int
	now           time.Time
	// frameNumber is the number of this frame. It selects the character that the spinner
	// shows.
	frameNumber int
}

// lineRank says how important a line of a frame is. If a frame has more lines than the
// terminal, the lines with the highest ranks are omitted.
type lineRank int

const (
	// rankAlways is for the title and the totals of an operation.
	rankAlways lineRank = iota
	// rankRunning is for nodes and hooks that are running or have failed, and for the charts
	// of such nodes.
	rankRunning
	// rankReason is for why a running node is not ready, and for the error of a failed node or
	// hook.
	rankReason
	// rankDetail is for the resources that a running node waits for, if they are not the
	// reason themselves, and for hook logs.
	rankDetail
	// rankWaiting is for nodes that have not started.
	rankWaiting
	// rankFinished is for nodes and hooks that have finished.
	rankFinished
	rankCount
)

// line is one line of a frame.
type line struct {
	rank lineRank
	// left and right return the text at the left and right end of the line. They are called
	// only if the line is drawn. If both texts do not fit, the left one is cut off.
	left, right func() string
}

// frame returns the lines for all running operations, at most s.height. An operation that
// rolls back or uninstalls after a failure comes after the one that failed.
func (s frameRenderer) frame(t *timeline.Timeline) []string {
	var lines []line
	further := 0
	for i, o := range t.Operations {
		if !o.End.IsZero() {
			continue
		}
		lines = append(lines, s.titleLines(o)...)
		// If another operation follows, it rolls back or uninstalls o. The parts of o are then
		// omitted: a warning above the view says why o failed.
		if i == len(t.Operations)-1 {
			parts, more := s.parts(o)
			lines, further = append(lines, parts...), more
		}
	}
	return s.fit(lines, further)
}

// fit draws lines, at most s.height. If there are more, it omits those with the highest
// ranks, and adds a line that says how many were omitted. further is the number of lines that
// were not created, because there is certainly no space for them.
func (s frameRenderer) fit(lines []line, further int) []string {
	height := max(s.height, 1)
	limit := rankCount // all lines of lower ranks are kept, but only some of this rank
	if len(lines)+further > height {
		if height > 1 {
			height-- // for the line with the number of omitted lines
		}
		kept := 0
		for limit = 0; limit < rankCount && kept <= height; limit++ {
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
	omitted := further
	for _, l := range lines {
		switch {
		case l.rank < limit:
			texts = append(texts, s.draw(l))
		case l.rank == limit && space > 0:
			space--
			texts = append(texts, s.draw(l))
		default:
			omitted++
		}
	}
	if omitted > 0 && s.height > 1 {
		texts = append(texts, s.row(s.width, s.faint(fmt.Sprintf("%s %d more", s.ellipsis, omitted)), ""))
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

// fixedText returns a function that returns text, for the fields left and right of a line.
func fixedText(text string) func() string { return func() string { return text } }

// titleLines returns the lines that name an operation and count its nodes.
func (s frameRenderer) titleLines(o *timeline.Operation) []line {
	took := wholeSeconds(s.now.Sub(o.Start))
	if !o.Deadline.IsZero() && s.width >= 40 {
		took += " of " + wholeSeconds(o.Deadline.Sub(o.Start).Round(time.Second))
	}
	title := s.busy(s.spinner[s.frameNumber%len(s.spinner)]) + " " + s.bold(o.Name+" "+o.Release)
	if s.width >= 40 {
		title += s.faint(fmt.Sprintf("  revision %d, namespace %s", o.Revision, o.Namespace))
	}
	lines := []line{{rank: rankAlways, left: fixedText(title), right: fixedText(took)}}
	if text := nodeCounts(o); text != "" {
		lines = append(lines, line{rank: rankAlways, left: fixedText("  " + text)})
	}
	return lines
}

// parts returns the lines for the hooks and nodes of an operation, and for what it waits for.
// further is the number of lines that were not created.
func (s frameRenderer) parts(o *timeline.Operation) (lines []line, further int) {
	charts, further := s.charts(o)
	return slices.Concat(s.definitions(o), s.hooks(o), charts, s.waits(o), s.handlers(o)), further
}
