// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartloader

import (
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/chartformat"
)

// translateFormat converts the charts of the format helm.sh/v3 among files to the form in which
// they are packed: a flat Chart.yaml, and beside it the files that the author wrote. Charts that
// are packed already must have the flat Chart.yaml that belongs to these files. It does not look
// into archives.
func translateFormat(files []*BufferedFile) ([]*BufferedFile, error) {
	translated := files
	for i, f := range files {
		if !isChartFile(f.Name) {
			continue
		}
		c := formatChart{folder: strings.TrimSuffix(f.Name, chartFile), files: files}
		original := c.find(chartformat.OriginalChartFile)
		switch {
		case chartformat.Uses(f.Data):
			if slices.Equal(translated, files) {
				translated = slices.Clone(files)
			}
			more, err := c.translate(translated, i)
			if err != nil {
				return nil, err
			}
			translated = append(translated, more...)
		case original >= 0:
			if err := c.checkFlat(f.Data, files[original].Data); err != nil {
				return nil, err
			}
		}
	}
	return translated, nil
}

// formatChart is a chart of the format helm.sh/v3 among files.
type formatChart struct {
	// folder is the path of the chart: empty, or with a slash at the end.
	folder string
	files  []*BufferedFile
}

// find returns the index of a file of the chart, or -1.
func (c formatChart) find(name string) int {
	return slices.IndexFunc(c.files, func(f *BufferedFile) bool { return f.Name == c.folder+name })
}

// content returns the content of a file of the chart, or nil if there is no such file.
func (c formatChart) content(name string) []byte {
	if i := c.find(name); i >= 0 {
		return c.files[i].Data
	}
	return nil
}

// translate replaces Chart.yaml, which has the given index in files, with a flat one. It renames
// requirements.yaml, and returns the file with the original Chart.yaml.
func (c formatChart) translate(files []*BufferedFile, chartYAML int) ([]*BufferedFile, error) {
	for _, reserved := range []string{chartformat.OriginalChartFile, chartformat.OriginalRequirementsFile} {
		if c.find(reserved) >= 0 {
			return nil, fmt.Errorf("%s%s: the name is reserved for packed charts: rename the file", c.folder, reserved)
		}
	}
	original := files[chartYAML].Data
	source := chartformat.Source{Folder: c.folder, ChartYAML: original, Requirements: c.content(chartformat.RequirementsFile)}
	metadata, err := chartformat.Translate(source)
	if err != nil {
		return nil, err
	}
	files[chartYAML] = &BufferedFile{Name: files[chartYAML].Name, Data: metadata.Flat}
	if i := c.find(chartformat.RequirementsFile); i >= 0 {
		files[i] = &BufferedFile{Name: c.folder + chartformat.OriginalRequirementsFile, Data: files[i].Data}
	}
	return []*BufferedFile{{Name: c.folder + chartformat.OriginalChartFile, Data: original}}, nil
}

// checkFlat returns an error if the flat Chart.yaml of a packed chart is not the translation of
// the original.
func (c formatChart) checkFlat(flat, original []byte) error {
	metadata, err := chartformat.Translate(chartformat.Source{
		Folder: c.folder, ChartYAML: original, Requirements: c.content(chartformat.OriginalRequirementsFile),
	})
	if err != nil {
		return err
	}
	if !sameContent(metadata.Flat, flat) {
		return fmt.Errorf("%s%s does not agree with %s, from which it was made: package the chart again",
			c.folder, chartFile, chartformat.OriginalChartFile)
	}
	return nil
}

// sameContent reports whether two YAML documents have the same content.
func sameContent(a, b []byte) bool {
	var contentA, contentB any
	return yaml.Unmarshal(a, &contentA) == nil && yaml.Unmarshal(b, &contentB) == nil && reflect.DeepEqual(contentA, contentB)
}

// OriginalFile returns the content of a file of the format helm.sh/v3 as the author of ch wrote
// it. name is chartformat.OriginalChartFile or OriginalRequirementsFile. found is false if ch is
// not of this format, or has no such file.
func OriginalFile(ch *chart.Chart, name string) (content []byte, found bool) {
	i := slices.IndexFunc(ch.Raw, func(f *chart.File) bool { return f.Name == name })
	if i < 0 {
		return nil, false
	}
	return ch.Raw[i].Data, true
}

// AsWritten is the inverse of the translation for packages: it returns the files of an archive
// with the files of the format helm.sh/v3 that the authors of the charts in it wrote, and without
// the schemas that were added.
func AsWritten(files []*BufferedFile) []*BufferedFile {
	written := make([]*BufferedFile, 0, len(files))
	for _, f := range files {
		folder, name := path.Split(f.Name)
		c := formatChart{folder: folder, files: files}
		switch {
		case isAddedSchema(f, files):
			// values.schema.yaml is what the author wrote
		case name == chartFile && c.find(chartformat.OriginalChartFile) >= 0 && isChartFile(f.Name):
			// the original takes its place
		case name == chartformat.OriginalChartFile && isChartFile(folder+chartFile):
			written = append(written, &BufferedFile{Name: folder + chartFile, Data: f.Data})
		case name == chartformat.OriginalRequirementsFile && isChartFile(folder+chartFile):
			written = append(written, &BufferedFile{Name: folder + chartformat.RequirementsFile, Data: f.Data})
		default:
			written = append(written, f)
		}
	}
	return written
}

// isChartFile reports whether name is the path of the Chart.yaml of a chart or subchart.
func isChartFile(name string) bool {
	own, _ := splitSubchartPath(name)
	return own == chartFile
}

// hideOriginals removes the files of the format helm.sh/v3 from the files of ch and its
// subcharts that templates can read. They remain in Raw.
func hideOriginals(ch *chart.Chart) {
	if ch == nil {
		return
	}
	isOriginal := func(f *chart.File) bool {
		return f.Name == chartformat.OriginalChartFile || f.Name == chartformat.OriginalRequirementsFile
	}
	if slices.ContainsFunc(ch.Files, isOriginal) {
		ch.Files = slices.DeleteFunc(slices.Clone(ch.Files), isOriginal)
	}
	for _, sub := range ch.Dependencies() {
		hideOriginals(sub)
	}
}
