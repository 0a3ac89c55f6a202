// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import "slices"

// markCritical sets Critical in the spans on the critical path. It begins with the span
// that ended last, continues with the last span that this one waited for, and so on.
func (o *Operation) markCritical() {
	byNode := map[spanKey]*Span{}
	for _, s := range o.Spans {
		byNode[spanKey{kind: s.Kind, id: s.ID, event: s.HookEvent}] = s
	}
	for s := o.last(nil); s != nil && !s.Critical; {
		s.Critical = true
		if before := byNode[spanKey{kind: s.Kind, id: s.After}]; s.After != "" && before != nil && !before.Start.IsZero() {
			s = before
		} else {
			s = o.last(s)
		}
	}
}

// last returns the span that ended last before until started, or nil if no span had ended.
// If until is nil, it returns the span that ended last of all. It is used for spans that
// did not wait for a single node: they started after a hook or after all nodes.
func (o *Operation) last(until *Span) *Span {
	var last *Span
	for _, s := range o.Spans {
		switch {
		case s == until || s.End.IsZero():
		case until != nil && s.End.After(until.Start):
		case last == nil || s.End.After(last.End):
			last = s
		}
	}
	return last
}

// CriticalPath returns the spans on the critical path, in the order in which they started.
// Each of them could start only after the one before it had ended.
func (o *Operation) CriticalPath() []*Span {
	var path []*Span
	for _, s := range o.Spans {
		if s.Critical {
			path = append(path, s)
		}
	}
	slices.SortStableFunc(path, func(a, b *Span) int { return a.Start.Compare(b.Start) })
	return path
}
