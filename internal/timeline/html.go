// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package timeline

import (
	_ "embed" // for page.html
	"html/template"
	"io"
)

//go:embed page.html
var page string

// HTML writes a timeline to w as a self-contained web page, which shows a bar for each node
// and hook, and what it waited for. The element with the ID "timeline" contains the data
// that JSON writes.
func HTML(w io.Writer, t *Timeline) error {
	parsed, err := template.New("page").Parse(page)
	if err != nil {
		return err
	}
	return parsed.Execute(w, newDocument(t))
}
