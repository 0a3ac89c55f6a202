// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package loader has every name of Helm's package of the same name. It loads charts as Helm
// does, and also accepts the additions to Chart.yaml in every form in which an author can
// write them (docs/reference.md, "Chart.yaml"). It returns charts of Helm's type.
package loader

import (
	"io"

	"helm.sh/helm/v3/pkg/chart"
	helmloader "helm.sh/helm/v3/pkg/chart/loader"

	"github.com/ordered-helm/helm/internal/chartloader"
)

type (
	// BufferedFile is Helm's BufferedFile.
	BufferedFile = chartloader.BufferedFile
	// ChartLoader is Helm's ChartLoader.
	ChartLoader = chartloader.ChartLoader
	// DirLoader loads a chart from a directory.
	DirLoader = chartloader.DirLoader
	// FileLoader loads a chart from an archive.
	FileLoader = chartloader.FileLoader
	// LimitError says that a chart exceeds a limit on the size of charts.
	LimitError = chartloader.LimitError
)

// APIVersionV3 is the apiVersion of charts that are sequenced without opting in.
const APIVersionV3 = chartloader.APIVersionV3

var (
	// MaxDecompressedChartSize is the value that Helm's limit for an unpacked archive, in
	// bytes, has when the program starts. To change the limit, set Helm's variable.
	MaxDecompressedChartSize = helmloader.MaxDecompressedChartSize
	// MaxDecompressedFileSize is the value that Helm's limit for a file of a chart, in
	// bytes, has when the program starts. To change the limit, set Helm's variable.
	MaxDecompressedFileSize = helmloader.MaxDecompressedFileSize
)

// Loader returns the loader for a path: a directory or an archive.
func Loader(name string) (ChartLoader, error) { return chartloader.Loader(name) }

// Load loads a chart from a directory, respecting its .helmignore, or from an
// archive.
func Load(name string) (*chart.Chart, error) { return chartloader.Load(name) }

// LoadDir loads a chart from a directory, respecting its .helmignore. It follows
// symbolic links, as Helm does.
func LoadDir(dir string) (*chart.Chart, error) { return chartloader.LoadDir(dir) }

// LoadFile loads a chart from an archive file.
func LoadFile(name string) (*chart.Chart, error) { return chartloader.LoadFile(name) }

// LoadArchive loads a chart from a gzipped tar archive.
func LoadArchive(in io.Reader) (*chart.Chart, error) { return chartloader.LoadArchive(in) }

// LoadArchiveFiles reads the files of an archive into memory, and checks their paths and
// sizes as Helm does. If the archive contains too many files, the error is a *LimitError.
func LoadArchiveFiles(in io.Reader) ([]*BufferedFile, error) {
	return chartloader.LoadArchiveFiles(in)
}

// LoadFiles creates a chart from files in memory, including the subcharts under charts/.
func LoadFiles(files []*BufferedFile) (*chart.Chart, error) { return chartloader.LoadFiles(files) }
