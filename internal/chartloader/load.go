// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package chartloader loads charts like Helm's chart loader, and accepts all forms of the
// fields and annotations that Ordered Helm adds to Chart.yaml (docs/reference.md,
// "Chart.yaml"). It returns charts of Helm's type.
package chartloader

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	helmloader "helm.sh/helm/v3/pkg/chart/loader"
)

type (
	// BufferedFile is Helm's BufferedFile.
	BufferedFile = helmloader.BufferedFile
	// ChartLoader is Helm's ChartLoader.
	ChartLoader = helmloader.ChartLoader
	// DirLoader loads a chart from a directory.
	DirLoader string
	// FileLoader loads a chart from an archive.
	FileLoader string
)

// Load loads the chart from the directory.
func (l DirLoader) Load() (*chart.Chart, error) { return LoadDir(string(l)) }

// Load loads the chart from the archive.
func (l FileLoader) Load() (*chart.Chart, error) { return LoadFile(string(l)) }

// Loader returns the loader for a path: a directory or an archive.
func Loader(name string) (ChartLoader, error) {
	fi, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if fi.IsDir() {
		return DirLoader(name), nil
	}
	return FileLoader(name), nil
}

// Load loads a chart from a directory, respecting its .helmignore, or from an archive.
func Load(name string) (*chart.Chart, error) {
	l, err := Loader(name)
	if err != nil {
		return nil, err
	}
	return l.Load()
}

// LoadArchive loads a chart from a gzipped tar archive.
func LoadArchive(in io.Reader) (*chart.Chart, error) {
	files, err := LoadArchiveFiles(in)
	if err != nil {
		return nil, err
	}
	return LoadFiles(files)
}

// LoadArchiveFiles reads the files of an archive into memory. It checks paths and sizes
// as Helm does, and the number of files. It returns a *LimitError for an archive with too
// many files.
func LoadArchiveFiles(in io.Reader) ([]*BufferedFile, error) {
	packed, err := io.ReadAll(in)
	if err != nil {
		return nil, err
	}
	if err := checkArchive(packed); err != nil {
		return nil, err
	}
	return helmloader.LoadArchiveFiles(bytes.NewReader(packed))
}

// LoadFile loads a chart from an archive file.
func LoadFile(name string) (*chart.Chart, error) {
	raw, err := os.ReadFile(name)
	if err == nil {
		var files []*BufferedFile
		if files, err = LoadArchiveFiles(bytes.NewReader(raw)); err == nil {
			return LoadFiles(files)
		}
	}
	if isLimitError(err) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	// Helm's loader returns the error of stock Helm for a file that is not an archive.
	return helmloader.LoadFile(name)
}

// LoadFiles loads a chart from files in memory, including subcharts in charts/.
func LoadFiles(files []*BufferedFile) (*chart.Chart, error) {
	canonical, err := CanonicalFiles(files)
	if err != nil {
		return new(chart.Chart), err
	}
	ch, err := helmloader.LoadFiles(canonical)
	sortDependencies(ch)
	return ch, err
}

// sortDependencies sorts the subcharts of a chart by name. Helm's loader leaves them in
// random order.
func sortDependencies(ch *chart.Chart) {
	deps := ch.Dependencies()
	slices.SortStableFunc(deps, func(a, b *chart.Chart) int {
		return cmp.Or(cmp.Compare(a.Name(), b.Name()), cmp.Compare(a.Metadata.Version, b.Metadata.Version))
	})
	ch.SetDependencies(deps...)
	for _, dep := range deps {
		sortDependencies(dep)
	}
}
