// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartformat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/chartutil"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// FromFlat rewrites a flat Chart.yaml in the format helm.sh/v3, with its comments. Translate is the
// inverse, except that the order of a chart of this format is enabled. As in a package, an annotation
// names the libraries among the dependencies. If the file has fields that the format does not have, the
// error joins a *FieldError for each.
func FromFlat(chartYAML []byte) ([]byte, error) {
	r := &reader{file: chartutil.ChartfileName}
	root := r.parse(chartYAML)
	w := &writer{first: stringNode("apiVersion"), labels: newMapping(), metadata: newMapping(), data: newMapping()}
	w.labels.add(stringNode("heritage"), stringNode("helm"))
	if root != nil && root.Kind != yaml.MappingNode {
		r.invalidf(root, "", "must be a mapping")
	} else if root != nil {
		for i := 0; i+1 < len(root.Content); i += 2 {
			w.addField(r, root.Content[i], root.Content[i+1])
		}
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	w.separateLibraries()
	return w.encode()
}

// writer collects the fields of a Chart.yaml of the format, by the mapping that contains them.
type writer struct {
	first                               *yaml.Node // the key apiVersion
	metadata, labels, annotations, data *mapping
	libraries                           []string // the names of the libraries among the dependencies
}

// mapping is a node of a YAML mapping.
type mapping struct{ yaml.Node }

func newMapping() *mapping { return &mapping{yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}} }

func (m *mapping) add(key, value *yaml.Node) { m.Content = append(m.Content, key, value) }

func stringNode(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
}

// addField adds a field of the flat format.
func (w *writer) addField(r *reader, key, value *yaml.Node) {
	name := key.Value
	switch place := properPlace(name); {
	case name == "apiVersion":
		w.first = key
	case slices.Contains(removedFields, name):
	case name == "annotations":
		w.addAnnotations(r, value)
	case name == "name":
		w.metadata.add(key, withStrings(value))
	case name == "version", name == "appVersion":
		w.labels.add(key, withStrings(value))
	case strings.HasPrefix(place, "data."):
		w.data.add(key, dataValue(name, value))
	default:
		r.invalidf(key, name, "does not exist in charts of %s: remove it", APIVersion)
	}
}

// addAnnotations adds the annotations, except that which says what the format implies.
func (w *writer) addAnnotations(r *reader, n *yaml.Node) {
	w.annotations = newMapping()
	if resolved := yamledit.Resolve(n); resolved.Kind == yaml.MappingNode {
		for i := 0; i+1 < len(resolved.Content); i += 2 {
			key, value := resolved.Content[i], resolved.Content[i+1]
			if key.Value == annotation.Sequencing && value.Value == annotation.SequencingEnabled {
				continue
			}
			if key.Value == annotation.Libraries && json.Unmarshal([]byte(value.Value), &w.libraries) == nil {
				continue
			}
			value = annotationValue(key.Value, value)
			if canonical := annotation.CanonicalChartKey(key.Value); canonical != key.Value && yamledit.Lookup(resolved, canonical) == nil {
				key.Value = canonical
			}
			w.annotations.add(withStrings(key), value)
		}
	} else if !isNull(resolved) {
		r.invalidf(n, "annotations", "must be a mapping")
	}
}

// separateLibraries moves the libraries among the dependencies to the field libraries.
func (w *writer) separateLibraries() {
	dependencies := yamledit.Lookup(&w.data.Node, "dependencies")
	if len(w.libraries) == 0 || dependencies == nil {
		return
	}
	libraries := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: dependencies.Style}
	dependencies.Content = slices.DeleteFunc(dependencies.Content, func(entry *yaml.Node) bool {
		name := yamledit.Lookup(entry, "name")
		isLibrary := name != nil && slices.Contains(w.libraries, name.Value)
		if isLibrary {
			libraries.Content = append(libraries.Content, entry)
		}
		return isLibrary
	})
	if len(dependencies.Content) > 0 {
		w.data.add(stringNode("libraries"), libraries)
		return
	}
	for i := 0; i+1 < len(w.data.Content); i += 2 {
		if w.data.Content[i].Value == "dependencies" {
			w.data.Content[i].Value, w.data.Content[i+1] = "libraries", libraries
		}
	}
}

// annotationValue returns the value of an annotation as a string.
func annotationValue(key string, value *yaml.Node) *yaml.Node {
	if annotation.IsChartList(key) {
		if text, change, err := annotation.CanonicalValue(key, value); err == nil && change {
			return yamledit.Text(text)
		}
	}
	return withStrings(value)
}

// otherTypes contains the fields of data whose values are not only strings.
var otherTypes = []string{"deprecated", "enabled", "import-values", annotation.HookModeField}

// dataValue returns the value of a field in data.
func dataValue(field string, value *yaml.Node) *yaml.Node {
	if slices.Contains(otherTypes, field) {
		return value
	}
	return withStrings(value)
}

// withStrings replaces numbers and booleans in n with the strings that Helm reads from a flat
// Chart.yaml, and returns n.
func withStrings(n *yaml.Node) *yaml.Node {
	switch n.Kind {
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !slices.Contains(otherTypes, n.Content[i].Value) {
				withStrings(n.Content[i+1])
			}
		}
	case yaml.SequenceNode:
		for _, item := range n.Content {
			withStrings(item)
		}
	case yaml.ScalarNode:
		if _, isString := annotation.DecodeYAML(n).(string); isString || isNull(n) {
			return n
		}
		var read struct {
			V string `json:"v"`
		}
		if sigsyaml.Unmarshal([]byte("v: "+n.Value), &read) == nil {
			n.Value = read.V
		}
		n.Tag, n.Style = "!!str", yaml.DoubleQuotedStyle
	}
	return n
}

// encode returns the text of the Chart.yaml.
func (w *writer) encode() ([]byte, error) {
	w.metadata.add(stringNode("labels"), &w.labels.Node)
	if w.annotations != nil && len(w.annotations.Content) > 0 {
		w.metadata.add(stringNode("annotations"), &w.annotations.Node)
	}
	root := newMapping()
	root.add(w.first, stringNode(APIVersion))
	root.add(stringNode("kind"), stringNode(kind))
	root.add(stringNode("metadata"), &w.metadata.Node)
	if len(w.data.Content) > 0 {
		root.add(stringNode("data"), &w.data.Node)
	}
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := errors.Join(encoder.Encode(&root.Node), encoder.Close()); err != nil {
		return nil, err
	}
	if _, err := yamledit.Parse(b.String()); err != nil {
		return nil, fmt.Errorf("%s: the fields cannot be moved, because some refer to others: replace the aliases in the file: %w", chartutil.ChartfileName, err)
	}
	return b.Bytes(), nil
}
