// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"slices"
)

// Finding is one problem that a rule has found.
type Finding struct {
	// Rule is the name of the rule.
	Rule     string
	Severity Severity
	position
	// Message says what is wrong.
	Message string
	// Help says how to correct it.
	Help string
}

// position is a place in a file of a chart.
type position struct {
	// File is the path of the file in the chart, with slashes.
	File string
	// Line and Column count from 1. They are 0 if unknown.
	Line, Column int
}

// findings collects findings.
type findings []Finding

// add adds a finding of a rule.
func (f *findings) add(rule string, at position, message string) {
	r := ruleNamed(rule)
	f.addAs(rule, r.Severity, at, message)
}

// addAs is add with a severity that differs from that of the rule.
func (f *findings) addAs(rule string, severity Severity, at position, message string) {
	*f = append(*f, Finding{Rule: rule, Severity: severity, position: at, Message: message, Help: ruleNamed(rule).Help})
}

// sorted returns the findings sorted by position, without duplicates. A chart that is used
// with two aliases has each finding twice.
func (f findings) sorted() []Finding {
	slices.SortStableFunc(f, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(f)
}
