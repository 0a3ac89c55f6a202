// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import "slices"

// markCritical sets the field Critical of the spans on the critical path. It starts with the
// span that ended last, continues with the last span that it waited for, and so on.
func (o *Operation) markCritical() {
	type key struct {
		removed bool
		id      string
	}
	byNode := map[key]*Span{}
	for _, s := range o.Spans {
		if s.Kind == Deploy || s.Kind == External || s.Kind == Remove {
			byNode[key{s.Kind == Remove, s.ID}] = s
		}
	}
	for s := o.last(nil); s != nil && !s.Critical; {
		s.Critical = true
		if before := byNode[key{s.Kind == Remove, s.After}]; s.After != "" && before != nil && !before.Start.IsZero() {
			s = before
		} else {
			s = o.last(s)
		}
	}
}

// last returns the span that ended last before next started, or nil if none had ended. If next
// is nil, it returns the span that ended last of all. markCritical uses it for a span that
// started after hooks or after all nodes, because such a span has no dependency in After.
func (o *Operation) last(next *Span) *Span {
	var last *Span
	for _, s := range o.Spans {
		switch {
		case s == next || s.End.IsZero():
		case next != nil && s.End.After(next.Start):
		case last == nil || s.End.After(last.End):
			last = s
		}
	}
	return last
}

// CriticalPath returns the spans that determined how long the operation took, in the order in
// which they started. Each of them could start only after the one before it had ended.
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
