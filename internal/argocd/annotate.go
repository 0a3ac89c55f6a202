// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package argocd converts the deployment order of a release to annotations of Argo CD
// (docs/reference.md, "For Argo CD"). Argo CD has phases, such as PreSync. In each phase,
// it applies the objects in waves: it starts a wave when all objects of the previous wave
// are healthy. Package sequencer computes the order.
package argocd

import (
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/ordered-helm/helm/internal/yamledit"
)

// Wave, Hook and HookDelete are the keys of annotations that Argo CD reads.
const (
	Wave       = "argocd.argoproj.io/sync-wave"
	Hook       = "argocd.argoproj.io/hook"
	HookDelete = "argocd.argoproj.io/hook-delete-policy"
)

// keyValue is an annotation to add to an object.
type keyValue struct{ key, value string }

// annotate adds annotations to every object in a document. It replaces annotations with the
// same keys, and changes nothing else in the text.
func annotate(doc string, annotations ...keyValue) (string, error) {
	for i := len(annotations) - 1; i >= 0; i-- { // each new annotation is inserted at the start
		var err error
		if doc, err = annotateWith(doc, annotations[i]); err != nil {
			return "", err
		}
	}
	return doc, nil
}

func annotateWith(doc string, e keyValue) (string, error) {
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

// objectsIn returns the YAML nodes of the objects in a document: root itself or, if it is a
// List, its items.
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
