// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ordered-helm/helm/internal/yamledit"
	"github.com/ordered-helm/helm/pkg/sequencer"
)

// marker is the temporary annotation that carries the path of a document's
// chart through a post-renderer, which may drop comments.
const marker = "ordered.helm.sh/chart"

// madeAnnotations begins a marker's value where the object had no annotations,
// so that taking the marker out again leaves none.
const madeAnnotations = "+"

// mark gives the manifest with a marker in every object.
func (r *Result) mark(root *sequencer.Chart) (string, error) {
	var b strings.Builder
	for _, f := range r.Files {
		content, err := markDocument(f.Content, ChartOf(root, f.Name))
		if err != nil {
			return "", err
		}
		writeDocument(&b, f.Name, content)
	}
	return b.String(), nil
}

func markDocument(doc, chart string) (string, error) {
	root, err := yamledit.Parse(doc)
	if err != nil || root == nil {
		return doc, nil //nolint:nilerr // a document that is none has no chart to carry
	}
	var changes []yamledit.Change
	for _, object := range objectsIn(root) {
		metadata := yamledit.Lookup(object, "metadata")
		if metadata == nil || metadata.Kind != yaml.MappingNode {
			continue
		}
		annotations := yamledit.Lookup(metadata, "annotations")
		switch {
		case annotations == nil:
			changes = append(changes, yamledit.Change{
				Mapping: metadata, Key: "annotations", Insert: true,
				NewValue: mapping(marker, madeAnnotations+chart),
			})
		case annotations.Kind == yaml.MappingNode:
			changes = append(changes, yamledit.Change{
				Mapping: annotations, Key: marker, NewValue: yamledit.Text(chart), Insert: true,
			})
		}
	}
	return yamledit.Apply(doc, root, changes)
}

func mapping(key, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: yaml.FlowStyle, Content: []*yaml.Node{
		{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, yamledit.Text(value),
	}}
}

// unmark takes the markers out of what the post-renderer returned, and notes
// the chart of each document: the root chart where there is no marker.
func (r *Result) unmark(rootChart string) error {
	var b strings.Builder
	rest := r.Manifest
	r.Charts = []string{}
	for _, doc := range Split(r.Manifest) {
		clean, chart, err := unmarkDocument(doc)
		if err != nil {
			return err
		}
		if chart == "" {
			chart = rootChart
		}
		r.Charts = append(r.Charts, chart)
		at := strings.Index(rest, doc)
		b.WriteString(rest[:at])
		b.WriteString(clean)
		rest = rest[at+len(doc):]
	}
	b.WriteString(rest)
	r.Manifest = b.String()
	return nil
}

func unmarkDocument(doc string) (clean, chart string, err error) {
	if !strings.Contains(doc, marker) {
		return doc, "", nil
	}
	root, err := yamledit.Parse(doc)
	if err != nil {
		return doc, "", err
	}
	var changes []yamledit.Change
	for _, object := range objectsIn(root) {
		metadata := yamledit.Lookup(object, "metadata")
		annotations := yamledit.Lookup(metadata, "annotations")
		value := yamledit.Lookup(annotations, marker)
		if value == nil {
			continue
		}
		path, made := strings.CutPrefix(value.Value, madeAnnotations)
		if chart == "" {
			chart = path
		}
		c := yamledit.Change{Mapping: annotations, Key: marker, Delete: true}
		if made && len(annotations.Content) == 2 {
			c = yamledit.Change{Mapping: metadata, Key: "annotations", Delete: true}
		}
		changes = append(changes, c)
	}
	clean, err = yamledit.Apply(doc, root, changes)
	return clean, chart, err
}
