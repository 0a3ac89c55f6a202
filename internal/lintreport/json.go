// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package lintreport writes the findings of package lint and of Helm's rules as JSON or
// SARIF, for other programs (docs/lint.md, "Machine-readable output").
package lintreport

import (
	"io"

	"github.com/ordered-helm/helm/internal/lint"
	"github.com/ordered-helm/helm/internal/text"
)

type jsonReport struct {
	Charts []jsonChart `json:"charts"`
}

type jsonChart struct {
	Path     string         `json:"path"`
	Findings []lint.Finding `json:"findings"`
	// Error says why the chart could not be checked.
	Error string `json:"error,omitempty"`
}

// JSON writes the findings about charts as a JSON object (docs/lint.md, "Machine-readable
// output").
func JSON(out io.Writer, charts []*Chart) error {
	report := jsonReport{Charts: make([]jsonChart, len(charts))}
	for i, c := range charts {
		report.Charts[i] = jsonChart{Path: c.Path, Findings: append([]lint.Finding{}, c.Findings...)}
		if c.Err != nil {
			report.Charts[i].Error = c.Err.Error()
		}
	}
	return text.WriteJSON(out, report)
}
