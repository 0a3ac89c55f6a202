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

// marker is an annotation with the path of an object's chart. Objects have it only while a
// post-renderer runs, because a post-renderer can drop the Source comments, which otherwise
// say to which chart a document belongs.
const marker = "ordered.helm.sh/chart"

// The value of a marker starts with one of these characters, followed by the path of the
// chart. The character says which annotations the object had before, so that the object can
// be restored exactly.
const (
	hadAnnotations = '='
	hadNone        = '+'
	hadNull        = '~' // "annotations" was null; an index in nulls follows
)

// nulls are the ways to write null in YAML.
var nulls = [...]string{"", "null", "~", "Null", "NULL"}

// addChartMarkers returns the manifest with a marker in every object. If hideSecret is set,
// comments replace Secrets.
func (r *Result) addChartMarkers(root *sequencer.Chart, hideSecret bool) (string, error) {
	var b strings.Builder
	for _, f := range r.Files {
		chart := ChartOf(root, f.Name)
		content, err := rewriteDocuments(f.text(hideSecret), func(doc string) (string, error) {
			return markDocument(doc, chart)
		})
		if err != nil {
			return "", err
		}
		writeDocument(&b, f.Name, content)
	}
	return b.String(), nil
}

// markDocument adds a marker to each object in doc. chart is the path that the marker
// contains.
func markDocument(doc, chart string) (string, error) {
	root, err := yamledit.Parse(doc)
	if err != nil || root == nil {
		return doc, nil //nolint:nilerr // a document without objects gets no marker
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

// removeChartMarkers removes the markers from r.Manifest, which is the output of the
// post-renderer, and sets r.Charts to the charts that they name. A document without a
// marker belongs to rootChart.
func (r *Result) removeChartMarkers(rootChart string) error {
	r.Charts = []string{}
	clean, err := rewriteDocuments(r.Manifest, func(doc string) (string, error) {
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

// unmarkDocument returns doc without its markers, and the path of the chart that they name;
// an empty path if there are none. It returns an error if they name different charts.
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

// readMarker splits the value of a marker: had is the first character, null says how null
// was written if the annotations were null, and path is the path of the chart.
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
