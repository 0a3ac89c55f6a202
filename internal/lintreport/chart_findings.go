// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lintreport

import (
	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/lint/support"

	"github.com/ordered-helm/helm/internal/lint"
)

// Chart contains the findings about one chart.
type Chart struct {
	// Path is the directory or archive of the chart, as the user specified it.
	Path string
	// Findings contains the findings of Helm's rules in Helm's order, followed by those of
	// package lint, sorted by file and line.
	Findings []lint.Finding
	// Err says why the chart could not be checked. It is nil if the chart was checked.
	Err error

	// messages contains each finding in the form of Helm's messages, in the same order.
	messages []support.Message
}

// New returns the findings in a report about the chart at path, or the error that prevented checking it.
func New(path string, report *lint.Report, err error) *Chart {
	c := &Chart{Path: path, Err: err}
	if err != nil {
		return c
	}
	for _, m := range report.Helm {
		c.Add(lint.FromHelm(m), m)
	}
	for _, f := range report.Findings {
		c.Add(f, lint.ToHelm(f))
	}
	return c
}

// Add adds the finding f. m is the same finding as a message of Helm, which Result returns.
func (c *Chart) Add(f lint.Finding, m support.Message) {
	c.Findings, c.messages = append(c.Findings, f), append(c.messages, m)
}

// DeleteFunc removes each finding for which del returns true.
func (c *Chart) DeleteFunc(del func(lint.Finding) bool) {
	var messages []support.Message
	var findings []lint.Finding
	for i, f := range c.Findings {
		if !del(f) {
			messages, findings = append(messages, c.messages[i]), append(findings, f)
		}
	}
	c.messages, c.Findings = messages, findings
}

// Result converts the findings to Helm's type LintResult. If strict is true, warnings count
// as errors.
func (c *Chart) Result(strict bool) *helmaction.LintResult {
	if c.Err != nil {
		return &helmaction.LintResult{Errors: []error{c.Err}}
	}
	minSeverity := support.ErrorSev
	if strict {
		minSeverity = support.WarningSev
	}
	result := &helmaction.LintResult{TotalChartsLinted: 1, Messages: c.messages}
	for _, m := range c.messages {
		if m.Severity >= minSeverity {
			result.Errors = append(result.Errors, m.Err)
		}
	}
	return result
}
