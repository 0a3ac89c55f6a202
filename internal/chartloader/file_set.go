// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartloader

import (
	"slices"
	"strings"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/ordered-helm/helm/internal/chartformat"
)

// fileSet is a list of files in which files are found by name.
type fileSet struct {
	files []*BufferedFile
	index map[string]int // by name
	// duplicates contains the names of several files. Only archives have such files.
	duplicates map[string]bool
	// scripts contains the folders of the charts that have scripts, each with a slash at the end
	// unless it is empty.
	scripts map[string]bool
}

// newFileSet returns a set with its own copy of the list of files.
func newFileSet(files []*BufferedFile) *fileSet {
	s := &fileSet{files: slices.Clone(files), index: make(map[string]int, len(files))}
	for i, f := range files {
		if _, exists := s.index[f.Name]; exists {
			if s.duplicates == nil {
				s.duplicates = map[string]bool{}
			}
			s.duplicates[f.Name] = true
		}
		s.index[f.Name] = i
		if folder, name, found := cutLast(f.Name, chartformat.ScriptsDirectory); found && chartformat.IsScript(chartformat.ScriptsDirectory+name) {
			if s.scripts == nil {
				s.scripts = map[string]bool{}
			}
			s.scripts[folder] = true
		}
	}
	return s
}

// cutLast slices s around the last occurrence of sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", "", false
}

// hasScripts reports whether the chart in a folder has scripts.
func (s *fileSet) hasScripts(folder string) bool { return s.scripts[folder] }

// rawFiles returns the files from which ch was loaded.
func rawFiles(ch *chart.Chart) *fileSet {
	files := make([]*BufferedFile, len(ch.Raw))
	for i, f := range ch.Raw {
		files[i] = &BufferedFile{Name: f.Name, Data: f.Data}
	}
	return newFileSet(files)
}

// content returns the content of a file. found is false if there is no such file.
func (s *fileSet) content(name string) (content []byte, found bool) {
	i, found := s.index[name]
	if !found {
		return nil, false
	}
	return s.files[i].Data, true
}
