// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package scripthandlers

import (
	"context"

	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/luasandbox"
)

// isOwn reports whether a document belongs to the chart or to one of its subcharts.
func (s *state) isOwn(d *lifecycle.Document) bool {
	return s.chart.Owns(d.Source)
}

// own returns the documents of the chart and its subcharts.
func (s *state) own(documents []*lifecycle.Document) []*lifecycle.Document {
	var own []*lifecycle.Document
	for _, d := range documents {
		if s.isOwn(d) {
			own = append(own, d)
		}
	}
	return own
}

// changeManifest calls the function for the event post-render, and applies what it changes in the
// documents of the chart and its subcharts.
func (h *handler) changeManifest(ctx context.Context, r *lifecycle.Request) error {
	release, err := h.runtime.acquire(ctx, h.event, r)
	if err != nil {
		return err
	}
	defer release()
	own := h.own(r.Manifest.Documents)
	objects := make([]any, len(own))
	for i, d := range own {
		object, err := d.Object()
		if err != nil {
			return err
		}
		objects[i] = object
	}
	manifest, err := h.lua.NewValue(objects)
	if err != nil {
		return h.mistake("cannot use the manifest: %w", err)
	}
	values := valuesAt(r.Values, namesBelowRoot(h.chart.Path))
	if err := h.call(ctx, []any{r.Name, r.Namespace, h.metadata(), values, manifest}); err != nil {
		return err
	}
	elements, err := manifest.Elements(ctx)
	if err != nil {
		return h.mistake("has changed the manifest to something that is not a list of documents: %w", err)
	}
	changed, err := h.documents(own, elements)
	if err != nil {
		return err
	}
	r.Manifest.Documents = h.replaceOwn(r.Manifest.Documents, changed)
	if err := h.runtime.usage.checkManifest(r.Manifest.Documents); err != nil {
		return h.mistake("%w", err)
	}
	return nil
}

// documents returns the documents of a changed manifest. Those that are not changed stay as they are.
func (h *handler) documents(own []*lifecycle.Document, elements []luasandbox.Element) ([]*lifecycle.Document, error) {
	documents := make([]*lifecycle.Document, len(elements))
	for i, e := range elements {
		if e.Index >= 0 && !e.Changed {
			documents[i] = own[e.Index]
			continue
		}
		object, isMap := e.Go.(map[string]any)
		if !isMap {
			return nil, h.mistake("has made element %d of the manifest something that is not an object with a kind and a name", i+1)
		}
		documents[i] = lifecycle.NewDocument(h.addedSource(), "")
		documents[i].SetObject(object)
		if e.Index < 0 {
			h.runtime.usage.added(documents[i])
			continue
		}
		documents[i].Source = own[e.Index].Source
		h.runtime.usage.replaced(own[e.Index], documents[i])
	}
	return documents, nil
}

// addedSource returns the path of the script, for documents that it adds.
func (h *handler) addedSource() string {
	file, _ := h.function.Position()
	return h.chart.AddedSource(file)
}

// replaceOwn returns documents in which those of the chart and its subcharts are replaced, at the same
// places. If there are more than before, the others follow the last place.
func (h *handler) replaceOwn(documents, replacement []*lifecycle.Document) []*lifecycle.Document {
	var result []*lifecycle.Document
	remaining := len(h.own(documents))
	for _, d := range documents {
		if !h.isOwn(d) {
			result = append(result, d)
			continue
		}
		remaining--
		next := min(1, len(replacement))
		if remaining == 0 {
			next = len(replacement)
		}
		result, replacement = append(result, replacement[:next]...), replacement[next:]
	}
	return append(result, replacement...)
}
