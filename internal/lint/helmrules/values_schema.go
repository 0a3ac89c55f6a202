// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package helmrules

import (
	"errors"
	"path"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint/support"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/valuesschema"
)

// isAboutSchema reports whether err is about a schema, which a rule of package lint reports.
func isAboutSchema(err error) bool {
	_, invalid := errors.AsType[*valuesschema.Error](err)
	_, conflict := errors.AsType[*valuesschema.ConflictError](err)
	return invalid || conflict
}

// withoutSchemas returns the files of a chart without those with a schema in YAML.
func withoutSchemas(files []*chartloader.BufferedFile) []*chartloader.BufferedFile {
	return slices.DeleteFunc(files, func(f *chartloader.BufferedFile) bool { return path.Base(f.Name) == valuesschema.YAMLFile })
}

// withoutJSONSchema returns the files of a chart without the schema of the root chart in JSON.
func withoutJSONSchema(files []*chartloader.BufferedFile) []*chartloader.BufferedFile {
	return slices.DeleteFunc(slices.Clone(files), func(f *chartloader.BufferedFile) bool { return f.Name == valuesschema.JSONFile })
}

// chartWithYAMLSchema returns the chart with the files canonical, or nil if neither the chart nor a
// subchart has a schema that was written as YAML.
func chartWithYAMLSchema(canonical []*chartloader.BufferedFile) *chart.Chart {
	if !slices.ContainsFunc(canonical, mayContainYAMLSchema) {
		return nil
	}
	ch, err := chartloader.LoadFiles(canonical)
	if err != nil || !valuesschema.Used(ch) {
		return nil
	}
	return ch
}

// mayContainYAMLSchema reports whether f is a schema that was written as YAML, or an archive with
// subcharts.
func mayContainYAMLSchema(f *chartloader.BufferedFile) bool {
	return path.Base(f.Name) == valuesschema.JSONFile && valuesschema.IsGenerated(f.Data) || path.Ext(f.Name) == ".tgz"
}

// checkValues validates the values of a chart. Helm's rules would name neither the place of a
// subchart nor the path of a value in the root chart.
func checkValues(ch *chart.Chart, o Options) []support.Message {
	if o.SkipSchemaValidation || chartutil.ProcessDependenciesWithMerge(ch, o.Values) != nil {
		return nil // Helm's rules report the error
	}
	values, err := chartutil.CoalesceValues(ch, o.Values)
	if err == nil {
		err = valuesschema.Validate(ch, values)
	}
	if err != nil {
		return []support.Message{support.NewMessage(support.ErrorSev, chartutil.ValuesfileName, err)}
	}
	return nil
}
