// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

const (
	dataFile = "benchmarks.json"
	pageFile = "benchmarks.md"
)

// Update replaces the stored results of the measured workloads in a directory, and rewrites
// the page there. The results of other workloads stay.
func Update(dir string, measured []Result) error {
	results, err := load(dir)
	if err != nil {
		return err
	}
	for _, result := range measured {
		results[result.Name] = result
	}
	sorted := make([]Result, 0, len(results))
	for _, name := range slices.Sorted(maps.Keys(results)) {
		sorted = append(sorted, results[name])
	}
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(sorted); err != nil {
		return fmt.Errorf("encode the results: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, dataFile), data.Bytes(), 0o644); err != nil {
		return fmt.Errorf("keep the results: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, pageFile), []byte(Page(results)), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// load reads the stored results from a directory. It returns no results if there is no file.
func load(dir string) (Results, error) {
	results := Results{}
	data, err := os.ReadFile(filepath.Join(dir, dataFile))
	if errors.Is(err, fs.ErrNotExist) {
		return results, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the results: %w", err)
	}
	var list []Result
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("read the results in %s: %w", dataFile, err)
	}
	for _, result := range list {
		results[result.Name] = result
	}
	return results, nil
}
