// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"path/filepath"
	"regexp"

	"github.com/ordered-helm/helm/internal/render"
)

// selectDocuments returns the YAML documents of a manifest whose templates match the patterns
// of --show-only: first all documents for the first pattern, then those for the second, and
// so on. It returns an error if no template matches a pattern. An invalid pattern matches
// none.
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

// manifestDocument is a YAML document of a manifest.
type manifestDocument struct {
	// template is the path of the template that rendered it, relative to the chart's
	// directory.
	template string
	text     string
}

// documentsWithSource returns the YAML documents of a manifest that name their template in a
// comment such as "# Source: shop/templates/web.yaml".
func documentsWithSource(manifest string) []manifestDocument {
	// The name of the chart at the beginning is not part of the path of the template.
	source := regexp.MustCompile(`# Source: [^/]+/(.+)`)

	var documents []manifestDocument
	for _, text := range render.Split(manifest) {
		if match := source.FindStringSubmatch(text); match != nil {
			documents = append(documents, manifestDocument{template: match[1], text: text})
		}
	}
	return documents
}
