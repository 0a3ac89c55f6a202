// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/yamledit"
)

// Manifest is a list of documents. Handlers can add documents to it, and remove and reorder them.
type Manifest struct {
	Documents []*Document
}

// Document is one document of a manifest. A document that nobody changes keeps every byte of its text.
type Document struct {
	// Source is the path of the template that has rendered the document, such as
	// shop/templates/web.yaml. It is empty for documents that a handler has added.
	Source string

	text   string
	object map[string]any // decoded when it is needed first
	isSet  bool           // object was set by SetObject, so that text is out of date
}

// NewDocument returns a document with a text in YAML.
func NewDocument(source, text string) *Document { return &Document{Source: source, text: text} }

// NewParsedDocument is like NewDocument for a text that was parsed already.
func NewParsedDocument(source, text string, object map[string]any) *Document {
	return &Document{Source: source, text: text, object: object}
}

// Object returns the content of the document. The caller must not change it: see SetObject. It
// returns an error if the document is not a mapping in YAML.
func (d *Document) Object() (map[string]any, error) {
	if d.object == nil {
		if err := yaml.Unmarshal([]byte(d.text), &d.object); err != nil {
			return nil, fmt.Errorf("%s: %w", d.Source, err)
		}
	}
	return d.object, nil
}

// SetObject replaces the content of the document. Comments in its text are lost.
func (d *Document) SetObject(object map[string]any) { d.object, d.isSet = object, true }

// IsChanged reports whether SetObject was called.
func (d *Document) IsChanged() bool { return d.isSet }

// Text returns the document in YAML. It returns an error if the object cannot be encoded.
func (d *Document) Text() (string, error) {
	text, _, err := d.Encode()
	return text, err
}

// Encode is like Text. object is the content as the text is parsed; nil if the text must be parsed to know it.
func (d *Document) Encode() (text string, object map[string]any, err error) {
	if !d.isSet {
		return d.text, nil, nil
	}
	if text, object, err = yamledit.EncodeObject(d.object); err != nil {
		return "", nil, fmt.Errorf("%s: %w", d.Source, err)
	}
	return text, object, nil
}
