// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releasecrds

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"sigs.k8s.io/yaml"
)

// WriteChart writes a chart of the definitions and the roles to a directory. It overwrites the
// files of an earlier version of the chart, but does not write to a directory with another chart.
func WriteChart(directory string) error {
	chart, err := chartFiles()
	if err != nil {
		return err
	}
	if err := checkDirectory(directory, chart["Chart.yaml"]); err != nil {
		return fmt.Errorf("write the chart of the definitions: %w", err)
	}
	for name, data := range chart {
		file := filepath.Join(directory, filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(file), 0o755)
		if err == nil {
			err = os.WriteFile(file, data, 0o644) //nolint:gosec // charts are not confidential
		}
		if err != nil {
			return fmt.Errorf("write the chart of the definitions: %w", err)
		}
	}
	return nil
}

// chartFiles returns the files of the chart by name. The definitions are templates, because Helm
// never updates what is in crds/.
func chartFiles() (map[string][]byte, error) {
	chart := map[string][]byte{}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := files.ReadFile(name)
		switch directory, base := path.Split(name); path.Clean(directory) {
		case chartDirectory:
			chart[base] = data
		case definitionsDirectory:
			chart["templates/"+base] = data
		case rolesDirectory:
			chart["templates/"+base] = []byte("{{- if .Values.roles.create }}\n" + string(data) + "{{- end }}\n")
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the chart of the definitions: %w", err)
	}
	return chart, nil
}

// checkDirectory returns an error if a directory contains something other than the chart with
// the given Chart.yaml.
func checkDirectory(directory string, chartYAML []byte) error {
	entries, err := os.ReadDir(directory)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	existing, err := os.ReadFile(filepath.Join(directory, "Chart.yaml"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if name := chartName(existing); name != chartName(chartYAML) {
		return fmt.Errorf("the directory %s is neither empty nor an earlier version of the chart %s: use another directory", directory, chartName(chartYAML))
	}
	return nil
}

// chartName returns the name in a Chart.yaml; empty if it is invalid.
func chartName(chartYAML []byte) string {
	var metadata struct {
		Name string `json:"name"`
	}
	if yaml.Unmarshal(chartYAML, &metadata) != nil {
		return ""
	}
	return metadata.Name
}
