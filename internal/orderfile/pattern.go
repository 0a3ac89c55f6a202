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

// matchName reports whether a pattern, in which * stands for any text, matches a name. It works as
// matchSegments does.
func matchName(pattern, name string) bool {
	i, j, retry, retryAt := 0, 0, -1, 0
	for j < len(name) {
		switch {
		case i < len(pattern) && pattern[i] == '*':
			retry, retryAt = i+1, j
			i++
		case i < len(pattern) && pattern[i] == name[j]:
			i++
			j++
		case retry >= 0:
			retryAt++
			i, j = retry, retryAt
		default:
			return false
		}
	}
	return strings.Trim(pattern[i:], "*") == ""
}
