// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package chartloader loads charts and returns them as Helm's type chart.Chart. Unlike
// Helm's loader, it accepts all keys and values that Ordered Helm adds to Chart.yaml
// (docs/reference.md, "Chart.yaml"), and the format helm.sh/v3 with its libraries.
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
	// BufferedFile is Helm's type for a file of a chart in memory.
	BufferedFile = helmloader.BufferedFile
	// ChartLoader is Helm's interface of a chart loader.
	ChartLoader = helmloader.ChartLoader
	// DirLoader is the path of a chart directory. Its method Load loads the chart.
	DirLoader string
	// FileLoader is the path of a chart archive. Its method Load loads the chart.
	FileLoader string
)

// Load loads the chart in the directory.
func (l DirLoader) Load() (*chart.Chart, error) { return LoadDir(string(l)) }

// Load loads the chart in the archive.
func (l FileLoader) Load() (*chart.Chart, error) { return LoadFile(string(l)) }

// Loader returns a DirLoader if name is a directory, or else a FileLoader.
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

// Load loads a chart from a directory, except files that its .helmignore excludes, or from
// an archive.
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

// LoadArchiveFiles reads the files of a chart archive into memory. It checks their paths
// and sizes as Helm does. If the archive exceeds a limit that Helm does not have, it
// returns a *LimitError.
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
func LoadFile(name string) (*chart.Chart, error) { return loadArchiveFile(name, LoadFiles) }

// loadArchiveFile loads a chart from an archive file, with the function load.
func loadArchiveFile(name string, load func([]*BufferedFile) (*chart.Chart, error)) (*chart.Chart, error) {
	raw, err := os.ReadFile(name)
	if err == nil {
		var files []*BufferedFile
		if files, err = LoadArchiveFiles(bytes.NewReader(raw)); err == nil {
			return load(files)
		}
	}
	if isLimitError(err) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	// Helm's loader fails too, and returns the same error as stock Helm.
	return helmloader.LoadFile(name)
}

// LoadFiles loads a chart from files in memory, including the subcharts under charts/ and the
// libraries that the charts ask for.
func LoadFiles(files []*BufferedFile) (*chart.Chart, error) {
	ch, err := loadFiles(files)
	if err == nil {
		err = addLibraries(ch)
	}
	return ch, err
}

// loadFiles loads a chart from files in memory, without libraries.
func loadFiles(files []*BufferedFile) (*chart.Chart, error) {
	canonical, err := CanonicalFiles(files)
	if err != nil {
		return new(chart.Chart), err
	}
	ch, err := helmloader.LoadFiles(canonical)
	if err != nil {
		err = cmp.Or(checkAPIVersions(files), err)
	}
	hideOriginals(ch)
	sortDependencies(ch)
	return ch, err
}

// sortDependencies sorts the subcharts by name, because Helm's loader returns them in
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
