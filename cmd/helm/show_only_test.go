// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

func TestSelectDocuments(t *testing.T) {
	const manifest = `---
# Source: shop/templates/web.yaml
kind: A
---
# Source: shop/templates/web.yaml
kind: B
---
# Source: shop/charts/database/templates/set.yaml
kind: C
---
kind: NoSource
`
	tests := []struct {
		name     string
		patterns []string
		want     string
		fails    string
	}{
		{name: "one file with two documents", patterns: []string{"templates/web.yaml"}, want: "AB"},
		{name: "in the order of the patterns", patterns: []string{"charts/database/templates/set.yaml", "templates/web.yaml"}, want: "CAB"},
		{name: "star within a directory", patterns: []string{"templates/*"}, want: "AB"},
		{name: "star over directories", patterns: []string{"charts/*/templates/*.yaml"}, want: "C"},
		{name: "twice", patterns: []string{"templates/web.yaml", "templates/web.yaml"}, want: "ABAB"},
		{name: "none", patterns: []string{"templates/none.yaml"}, fails: "could not find template templates/none.yaml in chart"},
		{name: "one of two", patterns: []string{"templates/web.yaml", "x"}, fails: "could not find template x in chart"},
		{name: "no pattern", patterns: []string{"templates/["}, fails: "could not find template templates/[ in chart"},
		{name: "with the chart's name", patterns: []string{"shop/templates/web.yaml"}, fails: "could not find template"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			documents, err := selectDocuments(manifest, tt.patterns)
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) {
					t.Fatalf("error %v does not say %q", err, tt.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got string
			for _, document := range documents {
				_, kind, _ := strings.Cut(document, "kind: ")
				got += kind[:1]
			}
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
