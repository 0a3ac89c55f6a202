// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"slices"
)

// Finding is one problem in a chart, with the place and the rule that reports it.
type Finding struct {
	// Rule is the name of the rule.
	Rule     string
	Severity Severity
	position
	// Message says what is wrong.
	Message string
	// Help says how to correct the problem.
	Help string
}

// position is a place in a file of a chart, for the user.
type position struct {
	// File is the path of the file in the chart, with slashes.
	File string
	// Line and Column start at 1. They are 0 if only the file is known.
	Line, Column int
}

// findings collects the problems of a chart.
type findings []Finding

// add adds a finding with the default severity of the rule.
func (f *findings) add(rule string, at position, message string) {
	r := ruleNamed(rule)
	f.addAs(rule, r.Severity, at, message)
}

// addAs adds a finding with another severity than the default of the rule.
func (f *findings) addAs(rule string, severity Severity, at position, message string) {
	*f = append(*f, Finding{Rule: rule, Severity: severity, position: at, Message: message, Help: ruleNamed(rule).Help})
}

// sorted returns the findings sorted by position, without duplicates. They occur if a chart
// is used with two aliases.
func (f findings) sorted() []Finding {
	slices.SortStableFunc(f, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(f)
}
