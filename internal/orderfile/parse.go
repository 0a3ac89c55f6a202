// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/ordered-helm/helm/internal/yamledit"
)

// Parse reads an order file. name is its path for messages, such as shop/charts/kafka/order.yaml.
// chart is the path of the chart that it belongs to, such as shop/kafka: the names of the charts
// from the root chart to this one, where aliases replace names.
//
// If the document has another API group or kind, the error is ErrOther or wraps it. Otherwise, the
// error joins an *Error for each problem.
func Parse(name, chart string, text []byte) (*File, error) {
	r := &reader{file: &File{Name: name, Chart: chart, Text: text}}
	root, err := r.parseDocument(text)
	if err != nil {
		return nil, err
	}
	if r.readOrder(root); len(r.problems) > 0 {
		return nil, r.err()
	}
	return r.file, nil
}

// parseDocument returns the root node of an order file.
func (r *reader) parseDocument(text []byte) (*yaml.Node, error) {
	if len(text) > MaxSize {
		return nil, r.unreadable(text, 0, fmt.Sprintf("has %d bytes; the maximum is %d", len(text), MaxSize))
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	root, err := nextDocument(decoder)
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s is empty: %w", r.file.Name, ErrOther)
	case err != nil:
		line, problem := yamledit.SyntaxError(err)
		return nil, r.unreadable(text, line, problem)
	}
	if err := r.checkKind(root); err != nil {
		return nil, err
	}
	if err := yamledit.CheckAliases(string(text)); err != nil {
		return nil, r.unreadable(text, root.Line, err.Error())
	}
	for {
		another, err := nextDocument(decoder)
		switch {
		case errors.Is(err, io.EOF):
			return root, nil
		case err != nil:
			line, problem := yamledit.SyntaxError(err)
			return nil, r.unreadable(text, line, problem)
		case !isNull(another):
			return nil, r.unreadable(text, another.Line, "has more than one document: move the rules into one document")
		}
	}
}

// nextDocument returns the root node of the next document. The error is io.EOF if there is none.
func nextDocument(decoder *yaml.Decoder) (*yaml.Node, error) {
	var doc yaml.Node
	if err := decoder.Decode(&doc); err != nil {
		return nil, err
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) == 0 {
		return nil, io.EOF
	}
	return doc.Content[0], nil
}

// IsOrderFile reports whether text is an order file, which can have errors.
func IsOrderFile(text []byte) bool {
	_, err := Parse(FileName, "", text)
	return !errors.Is(err, ErrOther)
}

// unreadable returns an *Error about a file that cannot be read. It returns ErrOther if the file is
// probably not an order file: an order.yaml for another program need not even be YAML.
func (r *reader) unreadable(text []byte, line int, problem string) error {
	if !bytes.Contains(text, []byte(group+"/")) || !bytes.Contains(text, []byte(Kind)) {
		return fmt.Errorf("%s: %s: %w", r.file.Name, problem, ErrOther)
	}
	return &Error{File: r.file.Name, Line: max(line, 1), Problem: problem}
}

// checkKind returns ErrOther if a document has another API group or kind, and an *Error if it is an
// order file of another version.
func (r *reader) checkKind(root *yaml.Node) error {
	version, kind := scalar(yamledit.Lookup(root, "apiVersion")), scalar(yamledit.Lookup(root, "kind"))
	if g, _, hasGroup := strings.Cut(version, "/"); !hasGroup || g != group || kind != Kind {
		return fmt.Errorf("%s has apiVersion %q and kind %q instead of %q and %q: %w",
			r.file.Name, version, kind, APIVersion, Kind, ErrOther)
	}
	if version == APIVersion {
		return nil
	}
	at := yamledit.Lookup(root, "apiVersion")
	return &Error{File: r.file.Name, Line: max(at.Line, 1), Path: "apiVersion", Problem: fmt.Sprintf(
		"%q is not supported: this version of Ordered Helm reads %s; upgrade Ordered Helm, or use %s", version, APIVersion, APIVersion)}
}

// scalar returns the text of a scalar, and "" for any other node. n can be nil.
func scalar(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode {
		return ""
	}
	return n.Value
}
