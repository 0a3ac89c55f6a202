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
	documents := splitDocuments(manifest)
	var selected []string
	for _, pattern := range patterns {
		pattern = filepath.ToSlash(pattern)
		found := false
		for _, d := range documents {
			if matched, err := filepath.Match(pattern, d.source); matched && err == nil {
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

// document is a document of a manifest. source is the path of its template, relative to the
// directory of the chart.
type document struct {
	source string
	text   string
}

// splitDocuments returns the documents of a manifest that have a Source comment.
func splitDocuments(manifest string) []document {
	// A source begins with the name of the chart, which is not part of a pattern.
	source := regexp.MustCompile(`# Source: [^/]+/(.+)`)

	var documents []document
	for _, text := range render.Split(manifest) {
		if match := source.FindStringSubmatch(text); match != nil {
			documents = append(documents, document{source: match[1], text: text})
		}
	}
	return documents
}
