// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderfile

import (
	"slices"
	"strings"
)

const (
	// ownChart is the path of the chart that a file belongs to.
	ownChart = "."
	// anySegments is the segment of a path that stands for any number of segments.
	anySegments = "**"
)

// chartPattern matches the paths of charts.
type chartPattern struct {
	// segments are the segments of the path. There are none in the path of the own chart.
	segments []string
	// wildcard reports whether the path contains *.
	wildcard bool
}

// parseChartPattern parses the path of a chart, which is not empty. problem is empty if it is
// valid.
func parseChartPattern(text string) (p chartPattern, problem string) {
	if text == ownChart {
		return chartPattern{}, ""
	}
	if strings.HasPrefix(text, "/") {
		return chartPattern{}, "must not begin with /: paths are relative to the chart that the file belongs to, which is ."
	}
	p = chartPattern{segments: strings.Split(text, "/"), wildcard: strings.Contains(text, "*")}
	for _, s := range p.segments {
		switch {
		case s == "..":
			return chartPattern{}, "must not contain ..: an order file applies to its own chart and the charts below it; " +
				"move the rule to the order file of the chart above it"
		case s == "" || s == ".":
			return chartPattern{}, "must consist of names of charts that are separated by /, without empty names and ."
		case strings.Contains(s, anySegments) && s != anySegments:
			return chartPattern{}, "must not contain ** beside other characters: ** stands for any number of names, and * for any part of one name"
		}
	}
	return p, ""
}

// matches reports whether the pattern matches a path with these segments.
func (p chartPattern) matches(segments []string) bool {
	return matchSegments(p.segments, segments)
}

// matchesAbove reports whether the beginning of the pattern, up to a segment that is not **, matches
// a path with these segments. The pattern is then about this chart, or about a chart below it.
func (p chartPattern) matchesAbove(segments []string) bool {
	for i := len(p.segments); i > 0; i-- {
		if p.segments[i-1] != anySegments && matchSegments(p.segments[:i], segments) {
			return true
		}
	}
	return false
}

// matchSegments reports whether a pattern matches a path.
//
// If the rest of the pattern does not match, the last ** takes one segment more. Earlier ones need
// not take more, because the last one can take the same segments. So the time is at most
// proportional to the product of the lengths.
func matchSegments(pattern, path []string) bool {
	i, j, retry, retryAt := 0, 0, -1, 0
	for j < len(path) {
		switch {
		case i < len(pattern) && pattern[i] == anySegments:
			retry, retryAt = i+1, j
			i++
		case i < len(pattern) && matchName(pattern[i], path[j]):
			i++
			j++
		case retry >= 0:
			retryAt++
			i, j = retry, retryAt
		default:
			return false
		}
	}
	return !slices.ContainsFunc(pattern[i:], func(s string) bool { return s != anySegments })
}

// matchName reports whether a pattern, in which * stands for any text, matches a name.
func matchName(pattern, name string) bool { return ParseNamePattern(pattern).Matches(name) }

// NamePattern is a parsed pattern of names, in which * stands for any text: the texts before, between
// and after each *.
type NamePattern []string

// ParseNamePattern parses a pattern of names. Every text is one.
func ParseNamePattern(pattern string) NamePattern { return strings.Split(pattern, "*") }

// Matches reports whether the pattern matches a name. Each text between two * is found at the first
// possible place, which leaves the most for the others.
func (p NamePattern) Matches(name string) bool {
	first, last := p[0], p[len(p)-1]
	if len(p) == 1 {
		return name == first
	}
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	rest := name[len(first) : len(name)-len(last)]
	for _, text := range p[1 : len(p)-1] {
		at := strings.Index(rest, text)
		if at < 0 {
			return false
		}
		rest = rest[at+len(text):]
	}
	return true
}
