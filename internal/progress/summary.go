// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/ordered-helm/helm/internal/timeline"
)

// maxSummaryRows is the maximum number of nodes, hooks and handlers that a summary shows.
const maxSummaryRows = 20

// summary returns the lines that replace the view when the display is closed. For each
// operation, they say how long its nodes and hooks took, and which are on the critical path.
func summary(th theme, t *timeline.Timeline, width int) []string {
	var lines []string
	for _, o := range t.Operations {
		lines = append(lines, summaryOf(th, o, width)...)
	}
	return lines
}

func summaryOf(th theme, o *timeline.Operation, width int) []string {
	title := th.good(th.done) + " " + th.bold(o.Name+" "+o.Release)
	if o.Err != nil {
		title = th.bad(th.failed) + " " + th.bold(o.Name+" "+o.Release) + th.bad(" failed")
	}
	if text := nodeCounts(o); text != "" {
		title += th.faint("  " + text)
	}
	lines := []string{th.row(width, title, formatDuration(o.Took(o.End)))}
	began := slices.DeleteFunc(slices.Clone(o.Spans), func(s *timeline.Span) bool { return s.Start.IsZero() })
	shown := shownInSummary(began)
	if len(began) < 2 && o.Err == nil {
		return lines
	}
	for _, s := range shown {
		lines = append(lines, summaryRow(th, s, width))
	}
	if more := len(began) - len(shown); more > 0 {
		lines = append(lines, th.row(width, th.faint(fmt.Sprintf("    %s %d more, all shorter", th.ellipsis, more)), ""))
	}
	if len(shown) > 1 {
		lines = append(lines, th.row(width, th.faint("  * critical path"), ""))
	}
	return lines
}

// shownInSummary returns the nodes and hooks that a summary shows, in the order in which they
// started. If there are too many, it prefers those that failed or did not finish, then those
// on the critical path, then those that took longest. began contains all that were started.
func shownInSummary(began []*timeline.Span) []*timeline.Span {
	priority := func(s *timeline.Span) int {
		switch {
		case s.State == timeline.Failed || s.State == timeline.Unfinished:
			return 2
		case s.Critical:
			return 1
		}
		return 0
	}
	shown := slices.Clone(began)
	slices.SortStableFunc(shown, func(a, b *timeline.Span) int {
		if byPriority := priority(b) - priority(a); byPriority != 0 {
			return byPriority
		}
		return int(b.End.Sub(b.Start).Microseconds() - a.End.Sub(a.Start).Microseconds())
	})
	shown = shown[:min(len(shown), maxSummaryRows)]
	slices.SortStableFunc(shown, func(a, b *timeline.Span) int { return a.Start.Compare(b.Start) })
	return shown
}

func summaryRow(th theme, s *timeline.Span, width int) string {
	critical := " "
	if s.Critical {
		critical = th.bold("*")
	}
	took := formatDuration(s.Took(s.End))
	took = strings.Repeat(" ", max(6-ansi.StringWidth(took), 0)) + took
	name := oneLine(s.ID)
	switch s.Kind {
	case timeline.Hook:
		name = s.HookEvent + " hook " + name
	case timeline.Handler:
		name = s.HandlerEvent + " handler of " + name
	case timeline.Remove:
		if s.State == timeline.Done {
			name += th.faint(" deleted")
		}
	case timeline.Wait, timeline.Deploy, timeline.External, timeline.Definitions:
	}
	mark, trouble := th.good(th.done), ""
	switch s.State {
	case timeline.Failed:
		// The command prints the error after the summary.
		mark, trouble = th.bad(th.failed), th.bad(" failed")
	case timeline.Unfinished:
		mark, trouble = th.faint(th.waiting), th.faint(" did not finish")
		if s.Kind == timeline.Wait {
			mark, trouble = th.bad(th.failed), ""
		}
	case timeline.Done, timeline.Running, timeline.Waiting:
	}
	return th.row(width, fmt.Sprintf("  %s%s %s %s%s", critical, took, mark, name, trouble), "")
}
