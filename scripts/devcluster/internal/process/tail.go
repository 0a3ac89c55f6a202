// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package process

import (
	"bytes"
	"io"
	"os"
	"strings"
)

const (
	tailLines = 30
	tailBytes = 16 << 10
)

// Tail returns the last lines of the file at path, at most 30 lines and 16 KiB, or an empty
// string if the file does not exist.
func Tail(path string) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }()
	if info, err := file.Stat(); err == nil && info.Size() > tailBytes {
		if _, err := file.Seek(-tailBytes, io.SeekEnd); err != nil {
			return ""
		}
	}
	raw, err := io.ReadAll(file)
	if err != nil {
		return ""
	}
	lines := strings.Split(string(bytes.TrimRight(raw, "\n")), "\n")
	if len(lines) > tailLines {
		lines = lines[len(lines)-tailLines:]
	}
	return strings.Join(lines, "\n")
}
