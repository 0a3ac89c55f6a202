// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package lintreport writes the findings of package lint and of Helm's rules as JSON or
// SARIF, for other programs (docs/lint.md, "Machine-readable output").
package lintreport

import (
	"encoding/json"
	"io"
)

type jsonReport struct {
	Charts []jsonChart `json:"charts"`
}

type jsonChart struct {
	Path     string    `json:"path"`
	Findings []Finding `json:"findings"`
	// Error says why the chart could not be checked.
	Error string `json:"error,omitempty"`
}

// JSON writes the findings about all charts as JSON.
func JSON(out io.Writer, charts []*Chart) error {
	report := jsonReport{Charts: make([]jsonChart, len(charts))}
	for i, c := range charts {
		report.Charts[i] = jsonChart{Path: c.Path, Findings: append([]Finding{}, c.Findings...)}
		if c.Err != nil {
			report.Charts[i].Error = c.Err.Error()
		}
	}
	return write(out, report)
}

func write(out io.Writer, report any) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(report)
}
