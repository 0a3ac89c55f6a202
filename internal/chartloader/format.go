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
	if !slices.ContainsFunc(files, declaresFormat) {
		return files, nil
	}
	t := newFormatTranslator(files)
	for i, f := range files {
		if !isChartFile(f.Name) {
			continue
		}
		folder := strings.TrimSuffix(f.Name, chartFile)
		original := t.content(folder + chartformat.OriginalChartFile)
		var err error
		switch {
		case chartformat.IsV3(f.Data):
			err = t.translate(folder, i)
		case chartformat.IsV3(original):
			err = t.checkFlat(folder, f.Data, original)
		}
		if err != nil {
			return nil, err
		}
	}
	return t.files, nil
}

// declaresFormat reports whether a file can be the Chart.yaml of a chart of the format
// helm.sh/v3, as it was written or as it is packed.
func declaresFormat(f *BufferedFile) bool {
	name := path.Base(f.Name)
	return (name == chartFile || name == chartformat.OriginalChartFile) && chartformat.IsV3(f.Data)
}

// formatTranslator translates the charts among files. index contains the indexes of the files
// by name.
type formatTranslator struct {
	files []*BufferedFile
	index map[string]int
}

func newFormatTranslator(files []*BufferedFile) *formatTranslator {
	t := &formatTranslator{files: slices.Clone(files), index: make(map[string]int, len(files))}
	for i, f := range files {
		t.index[f.Name] = i
	}
	return t
}

// content returns the content of a file, or nil if there is no such file.
func (t *formatTranslator) content(name string) []byte {
	if i, exists := t.index[name]; exists {
		return t.files[i].Data
	}
	return nil
}

// translate replaces the Chart.yaml of the chart in a folder, which has the given index, with a
// flat one. It adds the original, and renames requirements.yaml. folder is empty, or ends with a
// slash.
func (t *formatTranslator) translate(folder string, chartYAML int) error {
	for _, reserved := range []string{chartformat.OriginalChartFile, chartformat.OriginalRequirementsFile} {
		if _, exists := t.index[folder+reserved]; exists {
			return fmt.Errorf("%s%s: the name is reserved for packed charts: rename the file", folder, reserved)
		}
	}
	original := t.files[chartYAML]
	flat, err := chartformat.Translate(chartformat.Source{
		Folder: folder, ChartYAML: original.Data, Requirements: t.content(folder + chartformat.RequirementsFile),
	})
	if err != nil {
		return err
	}
	t.files[chartYAML] = &BufferedFile{Name: original.Name, Data: flat}
	if i, exists := t.index[folder+chartformat.RequirementsFile]; exists {
		t.files[i] = &BufferedFile{Name: folder + chartformat.OriginalRequirementsFile, Data: t.files[i].Data}
	}
	t.files = append(t.files, &BufferedFile{Name: folder + chartformat.OriginalChartFile, Data: original.Data})
	return nil
}

// checkFlat returns an error if the flat Chart.yaml of the packed chart in a folder is not the
// translation of the original.
func (t *formatTranslator) checkFlat(folder string, flat, original []byte) error {
	want, err := chartformat.Translate(chartformat.Source{
		Folder: folder, ChartYAML: original, Requirements: t.content(folder + chartformat.OriginalRequirementsFile),
	})
	if err != nil {
		return err
	}
	if !sameContent(want, flat) {
		return fmt.Errorf("%s%s does not agree with %s, from which it was made: package the chart again", folder, chartFile, chartformat.OriginalChartFile)
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
	content = rawFile(ch, name)
	return content, content != nil && chartformat.IsV3(rawFile(ch, chartformat.OriginalChartFile))
}

// rawFile returns the content of a file of ch, or nil if there is no such file.
func rawFile(ch *chart.Chart, name string) []byte {
	i := slices.IndexFunc(ch.Raw, func(f *chart.File) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return ch.Raw[i].Data
}

// AsWritten is the inverse of the translation for packages: it returns the files of an archive
// with the files of the format helm.sh/v3 that the authors of the charts in it wrote.
func AsWritten(files []*BufferedFile) []*BufferedFile {
	if !slices.ContainsFunc(files, declaresFormat) {
		return files
	}
	t := newFormatTranslator(files)
	written := make([]*BufferedFile, 0, len(files))
	for _, f := range files {
		folder, name := path.Split(f.Name)
		if !isChartFile(folder+chartFile) || !chartformat.IsV3(t.content(folder+chartformat.OriginalChartFile)) {
			written = append(written, f)
			continue
		}
		switch name {
		case chartFile: // the original takes its place
			continue
		case chartformat.OriginalChartFile:
			name = chartFile
		case chartformat.OriginalRequirementsFile:
			name = chartformat.RequirementsFile
		}
		written = append(written, &BufferedFile{Name: folder + name, Data: f.Data})
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
	if _, found := OriginalFile(ch, chartformat.OriginalChartFile); found {
		ch.Files = slices.DeleteFunc(slices.Clone(ch.Files), func(f *chart.File) bool {
			return f.Name == chartformat.OriginalChartFile || f.Name == chartformat.OriginalRequirementsFile
		})
	}
	for _, sub := range ch.Dependencies() {
		hideOriginals(sub)
	}
}
