// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package formatcharts creates charts of the format helm.sh/v3 for tests: from flat charts, and at
// random. Only tests import it.
package formatcharts

import (
	"bytes"
	"os"
	"path/filepath"

	"github.com/ordered-helm/helm/internal/chartloader"
)

// Files contains the content of the files of a chart, by their paths in the chart.
type Files map[string]string

// Read returns the files that Ordered Helm would load from a chart, which is a directory or an
// archive.
func Read(chart string) (Files, error) {
	info, err := os.Stat(chart)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return asFiles(chartloader.DirFiles(chart))
	}
	data, err := os.ReadFile(chart)
	if err != nil {
		return nil, err
	}
	return asFiles(chartloader.LoadArchiveFiles(bytes.NewReader(data)))
}

func asFiles(list []*chartloader.BufferedFile, err error) (Files, error) {
	files := Files{}
	for _, f := range list {
		files[f.Name] = string(f.Data)
	}
	return files, err
}

// Write writes the files to a directory, which it creates if necessary.
func (files Files) Write(dir string) error {
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}
