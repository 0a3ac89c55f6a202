// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// noSource stands for the file of a document that does not say it.
const noSource = "(no Source comment)"

// Resources parses the documents of a manifest. The chart of each is the one
// that charts names at its place, or where charts is nil the one that its
// Source comment names, or else that of the document before. If the manifest was
// rendered with IncludeCRDs, what comes from charts' crds/ folders is left out:
// it has no place in the order.
func Resources(manifest string, charts []string, root *sequencer.Chart, withCRDs bool) ([]sequencer.Resource, error) {
	docs, err := Documents(manifest, charts, root, withCRDs)
	if err != nil {
		return nil, err
	}
	resources := make([]sequencer.Resource, 0, len(docs))
	for _, d := range docs {
		if !d.CRD && len(d.Resource.Object) > 0 { // else there is nothing but comments
			resources = append(resources, d.Resource)
		}
	}
	return resources, nil
}

// Document is one document of a manifest.
type Document struct {
	// Text is the document as it stands there.
	Text string
	// CRD is whether it comes from a chart's crds/ folder. It is not parsed then.
	CRD bool
	// Resource is what it says; without an Object if that is nothing.
	Resource sequencer.Resource
}

// Documents takes a manifest apart, as Resources does, and keeps every document.
func Documents(manifest string, charts []string, root *sequencer.Chart, withCRDs bool) ([]Document, error) {
	texts := Split(manifest)
	if charts != nil && len(charts) != len(texts) {
		return nil, fmt.Errorf("the manifest has %d documents, but the release record has charts for %d", len(texts), len(charts))
	}
	docs, ends := make([]Document, len(texts)), make([]string, len(texts))
	file := noSource
	rest := manifest
	for i, text := range texts {
		_, rest, _ = strings.Cut(rest, text)
		if source := sourceComment(text); source != "" {
			file = source
		} else if charts != nil {
			file = noSource
		}
		chart, below := findChart(root, file)
		if charts != nil {
			chart = charts[i]
		}
		docs[i] = Document{Text: text, CRD: withCRDs && strings.HasPrefix(below, "crds/"), Resource: sequencer.Resource{Chart: chart, File: file}}
		ends[i] = leadingSpace(rest)
	}
	err := forEachParallel(len(docs), func(i int) (err error) {
		if docs[i].CRD {
			return nil
		}
		if docs[i].Resource.Object, err = yamledit.Object(docs[i].Text + ends[i]); err != nil {
			return fmt.Errorf("YAML parse error on %s: %w", docs[i].Resource.File, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return docs, nil
}

// Resources parses what a plan is made of: the manifest as a post-renderer left
// it if the chart of each document stayed known through it, and otherwise what
// was rendered, hidden Secrets included.
func (r *Result) Resources(root *sequencer.Chart, withCRDs bool) ([]sequencer.Resource, error) {
	if r.Charts != nil {
		return Resources(r.Manifest, r.Charts, root, withCRDs)
	}
	return Resources(r.stream(false), nil, root, withCRDs)
}

// Documents takes what was rendered apart, in the order in which it is stored; before
// any post-renderer if it is to be so.
func (r *Result) Documents(root *sequencer.Chart, withCRDs, unprocessed bool) ([]Document, error) {
	if unprocessed {
		return Documents(r.stream(false), nil, root, withCRDs)
	}
	return Documents(r.Manifest, r.Charts, root, withCRDs)
}

// leadingSpace is the white space that a text begins with.
func leadingSpace(text string) string {
	return text[:len(text)-len(strings.TrimLeftFunc(text, unicode.IsSpace))]
}

// sourceComment reads the file from the comment that Helm puts before a document;
// it is empty if there is none.
func sourceComment(doc string) string {
	first, _, _ := strings.Cut(doc, "\n")
	file, found := strings.CutPrefix(first, "# Source: ")
	if !found {
		return ""
	}
	return strings.TrimSpace(file)
}

// ChartOf finds the chart that a template belongs to by its path, such as
// "foo/charts/bar/templates/x.yaml": its path in the tree, such as "foo/bar".
func ChartOf(root *sequencer.Chart, file string) string {
	chart, _ := findChart(root, file)
	return chart
}

// findChart finds the chart that a file belongs to, and the file's path in it.
func findChart(root *sequencer.Chart, file string) (chart, below string) {
	chart = root.Name
	below, found := strings.CutPrefix(file, root.Name+"/")
	for found {
		name, rest, isSub := subchartPath(below)
		sub := subchartAt(root, name)
		if !isSub || sub == nil {
			break
		}
		root, below = sub, rest
		chart += "/" + sub.Name
	}
	return chart, below
}

// subchartPath takes "charts/", the name of a subchart and what is below it
// apart.
func subchartPath(path string) (name, below string, is bool) {
	path, is = strings.CutPrefix(path, "charts/")
	name, below, _ = strings.Cut(path, "/")
	return name, below, is
}

// subchartAt finds a subchart by its folder. Helm names the folder of an
// aliased chart by its alias, but leaves its name in the paths of charts inside
// it that it does not declare.
func subchartAt(c *sequencer.Chart, folder string) *sequencer.Chart {
	names := []string{folder}
	for _, d := range c.Dependencies {
		if d.Name == folder && d.Alias != "" && !d.Disabled {
			names = append(names, d.Alias)
		}
	}
	for _, name := range names {
		if i := slices.IndexFunc(c.Subcharts, func(s *sequencer.Chart) bool { return s.Name == name }); i >= 0 {
			return c.Subcharts[i]
		}
	}
	return nil
}
