// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartloader

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/chartformat"
	"github.com/ordered-helm/helm/internal/library"
	"github.com/ordered-helm/helm/internal/valuesschema"
)

// translateFormat converts the charts of the format helm.sh/v3 among files to the form in which
// they are packed: a flat Chart.yaml, and beside it the files that the author wrote. Charts that
// are packed already must have the flat Chart.yaml that belongs to these files. It does not look
// into archives.
//
// If another version of Helm has packed such a chart again, it has dropped fields that it does not know
// from the flat Chart.yaml. With restore, they are restored.
func translateFormat(files []*BufferedFile, restore bool) ([]*BufferedFile, error) {
	if !slices.ContainsFunc(files, declaresFormat) {
		return files, nil
	}
	s := newFileSet(files)
	for i, f := range files {
		if !isChartFile(f.Name) {
			continue
		}
		folder := strings.TrimSuffix(f.Name, chartFile)
		original, _ := s.content(folder + chartformat.OriginalChartFile)
		err := s.checkUnique(folder)
		switch {
		case err != nil:
		case chartformat.IsV3(f.Data):
			err = s.translate(folder, i)
		case chartformat.IsV3(original):
			err = s.checkFlat(folder, i, original, restore)
		}
		if err != nil {
			return nil, err
		}
	}
	return s.files, nil
}

// checkAPIVersions returns an error if charts among files are written in the format helm.sh/v3, but
// with another apiVersion. It does not look into archives.
func checkAPIVersions(files []*BufferedFile) error {
	var problems []error
	for _, f := range files {
		if folder, _ := path.Split(f.Name); isChartFile(f.Name) {
			problems = append(problems, chartformat.CheckAPIVersion(chartformat.Source{Folder: folder, ChartYAML: f.Data}))
		}
	}
	return errors.Join(problems...)
}

// declaresFormat reports whether a file can be the Chart.yaml of a chart of the format
// helm.sh/v3, as it was written or as it is packed.
func declaresFormat(f *BufferedFile) bool {
	name := path.Base(f.Name)
	return (name == chartFile || name == chartformat.OriginalChartFile) && chartformat.IsV3(f.Data)
}

// checkUnique returns an error if an archive contains one of the files with the metadata of the chart
// in a folder more than once. Otherwise the file that is checked could be another than the one that
// is used.
func (s *fileSet) checkUnique(folder string) error {
	if len(s.duplicates) == 0 {
		return nil
	}
	for _, name := range []string{chartFile, chartformat.OriginalChartFile, chartformat.RequirementsFile, chartformat.OriginalRequirementsFile} {
		if s.duplicates[folder+name] {
			return fmt.Errorf("the archive contains %s%s more than once: package the chart again", folder, name)
		}
	}
	return nil
}

// translate replaces the Chart.yaml of the chart in a folder, which has the given index, with a
// flat one. It adds the original, and renames requirements.yaml. folder is empty, or ends with a
// slash.
func (s *fileSet) translate(folder string, chartYAML int) error {
	for _, reserved := range []string{chartformat.OriginalChartFile, chartformat.OriginalRequirementsFile} {
		if _, exists := s.index[folder+reserved]; exists {
			return fmt.Errorf("%s%s: the name is reserved for packed charts: rename the file", folder, reserved)
		}
	}
	original := s.files[chartYAML]
	requirements, _ := s.content(folder + chartformat.RequirementsFile)
	flat, err := chartformat.Translate(chartformat.Source{Folder: folder, ChartYAML: original.Data, Requirements: requirements, Scripts: s.hasScripts(folder)})
	if err != nil {
		return err
	}
	s.files[chartYAML] = &BufferedFile{Name: original.Name, Data: flat}
	if i, exists := s.index[folder+chartformat.RequirementsFile]; exists {
		s.files[i] = &BufferedFile{Name: folder + chartformat.OriginalRequirementsFile, Data: s.files[i].Data}
	}
	s.files = append(s.files, &BufferedFile{Name: folder + chartformat.OriginalChartFile, Data: original.Data})
	return nil
}

// checkFlat returns an error if the metadata that Helm reads from the packed chart in a folder is not
// the translation of the original. flat is the index of the flat Chart.yaml. For restore, see
// translateFormat.
func (s *fileSet) checkFlat(folder string, flat int, original []byte, restore bool) error {
	if _, exists := s.index[folder+chartformat.RequirementsFile]; exists {
		return fmt.Errorf("%s%s is not part of the packed chart, in which it is named %s: package the chart again", folder, chartformat.RequirementsFile, chartformat.OriginalRequirementsFile)
	}
	requirements, _ := s.content(folder + chartformat.OriginalRequirementsFile)
	want, err := chartformat.Translate(chartformat.Source{Folder: folder, ChartYAML: original, Requirements: requirements, Scripts: s.hasScripts(folder), Packed: true})
	if err != nil {
		return err
	}
	found := s.files[flat]
	if sameContent(want, found.Data) {
		return nil
	}
	if !sameContent(asHelmWrites(want), found.Data) {
		return fmt.Errorf("%s%s does not agree with %s, from which it was made: package the chart again", folder, chartFile, chartformat.OriginalChartFile)
	}
	if restore {
		s.files[flat] = &BufferedFile{Name: found.Name, Data: want}
	}
	return nil
}

// asHelmWrites returns a Chart.yaml as Helm writes it when it packs a chart: without the fields that Helm
// does not know, and with spaces instead of line breaks. It returns nil if Helm cannot read the file.
func asHelmWrites(chartYAML []byte) []byte {
	var metadata chart.Metadata
	if yaml.Unmarshal(chartYAML, &metadata) != nil || metadata.Validate() != nil { // Validate replaces the line breaks
		return nil
	}
	written, err := yaml.Marshal(&metadata)
	if err != nil {
		return nil
	}
	return written
}

// sameContent reports whether two YAML documents have the same content.
func sameContent(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
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
// with the files of the format helm.sh/v3 that the authors of the charts in it wrote, and without
// the schemas and the copies of libraries that were added.
func AsWritten(files []*BufferedFile) []*BufferedFile {
	s := newFileSet(files)
	copies := s.libraryCopies()
	written := make([]*BufferedFile, 0, len(files))
	for _, f := range files {
		if isBelow(f.Name, copies) {
			continue
		}
		if name, keep := s.nameAsWritten(f); keep {
			written = append(written, &BufferedFile{Name: name, Data: f.Data})
		}
	}
	return written
}

// nameAsWritten returns the name that a file of an archive had before the chart was packed. keep is
// false if packing has added the file.
func (s *fileSet) nameAsWritten(f *BufferedFile) (name string, keep bool) {
	folder, base := path.Split(f.Name)
	if !isChartFile(folder + chartFile) {
		return f.Name, true
	}
	if base == valuesschema.JSONFile {
		return f.Name, !s.isAddedSchema(f)
	}
	if original, _ := s.content(folder + chartformat.OriginalChartFile); !chartformat.IsV3(original) {
		return f.Name, true
	}
	switch base {
	case chartFile: // the original takes its place
		return "", false
	case chartformat.OriginalChartFile:
		return folder + chartFile, true
	case chartformat.OriginalRequirementsFile:
		return folder + chartformat.RequirementsFile, true
	}
	return f.Name, true
}

// libraryCopies returns the directories with copies of libraries that packing has added.
func (s *fileSet) libraryCopies() map[string]bool {
	copies := map[string]bool{}
	for _, f := range s.files {
		dir := path.Dir(f.Name)
		if path.Base(f.Name) != chartFile || dir == "." || !isChartFile(f.Name) {
			continue
		}
		parent := strings.TrimSuffix(path.Dir(dir), "charts")
		var metadata chart.Metadata
		if original, _ := s.content(parent + chartformat.OriginalChartFile); chartformat.IsV3(original) {
			copies[dir] = yaml.Unmarshal(f.Data, &metadata) == nil && library.IsCopy(&metadata)
		}
	}
	return copies
}

// isBelow reports whether a file is in one of the directories, or in a directory below.
func isBelow(name string, dirs map[string]bool) bool {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if dirs[dir] {
			return true
		}
	}
	return false
}

// isChartFile reports whether name is the path of the Chart.yaml of a chart or subchart.
func isChartFile(name string) bool {
	own, _ := splitSubchartPath(name)
	return own == chartFile
}

// hideOriginals removes the files of the format helm.sh/v3, and libraries, from the files of ch and
// its subcharts that templates can read. They remain in Raw.
func hideOriginals(ch *chart.Chart) {
	if ch == nil {
		return
	}
	if _, found := OriginalFile(ch, chartformat.OriginalChartFile); found {
		ch.Files = slices.DeleteFunc(slices.Clone(ch.Files), func(f *chart.File) bool {
			return f.Name == chartformat.OriginalChartFile || f.Name == chartformat.OriginalRequirementsFile || strings.HasPrefix(f.Name, library.Directory)
		})
	}
	for _, sub := range ch.Dependencies() {
		hideOriginals(sub)
	}
}
