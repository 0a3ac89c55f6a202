// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/ordered-helm/helm/pkg/sequencer"
)

// Resources parses the documents of a manifest. The chart of each is the one
// that charts names at its place, or where charts is nil the one that its
// Source comment names.
func Resources(manifest string, charts []string, root *sequencer.Chart) ([]sequencer.Resource, error) {
	docs := Split(manifest)
	if charts != nil && len(charts) != len(docs) {
		return nil, fmt.Errorf("the manifest has %d documents, but charts are known for %d", len(docs), len(charts))
	}
	resources := make([]sequencer.Resource, 0, len(docs))
	for i, doc := range docs {
		file := sourceOf(doc)
		object, err := parse(doc)
		if err != nil {
			return nil, fmt.Errorf("YAML parse error on %s: %w", file, err)
		}
		if len(object) == 0 {
			continue // nothing but comments
		}
		r := sequencer.Resource{File: file, Object: object}
		if charts != nil {
			r.Chart = charts[i]
		} else {
			r.Chart = ChartOf(root, file)
		}
		resources = append(resources, r)
	}
	return resources, nil
}

// parse reads a document as the API machinery does: whole numbers stay whole.
func parse(doc string) (map[string]any, error) {
	text, err := utilyaml.ToJSON([]byte(doc))
	if err != nil {
		return nil, err
	}
	var object map[string]any
	err = utiljson.Unmarshal(text, &object)
	return object, err
}

// sourceOf reads the file from the comment that Helm puts before a document.
func sourceOf(doc string) string {
	first, _, _ := strings.Cut(doc, "\n")
	if file, found := strings.CutPrefix(first, "# Source: "); found {
		return strings.TrimSpace(file)
	}
	return "(no Source comment)"
}

// ChartOf finds the chart that a template belongs to by its path, such as
// "foo/charts/bar/templates/x.yaml": its path in the tree, such as "foo/bar".
func ChartOf(root *sequencer.Chart, file string) string {
	path := root.Name
	rest, found := strings.CutPrefix(file, root.Name+"/")
	for found {
		var sub *sequencer.Chart
		rest, found = strings.CutPrefix(rest, "charts/")
		if !found {
			break
		}
		if sub, rest = subchartAt(root, rest); sub == nil {
			break
		}
		root = sub
		path += "/" + sub.Name
	}
	return path
}

func subchartAt(c *sequencer.Chart, rest string) (*sequencer.Chart, string) {
	name, below, _ := strings.Cut(rest, "/")
	i := slices.IndexFunc(c.Subcharts, func(s *sequencer.Chart) bool { return s.Name == name })
	if i < 0 {
		return nil, ""
	}
	return c.Subcharts[i], below
}
