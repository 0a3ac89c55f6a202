// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartloader

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/ordered-helm/helm/internal/chartformat"
	"github.com/ordered-helm/helm/internal/valuesschema"
)

// translateSchemas adds a values.schema.json to each chart among files that has only a
// values.schema.yaml. If a chart of the format helm.sh/v3 has both, they must agree; in other
// charts, the JSON takes precedence. It does not look into archives.
func translateSchemas(files []*BufferedFile) ([]*BufferedFile, error) {
	translated := files
	for _, f := range files {
		c, isSchema := schemaChart(f, files)
		if !isSchema {
			continue
		}
		source := c.schemaSource(f)
		if written := c.content(valuesschema.JSONFile); written != nil {
			if err := c.checkSchema(written, source); err != nil {
				return nil, err
			}
			continue
		}
		text, err := valuesschema.Translate(source)
		if err != nil {
			return nil, err
		}
		translated = append(slices.Clip(translated), &BufferedFile{Name: c.folder + valuesschema.JSONFile, Data: text})
	}
	return translated, nil
}

// schemaChart returns the chart whose values.schema.yaml is f. isSchema is false if f is
// another file.
func schemaChart(f *BufferedFile, files []*BufferedFile) (c formatChart, isSchema bool) {
	folder, isSchema := strings.CutSuffix(f.Name, valuesschema.YAMLFile)
	return formatChart{folder: folder, files: files}, isSchema && isChartFile(folder+chartFile)
}

// schemaSource returns what package valuesschema needs to translate the schema f of the chart.
func (c formatChart) schemaSource(f *BufferedFile) valuesschema.Source {
	return valuesschema.Source{Folder: c.folder, Text: f.Data, File: func(name string) ([]byte, bool) {
		i := c.find(name)
		if i < 0 {
			return nil, false
		}
		return c.files[i].Data, true
	}}
}

// checkSchema returns an error if the chart is of the format helm.sh/v3 and its two schemas
// differ.
func (c formatChart) checkSchema(written []byte, source valuesschema.Source) error {
	if c.find(chartformat.OriginalChartFile) < 0 {
		return nil
	}
	agrees, err := valuesschema.Agrees(written, source)
	if err == nil && !agrees {
		return &SchemaConflictError{File: c.folder + valuesschema.YAMLFile}
	}
	return err
}

// SchemaConflictError reports that the schemas of a chart of the format helm.sh/v3 differ.
type SchemaConflictError struct {
	// File is the path of the values.schema.yaml.
	File string
}

func (e *SchemaConflictError) Error() string {
	return fmt.Sprintf("%s differs from %s in the same directory: remove one of the files", e.File, valuesschema.JSONFile)
}

// isAddedSchema reports whether f is a values.schema.json that was added to a chart among files
// that has only a values.schema.yaml.
func isAddedSchema(f *BufferedFile, files []*BufferedFile) bool {
	if path.Base(f.Name) != valuesschema.JSONFile || !valuesschema.IsGenerated(f.Data) {
		return false
	}
	c := formatChart{folder: strings.TrimSuffix(f.Name, valuesschema.JSONFile), files: files}
	i := c.find(valuesschema.YAMLFile)
	return i >= 0 && isChartFile(c.folder+chartFile) && valuesschema.IsTranslation(f.Data, c.schemaSource(files[i]))
}

// HasAddedSchema reports whether the schema of ch was added because the chart has only a
// values.schema.yaml.
func HasAddedSchema(ch *chart.Chart) bool {
	if !valuesschema.IsGenerated(ch.Schema) {
		return false
	}
	files := []*BufferedFile{{Name: valuesschema.JSONFile, Data: ch.Schema}}
	for _, f := range ch.Raw {
		if f.Name != valuesschema.JSONFile {
			files = append(files, &BufferedFile{Name: f.Name, Data: f.Data})
		}
	}
	return isAddedSchema(files[0], files)
}
