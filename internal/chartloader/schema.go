// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartloader

import (
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
	if !slices.ContainsFunc(files, isYAMLSchema) {
		return files, nil
	}
	s := newFileSet(files)
	for _, f := range files {
		if !isYAMLSchema(f) {
			continue
		}
		source := s.schemaSource(f)
		if written, found := s.content(source.Folder + valuesschema.JSONFile); found {
			if err := s.checkSchema(written, source); err != nil {
				return nil, err
			}
			continue
		}
		text, err := valuesschema.Translate(source)
		if err != nil {
			return nil, err
		}
		s.files = append(s.files, &BufferedFile{Name: source.Folder + valuesschema.JSONFile, Data: text})
	}
	return s.files, nil
}

// isYAMLSchema reports whether f is the values.schema.yaml of a chart or subchart.
func isYAMLSchema(f *BufferedFile) bool {
	folder, isSchema := strings.CutSuffix(f.Name, valuesschema.YAMLFile)
	return isSchema && isChartFile(folder+chartFile)
}

// schemaSource returns what package valuesschema needs to translate the values.schema.yaml f.
func (s *fileSet) schemaSource(f *BufferedFile) valuesschema.Source {
	folder := strings.TrimSuffix(f.Name, valuesschema.YAMLFile)
	return valuesschema.Source{Folder: folder, Text: f.Data, File: func(name string) ([]byte, bool) { return s.content(folder + name) }}
}

// checkSchema returns an error if a chart is of the format helm.sh/v3 and its two schemas
// differ.
func (s *fileSet) checkSchema(written []byte, source valuesschema.Source) error {
	if _, isV3 := s.content(source.Folder + chartformat.OriginalChartFile); !isV3 {
		return nil
	}
	return valuesschema.Compare(written, source)
}

// isAddedSchema reports whether the values.schema.json f of a chart was added because the chart has
// only a values.schema.yaml.
func (s *fileSet) isAddedSchema(f *BufferedFile) bool {
	if !valuesschema.IsGenerated(f.Data) {
		return false
	}
	i, found := s.index[strings.TrimSuffix(f.Name, valuesschema.JSONFile)+valuesschema.YAMLFile]
	return found && valuesschema.IsTranslation(f.Data, s.schemaSource(s.files[i]))
}

// HasAddedSchema reports whether the schema of ch was added because the chart has only a
// values.schema.yaml.
func HasAddedSchema(ch *chart.Chart) bool {
	if !valuesschema.IsGenerated(ch.Schema) {
		return false
	}
	return rawFiles(ch).isAddedSchema(&BufferedFile{Name: valuesschema.JSONFile, Data: ch.Schema})
}
