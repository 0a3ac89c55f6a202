// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/lint"
	"github.com/ordered-helm/helm/internal/lintreport"
)

// LintResult is Helm's LintResult.
type LintResult = helmaction.LintResult

// Lint finds problems in charts. It has the fields of Helm's Lint, with the same meaning
// (docs/lint.md).
type Lint struct {
	Strict               bool
	Namespace            string
	WithSubcharts        bool
	Quiet                bool
	SkipSchemaValidation bool
	KubeVersion          *chartutil.KubeVersion
	// Quietly, if set, is called with a function that renders a chart for the second time,
	// after Helm's rules have rendered it. Quietly must call that function. During the call
	// it can discard what Helm's packages write to the standard logger, because they wrote
	// the same messages the first time.
	Quietly func(render func())
}

// NewLint returns a Lint with Helm's defaults.
func NewLint() *Lint { return new(Lint) }

// HasWarningsOrErrors is Helm's HasWarningsOrErrors.
func HasWarningsOrErrors(result *LintResult) bool { return helmaction.HasWarningsOrErrors(result) }

// Run checks the charts at the paths, which are directories or archives. For each chart, it
// returns first the messages of Helm's rules, then those of the rules for order, readiness
// and hooks. Charts of apiVersion v3 and charts whose annotations are lists are also
// accepted.
func (l *Lint) Run(paths []string, vals map[string]any) *LintResult {
	result := new(LintResult)
	for _, path := range paths {
		chart := l.Check(path, vals)
		if chart.Err != nil {
			result.Errors = append(result.Errors, chart.Err)
			continue
		}
		one := chart.Result(l.Strict)
		result.TotalChartsLinted++
		result.Messages = append(result.Messages, one.Messages...)
		result.Errors = append(result.Errors, one.Errors...)
	}
	return result
}

type (
	// LintedChart contains the findings for one chart, or the error that prevented checking
	// it.
	LintedChart = lintreport.Chart
	// LintFinding is one problem that a rule found in a chart.
	LintFinding = lint.Finding
	// LintRule describes a rule that Helm does not have.
	LintRule = lint.Rule
)

// LintRules describes the rules that Helm does not have, sorted by name.
func LintRules() []LintRule { return lint.Rules() }

// Check checks one chart, which is a directory or an archive. It is like Run, but returns
// separate findings with their rule, file and line.
func (l *Lint) Check(path string, vals map[string]any) *LintedChart {
	c := &LintedChart{Path: path}
	report, err := lint.CheckChart(path, lint.Options{
		Values:               vals,
		Namespace:            l.Namespace,
		KubeVersion:          l.KubeVersion,
		SkipSchemaValidation: l.SkipSchemaValidation,
		Quietly:              l.Quietly,
	})
	if err != nil {
		c.Err = err
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
