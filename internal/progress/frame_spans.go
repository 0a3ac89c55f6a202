// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/kind"
	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/internal/timeline"
)

// definitions returns the lines for the CustomResourceDefinitions that an operation applies.
func (s frameRenderer) definitions(o *timeline.Operation) []line {
	var lines []line
	for _, d := range o.Spans {
		if d.Kind != timeline.Definitions {
			continue
		}
		rank, title := rankRunning, fmt.Sprintf("  %s %s", s.mark(d), text.Count(d.Size, strings.TrimSuffix(d.ID, "s")))
		if d.State == timeline.Done {
			rank = rankFinished
		}
		lines = append(lines, line{rank: rank, left: fixedText(title), right: s.took(d)})
		if d.State == timeline.Failed {
			lines = append(lines, s.wrapped("      ", d.Err.Error(), rankReason, s.bad)...)
		}
	}
	return lines
}

// hooks returns the lines for the hooks of an operation. All finished hooks of one hook event
// share a line, and each other hook has its own.
func (s frameRenderer) hooks(o *timeline.Operation) []line {
	var lines []line
	var events []string
	done, began, ended := map[string]int{}, map[string]time.Time{}, map[string]time.Time{}
	for _, h := range o.Spans {
		if h.Kind != timeline.Hook {
			continue
		}
		if !slices.Contains(events, h.HookEvent) {
			events = append(events, h.HookEvent)
			began[h.HookEvent] = h.Start
		}
		if h.State == timeline.Done {
			done[h.HookEvent]++
			ended[h.HookEvent] = h.End
		}
	}
	for _, event := range events {
		if n := done[event]; n > 0 {
			text := fmt.Sprintf("  %s %s hooks %s", s.good(s.done), event, s.faint(fmt.Sprintf("%d done", n)))
			lines = append(lines, line{rank: rankFinished, left: fixedText(text), right: fixedText(s.faint(formatDuration(ended[event].Sub(began[event]))))})
		}
		for _, h := range o.Spans {
			if h.Kind == timeline.Hook && h.HookEvent == event && h.State != timeline.Done {
				lines = append(lines, s.hook(h)...)
			}
		}
	}
	return lines
}

// handlers returns the lines for the handlers of an operation that take or took long.
func (s frameRenderer) handlers(o *timeline.Operation) []line {
	var lines []line
	for _, h := range o.Spans {
		if h.Kind != timeline.Handler {
			continue
		}
		rank := rankRunning
		if h.State == timeline.Done {
			rank = rankFinished
		}
		title := func() string {
			return fmt.Sprintf("  %s %s %s", s.mark(h), oneLine(h.ID), s.faint(h.HandlerEvent+" handler"))
		}
		lines = append(lines, line{rank: rank, left: title, right: s.took(h)})
		if h.State == timeline.Failed {
			lines = append(lines, s.wrapped("      ", h.Message, rankReason, s.bad)...)
		}
	}
	return lines
}

func (s frameRenderer) hook(h *timeline.Span) []line {
	title := func() string {
		text := fmt.Sprintf("  %s %s %s", s.mark(h), oneLine(h.ID), s.faint(h.HookEvent+" hook"))
		if h.State == timeline.Running && !h.Deadline.IsZero() && s.width >= 60 {
			text += s.faint(", " + wholeSeconds(h.Deadline.Sub(s.now)) + " left")
		}
		return text
	}
	lines := []line{{rank: rankRunning, left: title, right: s.took(h)}}
	switch {
	case h.State == timeline.Failed:
		lines = append(lines, s.wrapped("      ", h.Message, rankReason, s.bad)...)
	case h.Log != "":
		lines = append(lines, line{rank: rankDetail, left: func() string { return "      " + s.faint(oneLine(h.Log)) }})
	}
	return lines
}

// node returns the lines for a node that is running or has failed, and for the resources that
// it waits for.
func (s frameRenderer) node(n *timeline.Span, indent string) []line {
	title := func() string {
		doing := ""
		if n.State == timeline.Running && n.Applied.IsZero() {
			doing = map[timeline.SpanKind]string{timeline.Deploy: "applying ", timeline.Remove: "deleting "}[n.Kind]
		}
		return fmt.Sprintf("%s%s %s%s", indent, s.mark(n), s.faint(doing), label(n))
	}
	lines := []line{{rank: rankRunning, left: title, right: s.took(n)}}
	if n.State == timeline.Failed && !namesUnready(n) {
		lines = append(lines, s.wrapped(indent+"    ", n.Message, rankReason, s.bad)...)
	}
	return append(lines, s.resources(n, indent+"    ")...)
}

// namesUnready reports whether the message of a failed node is about one of the resources that
// are shown below the node, with the reason. The message then need not be shown.
func namesUnready(n *timeline.Span) bool {
	return slices.ContainsFunc(n.Resources, func(res *timeline.Resource) bool {
		return !res.IsReadyOrDeleted() && strings.HasPrefix(n.Message, res.Name+" ")
	})
}

// wrapped returns the lines for text, which is shown on at most maxRows rows: the first one with
// the given rank, and the others as details. style styles each row.
func (s frameRenderer) wrapped(indent, text string, rank lineRank, style func(string) string) []line {
	rows := strings.Split(ansi.Wrap(oneLine(text), max(s.width-len(indent), 1), ""), "\n")
	if len(rows) > maxRows { // the last row is cut off when it is drawn
		rows = append(rows[:maxRows-1], strings.Join(rows[maxRows-1:], " "))
	}
	lines := make([]line, len(rows))
	for i, row := range rows {
		lines[i] = line{rank: rank, left: func() string { return indent + style(row) }}
		rank = max(rank, rankDetail)
	}
	return lines
}

// resources returns the lines for the resources of n that are not ready or not deleted yet,
// with the reasons. If there are too many, those with known causes come first, then workloads.
func (s frameRenderer) resources(n *timeline.Span, indent string) []line {
	var lines []line
	var open []*timeline.Resource
	for _, res := range n.Resources {
		if !res.IsReadyOrDeleted() {
			open = append(open, res)
		}
	}
	more := len(open) - maxReasons
	if more > 0 {
		slices.SortStableFunc(open, func(a, b *timeline.Resource) int { return importance(b) - importance(a) })
		open = open[:maxReasons]
	}
	rank := rankReason
	for _, res := range open {
		lines = append(lines, s.resource(n, res, indent, rank)...)
		rank = rankDetail
	}
	if more > 0 {
		lines = append(lines, line{rank: rankDetail, left: func() string { return indent + s.faint(fmt.Sprintf("%s %d more resources", s.ellipsis, more)) }})
	}
	return lines
}

// importance says which unready resources are shown if there are too many: those with the
// highest values.
func importance(res *timeline.Resource) int {
	resourceKind, _, _ := strings.Cut(res.Name, "/")
	switch {
	case len(res.Causes) > 0:
		return 2
	case kind.IsWorkload(resourceKind):
		return 1
	}
	return 0
}

// resource returns the lines for an unready resource of n, and for the causes. The rank is that
// of the reason: of the first cause or, if no cause is known, of the resource itself.
func (s frameRenderer) resource(n *timeline.Span, res *timeline.Resource, indent string, rank lineRank) []line {
	title := line{rank: rank, left: func() string { return indent + s.reason(res) }, right: func() string {
		if res.Deadline.IsZero() || n.State != timeline.Running {
			return ""
		}
		return s.faint(wholeSeconds(res.Deadline.Sub(s.now)) + " left")
	}}
	if len(res.Causes) == 0 {
		return []line{title}
	}
	title.rank = rankDetail
	lines := []line{title}
	for _, cause := range res.Causes[:min(len(res.Causes), maxCauses)] {
		lines = append(lines, s.cause(cause, indent+"  ", rank)...)
		rank = rankDetail
	}
	return lines
}

// cause returns the lines for a cause: first the reason, which has the given rank, and then the
// object, in the same row if both fit.
func (s frameRenderer) cause(cause failure.Cause, indent string, rank lineRank) []line {
	unstyled := func(row string) string { return row }
	reason, location := oneLine(cause.Explanation()), oneLine(cause.Location())
	if both := reason + " - " + location; ansi.StringWidth(indent+both) <= s.width {
		return s.wrapped(indent, both, rank, unstyled)
	}
	lines := s.wrapped(indent, reason, rank, unstyled)
	return append(lines, line{rank: max(rank, rankDetail), left: func() string { return indent + s.faint(location) }})
}

// reason returns the name of a resource and why it is not ready.
func (s frameRenderer) reason(res *timeline.Resource) string {
	text := oneLine(res.Name)
	if res.Namespace != "" {
		text += s.faint(" in " + oneLine(res.Namespace))
	}
	reason := res.MessageWithoutState()
	if reason == "" {
		reason = res.State
	}
	return text + " " + s.faint(oneLine(reason))
}

// waits returns the lines for the part of an operation that waits for all resources of the
// release at the same time, as with --wait.
func (s frameRenderer) waits(o *timeline.Operation) []line {
	var lines []line
	for _, w := range o.Spans {
		if w.Kind != timeline.Wait || w.State != timeline.Running {
			continue
		}
		finished := 0
		for _, res := range w.Resources {
			if res.IsReadyOrDeleted() {
				finished++
			}
		}
		as := "ready"
		if o.Name == "uninstall" {
			as = "deleted"
		}
		title := fmt.Sprintf("  %s %d of %s %s", s.mark(w), finished, text.Count(w.Size, "resource"), as)
		lines = append(lines, line{rank: rankRunning, left: fixedText(title), right: s.took(w)})
		lines = append(lines, s.resources(w, "      ")...)
	}
	return lines
}

// mark returns the symbol for the state of a node or hook.
func (s frameRenderer) mark(n *timeline.Span) string {
	switch n.State {
	case timeline.Done:
		return s.good(s.done)
	case timeline.Failed:
		return s.bad(s.failed)
	case timeline.Waiting:
		return s.faint(s.waiting)
	}
	return s.busy(s.running)
}

// took returns a function for the field right of a line, which returns how long n took, or
// how long it has been running, in whole seconds.
func (s frameRenderer) took(n *timeline.Span) func() string {
	return func() string {
		if n.State == timeline.Running {
			return s.faint(wholeSeconds(s.now.Sub(n.Start)))
		}
		return s.faint(formatDuration(n.Took(s.now)))
	}
}
