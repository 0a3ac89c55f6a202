// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// longFile is the size in bytes of a file above which checksums are compared instead of
// contents.
const longFile = 64 << 10

// describeArchive returns the contents of a chart archive as text, without timestamps. The
// entries are sorted, because stock Helm packages subcharts in random order. Data that are not
// an archive are returned unchanged.
func describeArchive(data []byte) string {
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return string(data)
	}
	entries := []string{}
	for files := tar.NewReader(zipped); ; {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return string(data)
		}
		sum := sha256.New()
		content, err := io.ReadAll(io.TeeReader(io.LimitReader(files, longFile), sum))
		if err == nil {
			_, err = io.Copy(sum, files)
		}
		if err != nil {
			return string(data)
		}
		if len(content) == longFile {
			content = fmt.Appendf(nil, "%d bytes with the checksum %x", header.Size, sum.Sum(nil))
		}
		entries = append(entries, fmt.Sprintf("- %c %v %s\n%s\n", header.Typeflag, header.FileInfo().Mode(), header.Name, content))
	}
	slices.Sort(entries)
	return fmt.Sprintf("an archive %q %q\n%s", zipped.Comment, zipped.Extra, strings.Join(entries, ""))
}
