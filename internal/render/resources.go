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

// noSource is the file name in messages about a document without a Source comment.
const noSource = "(no Source comment)"

// Resources parses the documents of a manifest. charts is the path of the chart of each
// document. If it is nil, the chart follows from the document's Source comment. A document
// without one belongs to the chart of the previous document.
//
// withCRDs says that the manifest was rendered with IncludeCRDs. Resources from crds/
// directories are then left out, because they are not part of the order.
func Resources(manifest string, charts []string, root *sequencer.Chart, withCRDs bool) ([]sequencer.Resource, error) {
	docs, err := Documents(manifest, charts, root, withCRDs)
	if err != nil {
		return nil, err
	}
	resources := make([]sequencer.Resource, 0, len(docs))
	for _, d := range docs {
		if !d.CRD && len(d.Resource.Object) > 0 { // otherwise it contains only comments
			resources = append(resources, d.Resource)
		}
	}
	return resources, nil
}

// Document is one document of a manifest, as Documents returns it.
type Document struct {
	// Text is the document, unchanged.
	Text string
	// CRD reports whether the document comes from a crds/ directory. Such a document is not
	// parsed.
	CRD bool
	// Resource is the parsed document. Its Object is empty if the document is not parsed or
	// contains only comments.
	Resource sequencer.Resource
}

// Documents splits and parses a manifest. The parameters are those of Resources. Unlike
// Resources, it returns all documents, including empty ones and those from crds/
// directories.
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
		if source := sourceFile(text); source != "" {
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
		if docs[i].Resource.Object, err = yamledit.ParseObject(docs[i].Text + ends[i]); err != nil {
			return fmt.Errorf("YAML parse error on %s: %w", docs[i].Resource.File, err)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return docs, nil
}

// Resources returns the parsed resources, for sequencer.Build. They come from the output of
// the post-renderer if r.Charts is known. Otherwise they come from the manifest before the
// post-renderer, in which Secrets are not hidden.
func (r *Result) Resources(root *sequencer.Chart, withCRDs bool) ([]sequencer.Resource, error) {
	if r.Charts != nil {
		return Resources(r.Manifest, r.Charts, root, withCRDs)
	}
	return Resources(r.stream(false), nil, root, withCRDs)
}

// Documents splits the rendered manifest, in the order in which it is stored. If
// unprocessed is set, it returns the documents as they were before the post-renderer.
func (r *Result) Documents(root *sequencer.Chart, withCRDs, unprocessed bool) ([]Document, error) {
	if unprocessed {
		return Documents(r.stream(false), nil, root, withCRDs)
	}
	return Documents(r.Manifest, r.Charts, root, withCRDs)
}

func leadingSpace(text string) string {
	return text[:len(text)-len(strings.TrimLeftFunc(text, unicode.IsSpace))]
}

// sourceFile returns the file that the Source comment of a document names. Helm writes
// this comment at the start of a document. It returns an empty string if there is none.
func sourceFile(doc string) string {
	first, _, _ := strings.Cut(doc, "\n")
	file, found := strings.CutPrefix(first, "# Source: ")
	if !found {
		return ""
	}
	return strings.TrimSpace(file)
}

// ChartOf returns the path in the tree of charts of the chart that contains a template, for
// example "foo/bar" for "foo/charts/bar/templates/x.yaml".
func ChartOf(root *sequencer.Chart, file string) string {
	chart, _ := findChart(root, file)
	return chart
}

// findChart returns the path of the chart that contains file, and below, the path of the
// file within that chart.
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

// subchartPath splits a path such as charts/name/below. is reports whether it has this
// form.
func subchartPath(path string) (name, below string, is bool) {
	path, is = strings.CutPrefix(path, "charts/")
	name, below, _ = strings.Cut(path, "/")
	return name, below, is
}

// subchartAt returns the subchart of c in a directory of charts/, or nil. In the names of
// templates, Helm calls the directory of an aliased chart by the alias. For undeclared
// charts inside an aliased chart it uses the name instead.
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
