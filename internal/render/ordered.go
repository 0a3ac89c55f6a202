// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// OrderedDocument is a document with its position in the order of a release.
type OrderedDocument struct {
	// Text is the document, and File the template that it comes from.
	Text, File string
	// Node is its node. It is nil for a definition from a crds/ directory.
	Node *sequencer.Node
	// Objects are the objects in the document.
	Objects []map[string]any
}

// OrderDocuments returns documents in the order in which they are deployed: first the
// definitions from crds/ directories, then the nodes one after the other, each in the order
// of its resources. It splits a list whose items are in several nodes. It omits documents
// that contain only comments.
func OrderDocuments(docs []Document, root *sequencer.Chart, namespace string) ([]OrderedDocument, error) {
	var ordered []OrderedDocument
	var in sequencer.Input
	var sources []Document
	for _, d := range docs {
		switch {
		case d.CRD:
			ordered = append(ordered, OrderedDocument{Text: d.Text, File: d.Resource.File})
		case len(d.Resource.Object) > 0:
			in.Resources, sources = append(in.Resources, d.Resource), append(sources, d)
		}
	}
	in.Root, in.Namespace = root, namespace
	plan, err := sequencer.Build(in)
	if err != nil {
		return nil, err
	}
	nodes := make([]map[*sequencer.Node]bool, len(sources)) // the nodes of each document
	for _, n := range plan.Nodes {
		for _, r := range n.Resources {
			if nodes[r.Source] == nil {
				nodes[r.Source] = map[*sequencer.Node]bool{}
			}
			nodes[r.Source][n] = true
		}
	}
	for _, n := range plan.Nodes {
		done := map[int]int{} // the index of each document in the result
		for _, r := range n.Resources {
			at, exists := done[r.Source]
			if !exists || len(nodes[r.Source]) > 1 {
				d, err := orderedDocument(sources[r.Source], n, r, len(nodes[r.Source]) > 1)
				if err != nil {
					return nil, err
				}
				at = len(ordered)
				done[r.Source] = at
				ordered = append(ordered, d)
			}
			ordered[at].Objects = append(ordered[at].Objects, r.Object())
		}
	}
	return ordered, nil
}

// orderedDocument returns the whole document. If the document is split, it returns the
// resource as a separate document.
func orderedDocument(d Document, n *sequencer.Node, r *sequencer.PlannedResource, apart bool) (OrderedDocument, error) {
	ordered := OrderedDocument{Text: d.Text, File: d.Resource.File, Node: n}
	if !apart {
		return ordered, nil
	}
	text, err := yaml.Marshal(r.Object())
	if err != nil {
		return ordered, fmt.Errorf("%s: %s: %w", r.File, r.ID, err)
	}
	ordered.Text = fmt.Sprintf("# Source: %s\n%s", r.File, strings.TrimSuffix(string(text), "\n"))
	return ordered, nil
}

// Stream writes documents one after the other. With markers, comments within the
// documents mark the start and end of each layer, so that the number of documents stays
// the same.
func Stream(docs []OrderedDocument, markers bool) string {
	var b strings.Builder
	for i, d := range docs {
		b.WriteString("---\n")
		layered := markers && d.Node != nil && d.Node.Layer != ""
		if layered && (i == 0 || docs[i-1].Node != d.Node) {
			fmt.Fprintf(&b, "%s%s %s\n", startMarker, d.Node.Chart, d.Node.Layer)
		}
		b.WriteString(d.Text)
		b.WriteString("\n")
		if layered && (i == len(docs)-1 || docs[i+1].Node != d.Node) {
			fmt.Fprintf(&b, "%s%s %s\n", endMarker, d.Node.Chart, d.Node.Layer)
		}
	}
	return b.String()
}

const (
	startMarker = "## START layer: "
	endMarker   = "## END layer: "
)

// WithoutMarkers removes the markers of Stream from a document.
func WithoutMarkers(doc string) string {
	if strings.HasPrefix(doc, startMarker) {
		_, doc, _ = strings.Cut(doc, "\n")
	}
	if at := strings.LastIndexByte(doc, '\n'); at >= 0 && strings.HasPrefix(doc[at+1:], endMarker) {
		doc = doc[:at]
	}
	return doc
}

// Files returns documents as files to write.
func Files(docs []OrderedDocument) []File {
	files := make([]File, len(docs))
	for i, d := range docs {
		content := d.Text
		if sourceComment(content) != "" {
			_, content, _ = strings.Cut(content, "\n")
		}
		files[i] = File{Name: d.File, Content: content}
	}
	return slices.Clip(files)
}
