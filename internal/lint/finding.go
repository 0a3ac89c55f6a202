// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"slices"
)

// Finding is one thing that a rule has found.
type Finding struct {
	// Rule is the rule's name.
	Rule     string
	Severity Severity
	position
	// Message says what is wrong.
	Message string
	// Help says what to do about it.
	Help string
}

// position is a place in a file of a chart.
type position struct {
	// File is the file's path in the chart, with slashes.
	File string
	// Line and Column count from 1; 0 is not known.
	Line, Column int
}

// findings collects what is found.
type findings []Finding

// add notes what a rule has found.
func (f *findings) add(rule string, at position, message string) {
	r := ruleNamed(rule)
	f.addAs(rule, r.Severity, at, message)
}

// addAs is add with another severity than the rule's own.
func (f *findings) addAs(rule string, severity Severity, at position, message string) {
	*f = append(*f, Finding{Rule: rule, Severity: severity, position: at, Message: message, Help: ruleNamed(rule).Help})
}

// sorted gives the findings by place, each one once: a chart that is there under
// two aliases would have them twice.
func (f findings) sorted() []Finding {
	slices.SortStableFunc(f, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(f)
}
