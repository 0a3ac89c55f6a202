// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package valuesschema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/yamledit"
)

const (
	// maxDepth limits how deeply the mappings and lists of a schema are nested.
	maxDepth = 500
	// maxSize limits the size of a schema with all files to which it refers, in bytes. It is
	// the size of the largest file that Helm loads.
	maxSize = 5 << 20
)

// document is one of the files of which a schema consists.
type document struct {
	// file is the path of the file relative to the root chart, for errors.
	file string
	// folder is the directory of the file in its chart.
	folder string
	// pointer is the JSON pointer to the document in the schema: empty for the schema itself.
	pointer []string

	text    []byte
	content any
	root    *yaml.Node
	// size is the size of the document as JSON, in which aliases are replaced with copies.
	size int
}

// decode sets the content of the document. As for values, the rules of Helm apply to YAML: for
// example, yes is a boolean.
func (d *document) decode() error {
	if err := yamledit.CheckAliases(string(d.text)); err != nil {
		return &Error{File: d.file, Problem: err.Error()}
	}
	root, err := yamledit.Parse(string(d.text))
	if err != nil {
		return newSyntaxError(d.file, err)
	}
	d.root = root
	if err := d.checkSingle(); err != nil {
		return err
	}
	if depth(root, maxDepth) > maxDepth {
		return &Error{File: d.file, Problem: fmt.Sprintf("is nested more than %d levels deep", maxDepth)}
	}
	asJSON, err := sigsyaml.YAMLToJSONStrict(d.text)
	if err != nil {
		return newSyntaxError(d.file, err)
	}
	d.size = len(asJSON)
	if d.content, err = decodeJSON(asJSON); err != nil {
		return newSyntaxError(d.file, err)
	}
	switch d.content.(type) {
	case map[string]any, bool:
		return nil
	}
	return d.newError(nil, "is not a JSON Schema: it must be a mapping")
}

// decodeJSON returns the content of a JSON document, with all digits of numbers.
func decodeJSON(text []byte) (content any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&content); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is more than one value")
	}
	return content, nil
}

// checkSingle returns an error if the text contains more than one YAML document.
func (d *document) checkSingle() error {
	decoder := yaml.NewDecoder(strings.NewReader(string(d.text)))
	var first, second yaml.Node
	if decoder.Decode(&first) != nil {
		return nil // it is empty
	}
	if err := decoder.Decode(&second); errors.Is(err, io.EOF) {
		return nil
	}
	return &Error{File: d.file, Line: second.Line, Problem: "contains more than one document: keep one"}
}

// depth returns how deeply n is nested, or a larger number than limit if it is more.
func depth(n *yaml.Node, limit int) int {
	if n == nil || limit < 0 {
		return 1
	}
	deepest := 0
	for _, c := range yamledit.Resolve(n).Content {
		deepest = max(deepest, depth(c, limit-1))
	}
	return deepest + 1
}

// newError returns an error about the place to which path leads in the document.
func (d *document) newError(path []string, format string, args ...any) *Error {
	e := &Error{File: d.file, Problem: fmt.Sprintf(format, args...)}
	if n := d.node(path); n != nil {
		e.Line, e.Column = n.Line, n.Column
	}
	return e
}

// node returns the node of the key or list item to which path leads, or of the innermost one on
// the way that exists.
func (d *document) node(path []string) *yaml.Node {
	found, n := d.root, d.root
	for _, key := range path {
		keyNode, value := child(yamledit.Resolve(n), key)
		if value == nil {
			return found
		}
		found, n = keyNode, value
	}
	return found
}

// child returns the key and the value of an entry of a mapping, or the item of a list twice. n
// can be nil.
func child(n *yaml.Node, key string) (keyNode, value *yaml.Node) {
	switch {
	case n == nil:
	case n.Kind == yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				return n.Content[i], n.Content[i+1]
			}
		}
	case n.Kind == yaml.SequenceNode:
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(n.Content) {
			return n.Content[i], n.Content[i]
		}
	}
	return nil, nil
}

// lookup returns the value to which a path leads in a decoded document.
func lookup(content any, path []string) (value any, found bool) {
	for _, key := range path {
		switch v := content.(type) {
		case map[string]any:
			if content, found = v[key]; !found {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(key)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			content = v[i]
		default:
			return nil, false
		}
	}
	return content, true
}
