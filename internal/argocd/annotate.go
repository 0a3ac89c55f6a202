// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package argocd converts the order of a release to annotations of Argo CD. Argo CD has
// phases, such as PreSync, and within a phase waves: it applies one wave after the other,
// and waits until all objects of a wave are healthy (docs/reference.md, "For Argo CD").
// Package sequencer computes the order that is converted.
package argocd

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/ordered-helm/helm/internal/yamledit"
)

// These are the keys of annotations that Argo CD reads.
const (
	Wave       = "argocd.argoproj.io/sync-wave"
	Hook       = "argocd.argoproj.io/hook"
	HookDelete = "argocd.argoproj.io/hook-delete-policy"
)

// entry is an annotation to add.
type entry struct{ key, value string }

// annotate adds annotations to every object in a document. An annotation with the same key
// is replaced. Nothing else in the text changes.
func annotate(doc string, entries ...entry) (string, error) {
	for i := len(entries) - 1; i >= 0; i-- { // each is inserted before the existing ones
		var err error
		if doc, err = annotateOne(doc, entries[i]); err != nil {
			return "", err
		}
	}
	return doc, nil
}

func annotateOne(doc string, e entry) (string, error) {
	root, err := yamledit.Parse(doc)
	if err != nil {
		return "", fmt.Errorf("annotate for Argo CD: %w", err)
	}
	var changes []yamledit.Change
	seen := map[*yaml.Node]bool{} // several objects may share one mapping
	for _, object := range objectsIn(root) {
		metadata := yamledit.Lookup(object, "metadata")
		annotations := yamledit.Lookup(metadata, "annotations")
		if metadata == nil || metadata.Kind != yaml.MappingNode || seen[metadata] || seen[annotations] {
			continue
		}
		seen[metadata] = true
		c := yamledit.Change{Mapping: metadata, Key: "annotations", NewValue: yamledit.Mapping(e.key, e.value), Insert: annotations == nil}
		if annotations != nil && annotations.Kind == yaml.MappingNode {
			seen[annotations] = true
			has := yamledit.Lookup(annotations, e.key) != nil
			c = yamledit.Change{Mapping: annotations, Key: e.key, NewValue: yamledit.Text(e.value), Insert: !has}
		}
		changes = append(changes, c)
	}
	return yamledit.Apply(doc, root, changes)
}

// objectsIn returns the objects in a document: the document itself or, if it is a List, its
// items.
func objectsIn(root *yaml.Node) []*yaml.Node {
	items := yamledit.Lookup(root, "items")
	if items == nil || items.Kind != yaml.SequenceNode {
		return []*yaml.Node{root}
	}
	var objects []*yaml.Node
	for _, item := range items.Content {
		if item = yamledit.Resolve(item); item != root {
			objects = append(objects, item)
		}
	}
	return objects
}
