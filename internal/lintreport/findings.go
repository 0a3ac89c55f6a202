// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lintreport

import (
	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/lint/support"

	"github.com/ordered-helm/helm/internal/lint"
)

// Chart is a checked chart with its findings.
type Chart struct {
	// Path is the directory or archive of the chart, as the user specified it.
	Path string
	// Findings are those of Helm's rules, followed by the others, sorted by file and line.
	Findings []lint.Finding
	// Err says why the chart could not be checked. It is nil if it was checked.
	Err error

	messages []support.Message
}

// Add adds the finding f, and the same problem as a message of Helm for Result.
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
