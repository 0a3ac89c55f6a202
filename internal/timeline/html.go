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

// HTML writes a timeline to w as a self-contained web page. The page shows a bar for each
// node and hook, and what it waited for. The element "timeline" contains the same data as
// JSON.
func HTML(w io.Writer, t *Timeline) error {
	parsed, err := template.New("page").Parse(page)
	if err != nil {
		return err
	}
	return parsed.Execute(w, newDocument(t))
}
