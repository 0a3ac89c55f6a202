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

// What a chart may be at most, with the charts in it. Helm's loader limits the size of
// one archive and of one file alone.
const (
	// maxFiles is how many files there may be, and entries in an archive.
	maxFiles = 20_000
	// maxPathLength is how long the path of a file may be, in bytes.
	maxPathLength = 4096
	// maxDepth is how many charts may be inside one another, packed or not, the
	// outermost included, and maxCharts how many there may be in all. The record of an order has the same.
	maxDepth  = 100
	maxCharts = 10_000
	// entryOverhead is what an entry of an archive may take besides its content, on the
	// average, in bytes.
	entryOverhead = 2048
)

// LimitError says that a chart is larger than any chart may be.
type LimitError struct {
	// Reason is too much, in words, with the limit.
	Reason string
}

func (e *LimitError) Error() string { return "the chart " + e.Reason }

func newLimitError(format string, args ...any) error {
	return &LimitError{Reason: fmt.Sprintf(format, args...)}
}

func isLimitError(err error) bool {
	var limit *LimitError
	return errors.As(err, &limit)
}

// checkArchive holds an archive against the limits before anything of it is kept. What
// else is wrong with it is for Helm's loader to say.
func checkArchive(packed []byte) error {
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil //nolint:nilerr // see above
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
			return nil //nolint:nilerr // the end, or see above
		case n > maxFiles:
			return newLimitError("has more than %d files", maxFiles)
		case len(header.Name) > maxPathLength:
			return newLimitError("has a file whose path has %d bytes, but may have at most %d: %.100s…", len(header.Name), maxPathLength, header.Name)
		}
		if size -= header.Size; size < 0 {
			return nil // Helm's loader has its own words for this, and keeps no more
		}
	}
}

// maxArchiveSize is how long a stream with files of that size may be.
func maxArchiveSize(size int64) int64 {
	if size > math.MaxInt64-maxFiles*entryOverhead {
		return math.MaxInt64
	}
	return size + maxFiles*entryOverhead
}

// sizeCounter counts what a chart and the charts in it have.
type sizeCounter struct {
	files, charts int
	// unpacked is the size of all that was packed inside, in bytes.
	unpacked int64
}

// addFiles counts the files of a chart, or of an archive inside one.
func (u *sizeCounter) addFiles(files []*BufferedFile) error {
	if u.files += len(files); u.files > maxFiles {
		return newLimitError("has more than %d files, including its subcharts", maxFiles)
	}
	for _, f := range files {
		if len(f.Name) > maxPathLength {
			return newLimitError("has a file whose path has %d bytes, but may have at most %d: %.100s…", len(f.Name), maxPathLength, f.Name)
		}
	}
	return nil
}

// addChart counts a chart that is inside so many others.
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

// addUnpacked counts what an archive inside a chart holds.
func (u *sizeCounter) addUnpacked(files []*BufferedFile) error {
	for _, f := range files {
		u.unpacked += int64(len(f.Data))
	}
	if most := helmloader.MaxDecompressedChartSize; u.unpacked > most {
		return newLimitError("has packed subcharts of more than %d bytes in total when unpacked", most)
	}
	return u.addFiles(files)
}
