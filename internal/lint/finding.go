// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint/support"

	"github.com/ordered-helm/helm/internal/lint/rule"
	"github.com/ordered-helm/helm/internal/lint/source"
)

// severities maps the numbers of severities in Helm's package support to their names.
var severities = [...]string{support.UnknownSev: "unknown", support.InfoSev: rule.Info, support.WarningSev: rule.Warning, support.ErrorSev: rule.Error}

// Finding describes one problem in a chart. "helm lint" writes it as JSON (docs/lint.md,
// "Machine-readable output").
type Finding struct {
	// Rule is the name of the rule that reports the problem (docs/lint.md). The names of
	// Helm's rules begin with "helm/".
	Rule string `json:"rule"`
	// Severity is "error", "warning" or "info".
	Severity string `json:"severity"`
	// File is the path of the file within the chart, with slashes. It is empty if the
	// finding is about the chart as a whole.
	File string `json:"file,omitempty"`
	// Line and Column start at 1. They are 0 if only the file is known.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
	// Message says what is wrong, and Help how to correct it. The message can contain a traceback, in
	// lines of its own. Findings of Helm's rules have
	// no Help.
	Message string `json:"message"`
	Help    string `json:"help,omitempty"`
}

// FromHelm converts a message of Helm's rules to a finding. Helm's messages do not name a
// rule, so the rule is named after the part of the chart that the message is about.
func FromHelm(m support.Message) Finding {
	f := Finding{Rule: "helm/dependencies", Severity: severities[m.Severity], Message: strings.TrimSpace(m.Err.Error())}
	switch {
	case m.Path == chartutil.ChartfileName:
		f.Rule, f.File = "helm/chartfile", m.Path
	case m.Path == chartutil.ValuesfileName:
		f.Rule, f.File = "helm/values", m.Path
	case m.Path == chartutil.TemplatesDir, strings.HasPrefix(m.Path, chartutil.TemplatesDir+"/"):
		f.Rule, f.File = "helm/templates", strings.TrimSuffix(m.Path, "/")
	case m.Path != "":
		f.File = chartutil.ChartfileName // m.Path is the path of the chart
	}
	return f
}

// ToHelm converts a finding to the type of the messages of Helm's rules. The name of the rule is at the end of the
// first line of the message.
func ToHelm(f Finding) support.Message {
	where := f.File
	if f.Line > 0 {
		where = fmt.Sprintf("%s:%d", where, f.Line)
	}
	message, details, hasDetails := strings.Cut(f.Message, "\n")
	text := fmt.Sprintf("%s (%s)", message, f.Rule)
	if hasDetails {
		text += "\n" + details
	}
	return support.NewMessage(slices.Index(severities[:], f.Severity), where, errors.New(text))
}

// findings collects the problems of a chart.
type findings []Finding

// add adds a finding of a rule, with the default severity of the rule.
func (f *findings) add(r rule.Rule, at source.Position, message string) {
	f.addAs(r, r.Severity, at, message)
}

// addAs adds a finding of a rule, with the given severity.
func (f *findings) addAs(r rule.Rule, severity string, at source.Position, message string) {
	*f = append(*f, Finding{
		Rule: r.Name, Severity: severity, File: at.File, Line: at.Line, Column: at.Column, Message: message, Help: r.Help,
	})
}

// sorted returns the findings sorted by position, without duplicates. A finding occurs twice
// if the same chart is a dependency under two aliases.
func (f findings) sorted() []Finding {
	slices.SortStableFunc(f, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(f)
}
