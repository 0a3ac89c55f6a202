// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// addedSource is the path, in a chart, of documents that handlers of the event post-render have added.
const addedSource = "ext/added.yaml"

// ChangeError reports that a handler of the event post-render has changed the manifest to something invalid.
type ChangeError struct {
	// Source is the source of the document that is invalid.
	Source string
	Err    error
}

func (e *ChangeError) Error() string { return fmt.Sprintf("%s: %v", e.Source, e.Err) }

func (e *ChangeError) Unwrap() error { return e.Err }

// changeManifest lets o.ChangeManifest change the documents of a manifest. It returns the new documents
// in the order of the manifest, and those among them that were changed or added. Documents that were not
// changed keep every byte. root is the name of the root chart.
func changeManifest(files []File, root string, o Options) ([]File, []templateDocument, error) {
	m := &lifecycle.Manifest{Documents: make([]*lifecycle.Document, len(files))}
	unchanged := make(map[*lifecycle.Document]File, len(files))
	for i, f := range files {
		d := lifecycle.NewParsedDocument(f.Name, f.Content, f.object)
		m.Documents[i], unchanged[d] = d, f
	}
	if err := o.ChangeManifest(m); err != nil {
		return nil, nil, err
	}
	for _, d := range m.Documents {
		if d.Source == "" {
			d.Source = path.Join(root, addedSource)
		}
	}
	docs, documents := make([]File, len(m.Documents)), make([]templateDocument, len(m.Documents))
	err := forEachParallel(len(docs), func(i int) (err error) {
		d := m.Documents[i]
		if f, exists := unchanged[d]; exists && !d.IsChanged() {
			docs[i] = f
			return nil
		}
		if documents[i], err = changedDocument(d); err != nil {
			return &ChangeError{d.Source, err}
		}
		docs[i] = documents[i].asFile(documents[i].head)
		docs[i].changed = true
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	var changed []templateDocument
	for i := range docs {
		if docs[i].changed {
			changed = append(changed, documents[i])
		}
	}
	if err := checkUnique(docs); err != nil {
		return nil, nil, err
	}
	slices.SortStableFunc(docs, func(x, y File) int { return compareKinds(x.rank, y.rank, x.kind, y.kind) })
	return docs, changed, nil
}

// checkUnique returns an error if a document that a handler has changed or added defines an object that
// another document defines. The templates alone may do so, as in Helm.
func checkUnique(docs []File) error {
	kinds := map[string]bool{}
	for _, d := range docs {
		kinds[d.kind] = kinds[d.kind] || d.changed
	}
	first := map[string]File{} // the first document of each object of these kinds
	for _, d := range docs {
		if !kinds[d.kind] {
			continue
		}
		object := d.object
		if object == nil {
			var err error
			if object, err = yamledit.ParseYAMLObject(d.Content); err != nil {
				continue // Helm's parser reports it
			}
		}
		metadata, _ := mapField(object, "metadata")
		group, _, _ := strings.Cut(field.String(object, "apiVersion"), "/")
		id := strings.Join([]string{group, d.kind, field.String(metadata, "namespace"), field.String(metadata, "name")}, "/")
		other, exists := first[id]
		if exists && (d.changed || other.changed) {
			return &ChangeError{d.Name, fmt.Errorf("%s defines the same object, %s %s, after a handler of %s has changed the manifest",
				other.Name, d.kind, field.String(metadata, "name"), lifecycle.PostRender)}
		}
		first[id] = d
	}
	return nil
}

// changedDocument encodes a document that a handler has changed or added. The result is as that of
// templateDocuments.
func changedDocument(d *lifecycle.Document) (templateDocument, error) {
	text, object, err := d.Encode()
	text = strings.TrimSuffix(text, "\n")
	if err != nil {
		return templateDocument{}, err
	}
	if parts := Split(text); len(parts) != 1 {
		return templateDocument{}, fmt.Errorf("a handler of %s has changed it to %d documents: add documents to the manifest instead", lifecycle.PostRender, len(parts))
	}
	c := templateDocument{file: d.Source, rendered: text, object: object, parsed: object != nil}
	finish := c.parse
	if c.parsed {
		finish = c.convert
	}
	if err := finish(); err != nil {
		return c, err
	}
	var known bool
	c.head, known = c.readHead()
	switch {
	case !known || c.head.kind == "":
		return c, fmt.Errorf("a handler of %s has changed it to something that is not an object with a kind and a name: remove it from the manifest instead", lifecycle.PostRender)
	case c.head.isHook:
		return c, fmt.Errorf("a handler of %s has made a hook of %s: declare hooks in templates", lifecycle.PostRender, c.head.kind)
	}
	return c, nil
}

// LifecycleManifest returns the documents of a stored manifest.
func LifecycleManifest(manifest string) *lifecycle.Manifest {
	m := &lifecycle.Manifest{}
	for _, text := range Split(manifest) {
		m.Documents = append(m.Documents, lifecycle.NewDocument(sourceFile(text), text))
	}
	return m
}
