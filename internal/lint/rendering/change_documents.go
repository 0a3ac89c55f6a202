// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package rendering

import (
	"errors"
	"maps"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// objectKey identifies an object in a template. Two documents can have the same key.
type objectKey struct {
	source, kind, namespace, name string
}

func keyOf(source string, object map[string]any) objectKey {
	metadata := field.Map(object, "metadata")
	return objectKey{source, field.String(object, "kind"), field.String(metadata, "namespace"), field.String(metadata, "name")}
}

// changeDocuments lets change, which emits the event post-render, change r.Documents. If that fails, they stay
// as they are. If the documents of the templates are invalid, so that an installation would not get to the
// event, change is not called; other rules report why.
func (r *Rendering) changeDocuments(change func(*lifecycle.Manifest) error) {
	c := changes{rendered: map[objectKey][]*lifecycle.Document{}, unchanged: map[*lifecycle.Document]bool{}}
	isRendered := map[*lifecycle.Document]bool{}
	_, err := render.FromTemplates(r.chart, maps.Clone(r.Templates), render.Options{ChangeManifest: func(m *lifecycle.Manifest) error {
		for _, d := range m.Documents {
			key := documentKey(d)
			c.rendered[key], isRendered[d] = append(c.rendered[key], d), true
		}
		err := change(m)
		for _, d := range m.Documents {
			if isRendered[d] && !d.IsChanged() {
				c.unchanged[d] = true
			} else {
				c.changed = append(c.changed, d)
			}
		}
		return err
	}})
	_, hasFailed := errors.AsType[*lifecycle.Error](err)
	_, isInvalid := errors.AsType[*render.ChangeError](err)
	switch {
	case hasFailed || isInvalid:
		r.Failure = err
	case err == nil:
		r.Documents = c.apply(r.Documents)
	}
}

// changes are what handlers have changed in the manifest.
type changes struct {
	// rendered contains the documents of the templates.
	rendered map[objectKey][]*lifecycle.Document
	// unchanged contains those of them that the handlers have kept, and changed the documents that they have
	// changed or added.
	unchanged map[*lifecycle.Document]bool
	changed   []*lifecycle.Document
}

// apply returns the documents of the templates with the changes. Hooks, which are in no manifest, stay.
func (c *changes) apply(documents []Document) []Document {
	changed := map[objectKey][]string{}
	var added []Document
	for _, d := range c.changed {
		text, err := d.Text()
		switch key := documentKey(d); {
		case err != nil: // an installation would not get here
		case len(changed[key]) < len(c.rendered[key]):
			changed[key] = append(changed[key], text)
		default:
			added = append(added, Document{d.Source, -1, text})
		}
	}
	var result []Document
	for _, d := range documents {
		object, err := yamledit.ParseYAMLObject(d.Text)
		key := keyOf(d.Source, object)
		isHook := field.Get(object, "metadata", "annotations", release.HookAnnotation) != nil
		if err != nil || isHook || len(c.rendered[key]) == 0 {
			result = append(result, d)
			continue
		}
		before := c.rendered[key][0]
		c.rendered[key] = c.rendered[key][1:]
		switch {
		case c.unchanged[before]:
			result = append(result, d)
		case len(changed[key]) > 0:
			d.Text, changed[key] = changed[key][0], changed[key][1:]
			result = append(result, d)
		}
	}
	return append(result, added...)
}

func documentKey(d *lifecycle.Document) objectKey {
	object, _ := d.Object() // the documents of a manifest are mappings
	return keyOf(d.Source, object)
}
