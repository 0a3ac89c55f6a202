// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lintreport

import (
	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/lint/support"
)

// Chart is a chart with the findings about it.
type Chart struct {
	// Path is the chart's directory or archive, as the user gave it.
	Path string
	// Findings are the findings of Helm's rules, and then the others by file and line.
	Findings []Finding
	// Err is the reason why the chart could not be checked.
	Err error

	messages []support.Message
}

// Add adds a finding, and the corresponding message in Helm's result.
func (c *Chart) Add(f Finding, m support.Message) {
	c.Findings, c.messages = append(c.Findings, f), append(c.messages, m)
}

// Finding is one problem that a rule has found in a chart.
type Finding struct {
	// Rule is the name of the rule (docs/lint.md). The names of Helm's rules begin with
	// "helm/".
	Rule string `json:"rule"`
	// Severity is "error", "warning" or "info".
	Severity string `json:"severity"`
	// File is the path of the file in the chart, with slashes. It is empty if the finding
	// is about the chart as a whole.
	File string `json:"file,omitempty"`
	// Line and Column count from 1. They are 0 if the exact position is unknown.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Message says what is wrong, and Help how to correct it.
	Message string `json:"message"`
	Help    string `json:"help,omitempty"`
}

// Rule is a lint rule.
type Rule struct {
	// Name is the name of the rule in findings.
	Name string
	// Severity is "error", "warning" or "info". Some findings are less severe.
	Severity string
	// Summary says what the rule finds, and Help how to correct it.
	Summary, Help string
}

// DeleteFunc removes the findings for which del returns true.
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

// Result returns the findings as Helm's LintResult. If strict, warnings count as errors.
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
