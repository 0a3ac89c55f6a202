// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"bytes"
	"io"
)

// maxLine is the number of bytes after which a long line is split, which limits the memory
// that prefixWriter needs.
const maxLine = 1 << 20

// prefixWriter writes to out, with a prefix at the beginning of each line. It writes only
// complete lines; line contains the bytes of the last line that are not written yet.
type prefixWriter struct {
	out    io.Writer
	prefix string
	line   []byte
}

func newPrefixWriter(out io.Writer, prefix string) *prefixWriter {
	return &prefixWriter{out: out, prefix: prefix}
}

func (w *prefixWriter) Write(data []byte) (int, error) {
	written := 0
	for len(data) > 0 {
		end := bytes.IndexByte(data, '\n') + 1
		complete := end > 0
		if !complete {
			end = len(data)
		}
		w.line = append(w.line, data[:end]...)
		written, data = written+end, data[end:]
		if complete || len(w.line) > maxLine {
			if err := w.flush(); err != nil {
				return written, err
			}
		}
	}
	return written, nil
}

func (w *prefixWriter) flush() error {
	if !bytes.HasSuffix(w.line, []byte("\n")) {
		w.line = append(w.line, '\n')
	}
	_, err := w.out.Write(append([]byte(w.prefix), w.line...))
	w.line = w.line[:0]
	return err
}

// end writes the last line if it has no line break. The caller must call end after the last
// Write.
func (w *prefixWriter) end() error {
	if len(w.line) == 0 {
		return nil
	}
	return w.flush()
}
