// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package loader loads charts. It exports the same names as Helm's package loader and returns
// charts of Helm's type. In contrast to Helm's package, it also loads charts with the fields
// and annotations that Ordered Helm adds to Chart.yaml (docs/reference.md, "Chart.yaml").
package loader

import (
	"io"

	"helm.sh/helm/v3/pkg/chart"
	helmloader "helm.sh/helm/v3/pkg/chart/loader"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/declaration"
)

type (
	// BufferedFile is a file in memory: its name and its content. It is Helm's type.
	BufferedFile = chartloader.BufferedFile
	// ChartLoader has a method Load that loads a chart. It is Helm's interface.
	ChartLoader = chartloader.ChartLoader
	// DirLoader is the path of a chart directory. Its method Load loads the chart.
	DirLoader = chartloader.DirLoader
	// FileLoader is the path of a chart archive. Its method Load loads the chart.
	FileLoader = chartloader.FileLoader
	// LimitError is the error for a chart with too many or too large files.
	LimitError = chartloader.LimitError
)

// APIVersionV3 is the apiVersion of charts whose declared order applies without the
// annotation helm.sh/sequencing.
const APIVersionV3 = declaration.APIVersionV3

var (
	// MaxDecompressedChartSize is a copy of Helm's limit for the size of an unpacked
	// archive, in bytes. Setting it has no effect: to change the limit, set the variable in
	// Helm's package.
	MaxDecompressedChartSize = helmloader.MaxDecompressedChartSize
	// MaxDecompressedFileSize is a copy of Helm's limit for the size of a file in a chart,
	// in bytes. Setting it has no effect: to change the limit, set the variable in Helm's
	// package.
	MaxDecompressedFileSize = helmloader.MaxDecompressedFileSize
)

// Loader returns a DirLoader if name is the path of a directory, or else a FileLoader.
func Loader(name string) (ChartLoader, error) { return chartloader.Loader(name) }

// Load loads a chart from a directory, except files that its .helmignore excludes, or from
// an archive.
func Load(name string) (*chart.Chart, error) { return chartloader.Load(name) }

// LoadDir loads a chart from a directory, except files that its .helmignore excludes. It
// follows symbolic links, as Helm does.
func LoadDir(dir string) (*chart.Chart, error) { return chartloader.LoadDir(dir) }

// LoadFile loads a chart from an archive file.
func LoadFile(name string) (*chart.Chart, error) { return chartloader.LoadFile(name) }

// LoadArchive loads a chart from a gzipped tar archive.
func LoadArchive(in io.Reader) (*chart.Chart, error) { return chartloader.LoadArchive(in) }

// LoadArchiveFiles reads the files of a chart archive into memory, and checks their paths and
// sizes as Helm does. If the archive contains too many files, the error is a *LimitError.
func LoadArchiveFiles(in io.Reader) ([]*BufferedFile, error) {
	return chartloader.LoadArchiveFiles(in)
}

// LoadFiles creates a chart from files in memory, including the subcharts under charts/.
func LoadFiles(files []*BufferedFile) (*chart.Chart, error) { return chartloader.LoadFiles(files) }
