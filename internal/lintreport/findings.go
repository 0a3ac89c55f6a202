// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lintreport

import (
	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/lint/support"
)

// Chart is a checked chart with its findings.
type Chart struct {
	// Path is the directory or archive of the chart, as the user specified it.
	Path string
	// Findings are those of Helm's rules, followed by the others, sorted by file and line.
	Findings []Finding
	// Err says why the chart could not be checked. It is nil if it was checked.
	Err error

	messages []support.Message
}

// Add adds the finding f, and the same problem as a message of Helm for Result.
func (c *Chart) Add(f Finding, m support.Message) {
	c.Findings, c.messages = append(c.Findings, f), append(c.messages, m)
}

// Finding is one problem in a chart, in the form of the JSON output.
type Finding struct {
	// Rule is the name of the rule that reports it (docs/lint.md). The names of Helm's
	// rules begin with "helm/".
	Rule string `json:"rule"`
	// Severity is "error", "warning" or "info".
	Severity string `json:"severity"`
	// File is the path of the file within the chart, with slashes. It is empty if the
	// finding is about the chart as a whole.
	File string `json:"file,omitempty"`
	// Line and Column start at 1. They are 0 if only the file is known.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Message says what is wrong, and Help how to correct it.
	Message string `json:"message"`
	Help    string `json:"help,omitempty"`
}

// Rule describes a lint rule for the SARIF output.
type Rule struct {
	// Name is the name of the rule, as in Finding.Rule.
	Name string
	// Severity is "error", "warning" or "info". A finding can be less severe.
	Severity string
	// Summary says what the rule reports, and Help how to correct it.
	Summary, Help string
}

// DeleteFunc removes each finding for which del returns true.
func (c *Chart) DeleteFunc(del func(Finding) bool) {
	var messages []support.Message
	var findings []Finding
	for i, f := range c.Findings {
		if !del(f) {
			messages, findings = append(messages, c.messages[i]), append(findings, f)
		}
	}
	c.messages, c.Findings = messages, findings
}

// Result converts the findings to Helm's LintResult. If strict is set, warnings count as
// errors.
func (c *Chart) Result(strict bool) *helmaction.LintResult {
	if c.Err != nil {
		return &helmaction.LintResult{Errors: []error{c.Err}}
	}
	lowest := support.ErrorSev
	if strict {
		lowest = support.WarningSev
	}
	result := &helmaction.LintResult{TotalChartsLinted: 1, Messages: c.messages}
	for _, m := range c.messages {
		if m.Severity >= lowest {
			result.Errors = append(result.Errors, m.Err)
		}
	}
	return result
}
