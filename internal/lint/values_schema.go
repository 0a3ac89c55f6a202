// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"errors"
	"slices"

	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/chartformat"
	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/lint/rule"
	"github.com/ordered-helm/helm/internal/lint/source"
	"github.com/ordered-helm/helm/internal/valuesschema"
)

// checkSchema adds findings about the values.schema.yaml of a chart. They are only warnings if
// the chart also has a values.schema.json that takes precedence.
func (f *findings) checkSchema(c *source.Files) {
	content := func(name string) ([]byte, bool) {
		i := slices.IndexFunc(c.Own, func(file *chartloader.BufferedFile) bool { return file.Name == name })
		if i < 0 {
			return nil, false
		}
		return c.Own[i].Data, true
	}
	text, found := content(valuesschema.YAMLFile)
	if !found {
		return
	}
	schema := valuesschema.Source{Folder: c.Prefix, Text: text, File: content}
	written, hasBoth := content(valuesschema.JSONFile)
	severity := rule.Error
	if hasBoth && !usesFormat(content) {
		severity = rule.Warning
	}
	var err error
	if !hasBoth {
		_, err = valuesschema.Translate(schema)
	} else {
		err = valuesschema.Compare(written, schema)
	}
	if e, ok := errors.AsType[*valuesschema.ConflictError](err); ok {
		f.addAs(rule.ConflictingSchemas, severity, source.Position{File: e.File, Line: e.Line, Column: e.Column}, "it "+e.Difference())
	}
	for _, problem := range flatten(err) {
		if e, ok := errors.AsType[*valuesschema.Error](problem); ok {
			broken := rule.InvalidSchema
			if e.LeavesChart {
				broken = rule.SchemaReference
			}
			f.addAs(broken, severity, source.Position{File: e.File, Line: e.Line, Column: e.Column}, e.Problem)
		}
	}
}

// usesFormat reports whether a chart is of the format helm.sh/v3. content returns its files.
func usesFormat(content func(name string) ([]byte, bool)) bool {
	original, _ := content(chartformat.OriginalChartFile)
	chartYAML, _ := content(chartutil.ChartfileName)
	return chartformat.IsV3(original) || chartformat.IsV3(chartYAML)
}
