// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"bytes"
	"path"
	"strings"
	"text/template/parse"
	"unicode/utf8"

	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/chartformat"
	"github.com/ordered-helm/helm/internal/library"
	"github.com/ordered-helm/helm/internal/lint/rule"
	"github.com/ordered-helm/helm/internal/lint/source"
)

// checkLibraryText adds a finding about each template of a library chart with something outside of
// named templates.
func (f *findings) checkLibraryText(c *source.Files) {
	if n := c.Node("type"); n == nil || n.Value != library.TypeLibrary {
		if n = c.Node("data", "type"); n == nil || n.Value != library.TypeLibrary {
			return
		}
	}
	for _, file := range c.Own {
		if !strings.HasPrefix(file.Name, "templates/") {
			continue
		}
		if offset := outsideOfNamedTemplates(file.Data); offset >= 0 {
			before := file.Data[:offset]
			at := source.Position{
				File: c.Prefix + file.Name, Line: 1 + bytes.Count(before, []byte("\n")),
				Column: 1 + utf8.RuneCount(before[1+bytes.LastIndexByte(before, '\n'):]),
			}
			f.add(rule.LibraryText, at, "this is outside of named templates: it is ignored")
		}
	}
}

// outsideOfNamedTemplates returns the offset of the first thing in a template that is outside of named
// templates and would have an effect. It returns -1 if there is none, or if the template is invalid.
func outsideOfNamedTemplates(text []byte) int {
	tree := parse.New("template")
	tree.Mode = parse.SkipFuncCheck
	if _, err := tree.Parse(string(text), "", "", map[string]*parse.Tree{}); err != nil || tree.Root == nil {
		return -1 // Helm's rules report the error
	}
	for _, n := range tree.Root.Nodes {
		offset := int(n.Position())
		switch n := n.(type) {
		case *parse.TextNode:
			if start := len(n.Text) - len(bytes.TrimLeft(n.Text, " \t\r\n")); start < len(n.Text) {
				return offset + start
			}
		case *parse.CommentNode:
		case *parse.ActionNode:
			if len(n.Pipe.Decl) == 0 {
				return offset
			}
		default:
			return offset
		}
	}
	return -1
}

// checkApplicationsAsLibraries adds a finding about each chart that is used as a library, but is not a
// library chart.
func (i *chartInspection) checkApplicationsAsLibraries() {
	for _, o := range library.ApplicationCharts(i.chart) {
		c := i.filesByDeclaration[path.Join(o.UsedBy, chartutil.ChartfileName)]
		if c == nil {
			continue
		}
		s := chartformat.Source{Folder: c.Prefix, ChartYAML: c.Data(chartutil.ChartfileName), Requirements: c.Data(chartformat.RequirementsFile)}
		file, line := chartformat.LibraryPosition(s, o.Name)
		i.add(rule.ApplicationAsLibrary, source.Position{File: file, Line: line}, o.Name+" is not a library chart: only its named templates are used")
	}
}
