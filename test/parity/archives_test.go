// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// entry is an entry of a tar archive: a file, or another kind of entry if kind is set.
type entry struct {
	name, text string
	kind       byte
	link       string
	mode       int64
	// size, if set, is the size of a file full of zeros.
	size int64
}

// archive returns a .tar.gz archive with the entries. It is identical for identical entries.
func archive(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var buffer bytes.Buffer
	compressed := gzip.NewWriter(&buffer)
	out := tar.NewWriter(compressed)
	for _, e := range entries {
		header := &tar.Header{
			Name: e.name, Typeflag: e.kind, Linkname: e.link, Mode: e.mode,
			Size: int64(len(e.text)) + e.size,
		}
		if e.kind == 0 {
			header.Typeflag = tar.TypeReg
		}
		if e.mode == 0 {
			header.Mode = 0o644
		}
		if err := out.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		content := io.MultiReader(bytes.NewReader([]byte(e.text)), io.LimitReader(zeros{}, e.size))
		if _, err := io.Copy(out, content); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// chartArchive returns the archive of a chart with one ConfigMap and additional entries.
func chartArchive(t testing.TB, name, version string, more ...entry) []byte {
	t.Helper()
	return archive(t, append([]entry{
		{name: name + "/Chart.yaml", text: "apiVersion: v2\nname: " + name + "\nversion: " + version + "\nappVersion: \"3\"\n"},
		{name: name + "/values.yaml", text: "size: small\n"},
		{name: name + "/templates/config.yaml", text: "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ .Release.Name }}-config\ndata:\n  size: {{ .Values.size }}\n  version: {{ .Chart.Version }}\n"},
	}, more...)...)
}

// writeBytes is a step that writes data to a file in the sandbox. In contrast to writeFile, it
// does not replace placeholders.
type writeBytes struct {
	path string
	data []byte
}

func (d writeBytes) run(_ context.Context, w *sandbox) (string, error) {
	path := filepath.Join(w.dir, w.expand(d.path))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	return "", os.WriteFile(path, d.data, 0o644)
}

// showChecksum is a step that returns the checksum of a file whose content is not compared
// otherwise.
type showChecksum string

func (c showChecksum) run(_ context.Context, w *sandbox) (string, error) {
	data, err := os.ReadFile(filepath.Join(w.dir, string(c)))
	return fmt.Sprintf("checksum of %s: %x", c, sha256.Sum256(data)), err
}

// showTree is a step that returns all files in a directory of the sandbox, with their
// contents.
type showTree string

func (f showTree) run(_ context.Context, w *sandbox) (string, error) {
	var list strings.Builder
	root := filepath.Join(w.dir, w.expand(string(f)))
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%v %s\n", info.Mode(), filepath.Join(string(f), relative))
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Sprintf("no folder %s\n", f), nil
	}
	return list.String(), err
}

// makeDir is a step that creates a directory in the sandbox.
type makeDir string

func (f makeDir) run(_ context.Context, w *sandbox) (string, error) {
	return "", os.MkdirAll(filepath.Join(w.dir, string(f)), 0o755)
}

// renameFile is a step that renames a file or directory in the sandbox.
type renameFile struct{ from, to string }

func (m renameFile) run(_ context.Context, w *sandbox) (string, error) {
	return "", os.Rename(filepath.Join(w.dir, m.from), filepath.Join(w.dir, m.to))
}
