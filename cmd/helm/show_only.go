// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"regexp"

	"github.com/ordered-helm/helm/internal/render"
)

// selectDocuments returns the documents of a manifest whose template matches a pattern of
// --show-only: first all documents for the first pattern, then those for the second, and so
// on. It returns an error if nothing matches a pattern. An invalid pattern matches nothing.
func selectDocuments(manifest string, patterns []string) ([]string, error) {
	documents := documentsWithSource(manifest)
	var selected []string
	for _, pattern := range patterns {
		pattern = filepath.ToSlash(pattern)
		found := false
		for _, d := range documents {
			if matched, err := filepath.Match(pattern, d.template); matched && err == nil {
				selected = append(selected, d.text)
				found = true
			}
		}
		if !found {
			return nil, fmt.Errorf("could not find template %s in chart", pattern)
		}
	}
	return selected, nil
}

// manifestDocument is a YAML document of a manifest. template is the path of the template
// that rendered it, relative to the directory of the chart.
type manifestDocument struct {
	template string
	text     string
}

// documentsWithSource returns the documents of a manifest that have a Source comment.
func documentsWithSource(manifest string) []manifestDocument {
	// A source begins with the name of the chart, which is not part of a pattern.
	source := regexp.MustCompile(`# Source: [^/]+/(.+)`)

	var documents []manifestDocument
	for _, text := range render.Split(manifest) {
		if match := source.FindStringSubmatch(text); match != nil {
			documents = append(documents, manifestDocument{template: match[1], text: text})
		}
	}
	return documents
}
