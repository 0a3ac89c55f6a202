// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"

	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/chartformat"
	"github.com/ordered-helm/helm/internal/lint/rule"
	"github.com/ordered-helm/helm/internal/lint/source"
)

// checkFormat adds findings about the metadata of a chart of the format helm.sh/v3, as it was
// written or as it is packed.
func (f *findings) checkFormat(c *source.Files) {
	s := chartformat.Source{Folder: c.Prefix, ChartYAML: c.Data(chartutil.ChartfileName), Requirements: c.Data(chartformat.RequirementsFile)}
	if original := c.Data(chartformat.OriginalChartFile); chartformat.IsV3(original) && !chartformat.IsV3(s.ChartYAML) {
		s.ChartYAML, s.Requirements, s.Packed = original, c.Data(chartformat.OriginalRequirementsFile), true
	}
	rules := map[chartformat.ProblemKind]rule.Rule{
		chartformat.Invalid: rule.InvalidChartField, chartformat.Removed: rule.RemovedChartField, chartformat.NotCanonical: rule.NonCanonicalChart,
	}
	for _, p := range chartformat.Inspect(s) {
		message := p.Problem
		if p.Field != "" {
			message = p.Field + ": " + message
		}
		f.add(rules[p.Kind], source.Position{File: p.File, Line: p.Line, Column: p.Column}, message)
	}
}

// isAboutFormat reports whether err is about the metadata of a chart of the format helm.sh/v3,
// which checkFormat reports.
func isAboutFormat(err error) bool {
	_, found := errors.AsType[*chartformat.FieldError](err)
	return found
}
