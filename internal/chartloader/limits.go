// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartloader

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"

	helmloader "helm.sh/helm/v3/pkg/chart/loader"
)

// These limits apply to a chart including its subcharts. Helm's loader limits only the size
// of an archive and of each file.
const (
	// maxFiles limits the number of files of a chart, and of entries in an archive.
	maxFiles = 20_000
	// maxPathLength limits the length of the path of a file, in bytes.
	maxPathLength = 4096
	// maxDepth limits how many levels of charts are nested, including the outermost chart.
	// maxCharts limits the total number of charts. Both count the subcharts in archives.
	// The order record (package orderrecord) has the same limits.
	maxDepth  = 100
	maxCharts = 10_000
	// entryOverhead is how many bytes an unpacked archive can have on average for each
	// entry, in addition to the content of the file.
	entryOverhead = 2048
)

// LimitError reports that a chart exceeds a limit.
type LimitError struct {
	// Reason describes what exceeds the limit.
	Reason string
}

func (e *LimitError) Error() string { return "the chart " + e.Reason }

func newLimitError(format string, args ...any) error {
	return &LimitError{Reason: fmt.Sprintf(format, args...)}
}

func isLimitError(err error) bool {
	_, is := errors.AsType[*LimitError](err)
	return is
}

// checkArchive returns a *LimitError if an archive exceeds a limit. It reads the archive
// as a stream, because a small archive can be very large when unpacked. It ignores other
// errors, because Helm's loader reports them.
func checkArchive(packed []byte) error {
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil //nolint:nilerr // Helm's loader reports it
	}
	size := helmloader.MaxDecompressedChartSize
	stream := &io.LimitedReader{R: unzipped, N: maxArchiveSize(size)}
	entries := tar.NewReader(stream)
	for n := 1; ; n++ {
		header, err := entries.Next()
		switch {
		case stream.N <= 0:
			return newLimitError("has more than %d bytes when unpacked, with headers", maxArchiveSize(size))
		case err != nil:
			return nil //nolint:nilerr // the end, or an error that Helm's loader reports
		case n > maxFiles:
			return newLimitError("has more than %d files", maxFiles)
		case len(header.Name) > maxPathLength:
			return newLimitError("has a file whose path has %d bytes; the maximum is %d: %.100s…", len(header.Name), maxPathLength, header.Name)
		}
		if size -= header.Size; size < 0 {
			return nil // Helm's loader reports this itself, and reads no further
		}
	}
}

// maxArchiveSize returns how many bytes an unpacked archive can have if its files have
// size bytes in total.
func maxArchiveSize(size int64) int64 {
	if size > math.MaxInt64-maxFiles*entryOverhead {
		return math.MaxInt64
	}
	return size + maxFiles*entryOverhead
}

// sizeCounter counts the files and charts in a chart, including its subcharts. Its methods
// return an error if a limit is exceeded.
type sizeCounter struct {
	files, charts int
	// unpacked is the total size of the files in the archives of subcharts, in bytes.
	unpacked int64
	// keepSchemas is true if no values.schema.json is added to charts.
	keepSchemas bool
}

// addFiles counts the files of a chart or of a subchart in an archive.
func (u *sizeCounter) addFiles(files []*BufferedFile) error {
	if u.files += len(files); u.files > maxFiles {
		return newLimitError("has more than %d files, including its subcharts", maxFiles)
	}
	for _, f := range files {
		if len(f.Name) > maxPathLength {
			return newLimitError("has a file whose path has %d bytes; the maximum is %d: %.100s…", len(f.Name), maxPathLength, f.Name)
		}
	}
	return nil
}

// addChart counts a chart. depth is the number of charts that contain it.
func (u *sizeCounter) addChart(depth int) error {
	u.charts++
	switch {
	case depth >= maxDepth:
		return newLimitError("has subcharts nested more than %d levels deep", maxDepth)
	case u.charts > maxCharts:
		return newLimitError("has more than %d subcharts", maxCharts)
	}
	return nil
}

// addUnpacked counts the files of a subchart in an archive, and their size.
func (u *sizeCounter) addUnpacked(files []*BufferedFile) error {
	for _, f := range files {
		u.unpacked += int64(len(f.Data))
	}
	if maxSize := helmloader.MaxDecompressedChartSize; u.unpacked > maxSize {
		return newLimitError("has packed subcharts of more than %d bytes in total when unpacked", maxSize)
	}
	return u.addFiles(files)
}
