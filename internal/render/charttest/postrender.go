// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package charttest

import (
	"bytes"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/render"
)

// PostRenderer is a post-renderer that changes the list of documents.
type PostRenderer func(docs []string) ([]string, error)

// Run is what makes it one for Helm.
func (p PostRenderer) Run(in *bytes.Buffer) (*bytes.Buffer, error) {
	docs, err := p(render.Split(in.String()))
	out := &bytes.Buffer{}
	for _, doc := range docs {
		out.WriteString("---\n" + doc + "\n")
	}
	return out, err
}

// Cat returns the very bytes that it is given.
type Cat struct{}

// Run is what makes it a post-renderer for Helm.
func (Cat) Run(in *bytes.Buffer) (*bytes.Buffer, error) {
	return bytes.NewBuffer(slices.Clone(in.Bytes())), nil
}

// DropComments writes every document anew, as most post-renderers do.
func DropComments(docs []string) ([]string, error) {
	for i, doc := range docs {
		var object map[string]any
		err := yaml.Unmarshal([]byte(doc+"\n"), &object)
		if err != nil {
			return nil, err
		}
		text, err := yaml.Marshal(object)
		if err != nil {
			return nil, err
		}
		docs[i] = string(bytes.TrimSpace(text))
	}
	return docs, nil
}

// ToJSON writes every document as JSON.
func ToJSON(docs []string) ([]string, error) {
	for i, doc := range docs {
		text, err := yaml.YAMLToJSON([]byte(doc + "\n"))
		if err != nil {
			return nil, err
		}
		docs[i] = string(text)
	}
	return docs, nil
}

// Reverse drops comments and turns the order round.
func Reverse(docs []string) ([]string, error) {
	docs, err := DropComments(docs)
	slices.Reverse(docs)
	return docs, err
}

// Added is the document that Add adds.
const Added = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: added"

// Add drops comments and puts a document before the others.
func Add(docs []string) ([]string, error) {
	docs, err := DropComments(docs)
	return append([]string{Added}, docs...), err
}
