// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import "slices"

// markCritical marks the spans that decided how long the operation took: the one that
// ended last, what that had waited for last, and so on to the first.
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

// last is the span that ended last, of those that had ended when another began; nil
// if none had. What begins without having waited for a node begins after a hook, or
// after all nodes.
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

// CriticalPath lists the spans that decided how long the operation took, the first
// one first.
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
