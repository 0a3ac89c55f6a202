// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/ordered-helm/helm/internal/redact"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// noSource is the file name in messages about a document without a Source comment.
const noSource = "(no Source comment)"

// Resources parses the documents of a manifest, and returns the resources among them.
// charts contains the path of the chart of each document. If charts is nil, the Source
// comment of a document determines its chart in the tree of charts root. A document without
// such a comment belongs to the chart of the document before it.
//
// withCRDs says that the manifest was rendered with the option IncludeCRDs. Documents from
// crds/ directories are then left out, because they are not part of the deployment order.
func Resources(manifest string, charts []string, root *sequencer.Chart, withCRDs bool) ([]sequencer.Resource, error) {
	docs, err := Documents(manifest, charts, root, withCRDs)
	if err != nil {
		return nil, err
	}
	return DocumentResources(docs), nil
}

// DocumentResources returns the resources in docs. Other documents are CustomResourceDefinitions
// from crds/ directories, or contain only comments.
func DocumentResources(docs []Document) []sequencer.Resource {
	resources := make([]sequencer.Resource, 0, len(docs))
	for _, d := range docs {
		if !d.CRD && len(d.Resource.Object) > 0 {
			resources = append(resources, d.Resource)
		}
	}
	return resources
}

// Document is one document of a manifest.
type Document struct {
	// Text is the document, unchanged.
	Text string
	// CRD says whether the document comes from a crds/ directory. Such a document is not
	// parsed.
	CRD bool
	// Resource is the parsed document. Its Object is empty if the document was not parsed,
	// or contains only comments.
	Resource sequencer.Resource
}

// Documents splits and parses a manifest. Its parameters are those of Resources. Unlike
// Resources, it returns all documents, including those from crds/ directories and those
// that contain only comments.
func Documents(manifest string, charts []string, root *sequencer.Chart, withCRDs bool) ([]Document, error) {
	texts := Split(manifest)
	if charts != nil && len(charts) != len(texts) {
		return nil, fmt.Errorf("the manifest has %d documents, but the order record has charts for %d", len(texts), len(charts))
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

// Resources returns the parsed resources of r, for sequencer.Build. If r.Charts is set, they
// come from the output of the post-renderer. Otherwise they come from the documents before a
// post-renderer changed them, in which no Secrets are hidden. withCRDs is as in the function
// Resources.
func (r *Result) Resources(root *sequencer.Chart, withCRDs bool) ([]sequencer.Resource, error) {
	docs, err := r.Documents(root, withCRDs, r.Charts == nil && !r.restored)
	if err != nil {
		return nil, err
	}
	return DocumentResources(docs), nil
}

// Documents returns the documents of the manifest, in the order in which they are stored.
// If beforePostRenderer is set, they are as before a post-renderer changed them, and no Secrets
// are hidden. withCRDs is as in the function Resources.
func (r *Result) Documents(root *sequencer.Chart, withCRDs, beforePostRenderer bool) ([]Document, error) {
	if !beforePostRenderer && r.Changed() {
		return Documents(r.Manifest, r.Charts, root, withCRDs)
	}
	if docs, parsed := r.parsedDocuments(root, withCRDs); parsed {
		return docs, nil
	}
	return Documents(r.stream(false), nil, root, withCRDs)
}

// Contents returns the objects in r.Files and r.Hooks, for redact.ForObjects: no Secrets are hidden in
// them. Objects from crds/ directories are not among them.
func (r *Result) Contents() []map[string]any {
	var contents []map[string]any
	for _, f := range r.Files {
		switch {
		case f.crd:
		case f.parsed && !f.Secret && f.object["items"] == nil:
			contents = append(contents, f.object)
		default: // with all digits of numbers
			contents = append(contents, redact.ManifestObjects(f.Content)...)
		}
	}
	return append(contents, redact.HookObjects(r.Hooks)...)
}

// Changed reports whether the documents in Manifest differ from Files: comments replace
// Secrets, or a post-renderer has changed them.
func (r *Result) Changed() bool { return r.changed }

// parsedDocuments returns the documents of r.Files. parsed is false if there is a document
// that was not parsed.
func (r *Result) parsedDocuments(root *sequencer.Chart, withCRDs bool) (docs []Document, parsed bool) {
	docs = make([]Document, 0, len(r.Files))
	for _, f := range r.Files {
		text := sourceComment + f.Name + "\n" + f.Content
		resource := sequencer.Resource{Chart: ChartOf(root, f.Name), File: f.Name, Object: f.object}
		switch {
		case f.crd && withCRDs:
			for _, crd := range Split(text) {
				docs = append(docs, Document{Text: crd, CRD: true, Resource: resource})
			}
		case f.parsed:
			docs = append(docs, Document{Text: text, Resource: resource})
		default:
			return nil, false
		}
	}
	return docs, true
}

// leadingSpace returns the whitespace at the start of a text.
func leadingSpace(text string) string {
	return text[:len(text)-len(strings.TrimLeftFunc(text, unicode.IsSpace))]
}

// sourceComment begins the comment with the path of a document's template.
const sourceComment = "# Source: "

// sourceFile returns the path of the template in the Source comment that Helm writes at the
// start of a document, or an empty string if the document has no such comment.
func sourceFile(doc string) string {
	first, _, _ := strings.Cut(doc, "\n")
	file, found := strings.CutPrefix(first, sourceComment)
	if !found {
		return ""
	}
	return strings.TrimSpace(file)
}

// ChartOf returns the path of the chart in the tree root that contains a template, for
// example "foo/bar" for the template "foo/charts/bar/templates/x.yaml".
func ChartOf(root *sequencer.Chart, file string) string {
	chart, _ := findChart(root, file)
	return chart
}

// findChart returns the path of the chart in the tree root that contains file. below is the
// path of the file within that chart.
func findChart(root *sequencer.Chart, file string) (chart, below string) {
	chart = root.Name
	below, found := strings.CutPrefix(file, root.Name+"/")
	for found {
		name, rest, isSub := subchartPath(below)
		sub := subchartInDirectory(root, name)
		if !isSub || sub == nil {
			break
		}
		root, below = sub, rest
		chart += "/" + sub.Name
	}
	return chart, below
}

// subchartPath splits a path such as "charts/name/below" into name and below. is reports
// whether the path starts with "charts/".
func subchartPath(path string) (name, below string, is bool) {
	path, is = strings.CutPrefix(path, "charts/")
	name, below, _ = strings.Cut(path, "/")
	return name, below, is
}

// subchartInDirectory returns the subchart of c to which a directory of charts/ belongs in
// the names of templates; nil if there is none. If the subchart has an alias, this is the
// directory's name, except in the names of templates of charts inside the subchart that are
// not declared as its dependencies: there, Helm uses the subchart's own name.
func subchartInDirectory(c *sequencer.Chart, directory string) *sequencer.Chart {
	names := []string{directory}
	for _, d := range c.Dependencies {
		if d.Name == directory && d.Alias != "" && !d.Disabled {
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
