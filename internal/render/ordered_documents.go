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

// OrderedDocument is a document of a manifest with its place in the deployment order.
type OrderedDocument struct {
	// Text is the document. File is the template that contains it.
	Text, File string
	// Node is the node of the deployment graph that the document belongs to. It is nil for
	// a CustomResourceDefinition from a crds/ directory.
	Node *sequencer.Node
	// Objects contains the parsed objects in the document.
	Objects []map[string]any
}

// OrderDocuments sorts documents in deployment order. CustomResourceDefinitions from crds/
// directories come first, followed by the nodes of the deployment graph and, within a node,
// its resources. A List whose items are in several nodes is split into a document for each
// item. Documents that contain only comments are left out. plan is the plan of the resources in
// docs (see DocumentResources).
func OrderDocuments(docs []Document, plan *sequencer.Plan) ([]OrderedDocument, error) {
	var ordered []OrderedDocument
	var sources []Document
	for _, d := range docs {
		switch {
		case d.CRD:
			ordered = append(ordered, OrderedDocument{Text: d.Text, File: d.Resource.File})
		case len(d.Resource.Object) > 0:
			sources = append(sources, d)
		}
	}
	nodes := make([]map[*sequencer.Node]bool, len(sources)) // for each source, the nodes of its objects
	for _, n := range plan.Nodes {
		for _, r := range n.Resources {
			if nodes[r.Source] == nil {
				nodes[r.Source] = map[*sequencer.Node]bool{}
			}
			nodes[r.Source][n] = true
		}
	}
	for _, n := range plan.Nodes {
		done := map[int]int{} // for each source of this node, the index in ordered
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

// orderedDocument returns d, the document that contains the resource r, as a document of
// the node n. If alone is set, the result contains only r, and not the other items of the
// List.
func orderedDocument(d Document, n *sequencer.Node, r *sequencer.PlannedResource, alone bool) (OrderedDocument, error) {
	ordered := OrderedDocument{Text: d.Text, File: d.Resource.File, Node: n}
	if !alone {
		return ordered, nil
	}
	text, err := yaml.Marshal(r.Object())
	if err != nil {
		return ordered, fmt.Errorf("%s: %s: %w", r.File, r.ID, err)
	}
	ordered.Text = fmt.Sprintf("# Source: %s\n%s", r.File, strings.TrimSuffix(string(text), "\n"))
	return ordered, nil
}

// Stream joins documents to a YAML stream. If markers is set, it adds comments that mark
// the start and the end of each layer. The comments are part of the documents, so that the
// number of documents stays the same.
func Stream(docs []OrderedDocument, markers bool) string {
	var b strings.Builder
	size := 0
	for _, d := range docs {
		size += len("---\n\n") + len(d.Text)
	}
	b.Grow(size)
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

// startMarker and endMarker begin the comments that mark the start and the end of a layer.
const (
	startMarker = "## START layer: "
	endMarker   = "## END layer: "
)

// WithoutMarkers returns a document without the comments that Stream adds at the start and
// the end of a layer.
func WithoutMarkers(doc string) string {
	if strings.HasPrefix(doc, startMarker) {
		_, doc, _ = strings.Cut(doc, "\n")
	}
	if at := strings.LastIndexByte(doc, '\n'); at >= 0 && strings.HasPrefix(doc[at+1:], endMarker) {
		doc = doc[:at]
	}
	return doc
}

// Files returns documents in the form that WriteFiles needs: without their Source comments.
func Files(docs []OrderedDocument) []File {
	files := make([]File, len(docs))
	for i, d := range docs {
		content := d.Text
		if sourceFile(content) != "" {
			_, content, _ = strings.Cut(content, "\n")
		}
		files[i] = File{Name: d.File, Content: content}
	}
	return slices.Clip(files)
}
