// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/lint"
	"github.com/ordered-helm/helm/internal/lint/rule"
	"github.com/ordered-helm/helm/internal/lintreport"
)

// LintResult contains what Lint.Run found: messages, each with a severity, and errors. It
// is Helm's type.
type LintResult = helmaction.LintResult

// Lint finds problems in charts. It has the fields of Helm's Lint, with the same meaning
// (docs/lint.md).
type Lint struct {
	// Strict makes Run return an error for each warning, too.
	Strict bool
	// Namespace is the release namespace with which templates are rendered.
	Namespace string
	// WithSubcharts and Quiet are for the caller. Lint does not use them.
	WithSubcharts, Quiet bool
	// SkipSchemaValidation skips the validation of values against values.schema.json.
	SkipSchemaValidation bool
	// KubeVersion is the Kubernetes version for which templates are rendered. If it is nil,
	// Helm's default version is used.
	KubeVersion *chartutil.KubeVersion
	// OrderFile is an order file that applies in addition to those of the charts, and before them; nil if there
	// is none.
	OrderFile *OrderFile
	// Quietly, if not nil, is called when Lint renders a chart for the second time, for the
	// rules that Helm does not have; Helm's rules have rendered it before. Quietly must
	// call render. Meanwhile, it can discard what Helm's packages write to the standard
	// logger, because they have already written the same messages.
	Quietly func(render func())
	// Lifecycle contains handlers of the events of rendering; nil if there are none
	// (docs/reference.md, "Lifecycle events").
	Lifecycle *lifecycle.Emitter
	// ScriptOptions say which permissions scripts get. If a chart asks for more, no scripts run,
	// which is a finding.
	ScriptOptions
}

// NewLint returns a Lint with Helm's defaults.
func NewLint() *Lint { return new(Lint) }

// HasWarningsOrErrors reports whether result contains an error, or a message with the
// severity of a warning or higher. It is Helm's function.
func HasWarningsOrErrors(result *LintResult) bool { return helmaction.HasWarningsOrErrors(result) }

// Run checks the charts at paths, which are directories or archives, with the values vals.
// The result contains, for each chart, the messages of Helm's rules, followed by those of
// the rules for order, readiness and hooks. A chart that cannot be read adds an error to
// the result. Charts of apiVersion v3 and charts whose annotations are lists are accepted.
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
	// LintRule describes one of the rules for order, readiness and hooks, which Helm does
	// not have.
	LintRule = rule.Rule
)

// LintRules returns the rules that Helm does not have, sorted by name.
func LintRules() []LintRule { return rule.All() }

// Check is like CheckWithContext with a context that is never canceled.
func (l *Lint) Check(path string, vals map[string]any) *LintedChart {
	return l.CheckWithContext(context.Background(), path, vals) //nolint:forbidigo // as in Run, whose signature is Helm's
}

// CheckWithContext checks one chart, which is a directory or an archive, with the values vals. Unlike
// Run, it returns each finding with its rule, file and line. When ctx is done, the scripts of the chart end.
func (l *Lint) CheckWithContext(ctx context.Context, path string, vals map[string]any) *LintedChart {
	report, err := lint.CheckChart(ctx, path, lint.RenderOptions{
		Values:               vals,
		Namespace:            l.Namespace,
		KubeVersion:          l.KubeVersion,
		SkipSchemaValidation: l.SkipSchemaValidation,
		OrderFile:            l.OrderFile,
		Quietly:              l.Quietly,
		Handlers:             l.checkHandlers(l.Lifecycle),
	})
	return lintreport.New(path, report, err)
}
