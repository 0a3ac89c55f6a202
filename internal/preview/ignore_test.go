// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"testing"

	"github.com/ordered-helm/helm/internal/fielddiff"
)

// TestWithLiveField checks what is left of a planned object if the change of a field is ignored.
func TestWithLiveField(t *testing.T) {
	field := func(names ...string) fielddiff.Path {
		var path fielddiff.Path
		for _, name := range names {
			path = path.With(fielddiff.Element{Kind: fielddiff.Field, Name: name})
		}
		return path
	}
	for _, tt := range []struct {
		name, planned, live string
		path                fielddiff.Path
		want                string
	}{
		{"a changed value", "{kind: A, spec: {a: 1, b: 2}}", "{kind: A, spec: {a: 3}}", field("spec", "a"), "{kind: A, spec: {a: 3, b: 2}}"},
		{"an added value", "{kind: A, metadata: {annotations: {a: x, b: y}}}", "{kind: A, metadata: {}}", field("metadata", "annotations", "a"), "{kind: A, metadata: {annotations: {b: y}}}"},
		{"the only value of a new map", "{kind: A, metadata: {annotations: {a: x}}}", "{kind: A, metadata: {}}", field("metadata", "annotations", "a"), "{kind: A, metadata: {}}"},
		{"the only value of a map", "{kind: A, metadata: {annotations: {a: x}}}", "{kind: A, metadata: {annotations: {}}}", field("metadata", "annotations", "a"), "{kind: A, metadata: {annotations: {}}}"},
		{"the order of a list", "{kind: A, spec: {env: [{name: b}, {name: a}]}}", "{kind: A, spec: {env: [{name: a, value: x}, {name: b}]}}", field("spec", "env"), "{kind: A, spec: {env: [{name: a, value: x}, {name: b}]}}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := withLiveField(parse(t, tt.planned).Object, parse(t, tt.live).Object, tt.path)
			if differences := fielddiff.Compare(parse(t, tt.want).Object, got, nil); len(differences) > 0 {
				t.Errorf("got %v, want %s", got, tt.want)
			}
		})
	}
}
