// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartgen

import (
	"bytes"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/render"
)

// PostRenderer is a post-renderer that calls a function with the documents of its input. The
// documents that the function returns are the output.
type PostRenderer func(docs []string) ([]string, error)

// Run implements Helm's interface postrender.PostRenderer.
func (p PostRenderer) Run(in *bytes.Buffer) (*bytes.Buffer, error) {
	docs, err := p(render.Split(in.String()))
	out := &bytes.Buffer{}
	for _, doc := range docs {
		out.WriteString("---\n" + doc + "\n")
	}
	return out, err
}

// Cat is a post-renderer that returns its input unchanged.
type Cat struct{}

// Run implements Helm's interface postrender.PostRenderer.
func (Cat) Run(in *bytes.Buffer) (*bytes.Buffer, error) {
	return bytes.NewBuffer(slices.Clone(in.Bytes())), nil
}

// DropComments decodes each document and encodes it again. This removes comments, as most
// post-renderers do.
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

// ToJSON encodes every document as JSON.
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

// Reverse removes comments and reverses the order of the documents.
func Reverse(docs []string) ([]string, error) {
	docs, err := DropComments(docs)
	slices.Reverse(docs)
	return docs, err
}

// AddedDocument is the document that AddDocument adds.
const AddedDocument = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: added"

// AddDocument removes comments and adds a document before the others.
func AddDocument(docs []string) ([]string, error) {
	docs, err := DropComments(docs)
	return append([]string{AddedDocument}, docs...), err
}
