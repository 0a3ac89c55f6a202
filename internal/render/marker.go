// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// marker is a temporary annotation that contains the path of an object's chart. It is added
// before a post-renderer runs and removed after it. The Source comments, from which the
// chart is known otherwise, can be lost in a post-renderer.
const marker = "ordered.helm.sh/chart"

// The value of a marker begins with one of these characters. It says which annotations the
// object had before, so that removing the marker restores the object exactly.
const (
	hadAnnotations = '='
	hadNone        = '+'
	hadNull        = '~' // the annotations were null; followed by an index in nulls
)

// nulls are the notations of null in YAML.
var nulls = [...]string{"", "null", "~", "Null", "NULL"}

// addChartMarkers returns the manifest with a marker in every object. If hideSecret is set,
// the contents of Secrets are hidden.
func (r *Result) addChartMarkers(root *sequencer.Chart, hideSecret bool) (string, error) {
	var b strings.Builder
	for _, f := range r.Files {
		chart := ChartOf(root, f.Name)
		content, err := rewrite(f.text(hideSecret), func(doc string) (string, error) {
			return markDocument(doc, chart)
		})
		if err != nil {
			return "", err
		}
		writeDocument(&b, f.Name, content)
	}
	return b.String(), nil
}

// markDocument adds a marker with the path of the chart to each object in doc.
func markDocument(doc, chart string) (string, error) {
	root, err := yamledit.Parse(doc)
	if err != nil || root == nil {
		return doc, nil //nolint:nilerr // it is not a valid document, so it has no chart
	}
	var changes []yamledit.Change
	seen := map[*yaml.Node]bool{} // several objects may share one mapping
	for _, object := range Objects(root) {
		metadata := yamledit.Lookup(object, "metadata")
		if metadata == nil || metadata.Kind != yaml.MappingNode || seen[metadata] {
			continue
		}
		seen[metadata] = true
		annotations := yamledit.Lookup(metadata, "annotations")
		c := yamledit.Change{Mapping: metadata, Key: "annotations"}
		switch {
		case annotations == nil:
			c.Insert, c.NewValue = true, yamledit.Mapping(marker, string(hadNone)+chart)
		case annotations.ShortTag() == "!!null" && slices.Contains(nulls[:], annotations.Value):
			how := strconv.Itoa(slices.Index(nulls[:], annotations.Value))
			c.NewValue = yamledit.Mapping(marker, string(hadNull)+how+chart)
		case annotations.Kind == yaml.MappingNode && !seen[annotations]:
			seen[annotations] = true
			c = yamledit.Change{Mapping: annotations, Key: marker, NewValue: yamledit.Text(string(hadAnnotations) + chart), Insert: true}
		default:
			continue
		}
		changes = append(changes, c)
	}
	return yamledit.Apply(doc, root, changes)
}

// removeChartMarkers removes the markers from r.Manifest, the output of the post-renderer,
// and sets r.Charts from them. A document without a marker belongs to the root chart.
func (r *Result) removeChartMarkers(rootChart string) error {
	r.Charts = []string{}
	clean, err := rewrite(r.Manifest, func(doc string) (string, error) {
		clean, chart, err := unmarkDocument(doc)
		r.Charts = append(r.Charts, cmp.Or(chart, rootChart))
		return clean, err
	})
	if err != nil {
		return err
	}
	r.Manifest = clean
	return nil
}

// unmarkDocument removes the markers from doc, and returns the chart that they name. chart
// is empty if there are none.
func unmarkDocument(doc string) (clean, chart string, err error) {
	if !strings.Contains(doc, marker) {
		return doc, "", nil
	}
	root, err := yamledit.Parse(doc)
	if err != nil {
		return doc, "", fmt.Errorf("read what the post-renderer returned: %w", err)
	}
	var changes []yamledit.Change
	seen := map[*yaml.Node]bool{}
	for _, object := range Objects(root) {
		metadata := yamledit.Lookup(object, "metadata")
		annotations := yamledit.Lookup(metadata, "annotations")
		value := yamledit.Lookup(annotations, marker)
		if value == nil || seen[annotations] {
			continue
		}
		seen[annotations] = true
		had, null, path := readMarker(value.Value)
		if chart != "" && chart != path {
			return doc, "", fmt.Errorf("the post-renderer combined objects of charts %s and %s into one document, "+
				"so their order is lost: configure it to keep them in separate documents", chart, path)
		}
		chart = path
		c := yamledit.Change{Mapping: annotations, Key: marker, Delete: true}
		if alone := len(annotations.Content) == 2; alone && had == hadNone {
			c = yamledit.Change{Mapping: metadata, Key: "annotations", Delete: true}
		} else if alone && had == hadNull {
			c = yamledit.Change{Mapping: metadata, Key: "annotations", NewValue: yamledit.Null(null)}
		}
		changes = append(changes, c)
	}
	clean, err = yamledit.Apply(doc, root, changes)
	return clean, chart, err
}

// readMarker splits the value of a marker. had is the character that says which annotations
// the object had, null their notation if they were null, and path the path of the chart.
func readMarker(value string) (had byte, null, path string) {
	if value == "" {
		return hadAnnotations, "", ""
	}
	had, path = value[0], value[1:]
	if had == hadNull && path != "" {
		null = nulls[min(max(int(path[0])-'0', 0), len(nulls)-1)]
		path = path[1:]
	}
	return had, null, path
}
