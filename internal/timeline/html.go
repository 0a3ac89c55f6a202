// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	_ "embed" // for the page
	"html/template"
	"io"
)

//go:embed page.html
var page string

// HTML writes a timeline as a self-contained page. It shows bars for nodes and hooks with
// what they waited for, and contains the data of JSON in the element "timeline".
func HTML(w io.Writer, t *Timeline) error {
	parsed, err := template.New("page").Parse(page)
	if err != nil {
		return err
	}
	return parsed.Execute(w, newDocument(t))
}
