// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/ordered-helm/helm/internal/yamledit"
)

// Split splits a stream into documents, as Helm does.
func Split(stream string) []string {
	manifests := releaseutil.SplitManifests(stream)
	keys := make([]string, 0, len(manifests))
	for key := range manifests {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	docs := make([]string, len(keys))
	for i, key := range keys {
		docs[i] = manifests[key]
	}
	return docs
}

// rewrite changes each document of a stream. It keeps everything between the documents.
func rewrite(stream string, change func(doc string) (string, error)) (string, error) {
	docs := Split(stream)
	changed := make([]string, len(docs))
	for i, doc := range docs {
		var err error
		if changed[i], err = change(doc); err != nil {
			return "", err
		}
	}
	return replaceDocuments(stream, docs, changed), nil
}

// replaceDocuments replaces the documents of a stream.
func replaceDocuments(stream string, docs, others []string) string {
	var b strings.Builder
	b.Grow(len(stream))
	rest := stream
	for i, doc := range docs {
		before, after, _ := strings.Cut(rest, doc)
		b.WriteString(before)
		b.WriteString(others[i])
		rest = after
	}
	b.WriteString(rest)
	return b.String()
}

// Objects returns the objects of a document: the document itself, and its items if it is
// a list.
func Objects(root *yaml.Node) []*yaml.Node {
	var objects []*yaml.Node
	seen := map[*yaml.Node]bool{} // an anchor may contain itself
	var add func(object *yaml.Node)
	add = func(object *yaml.Node) {
		if object = yamledit.Resolve(object); seen[object] {
			return
		}
		seen[object] = true
		objects = append(objects, object)
		items := yamledit.Lookup(object, "items")
		if items == nil || items.Kind != yaml.SequenceNode {
			return
		}
		for _, item := range items.Content {
			add(item)
		}
	}
	add(root)
	return objects
}

func objectName(object *yaml.Node) string {
	value := func(path ...string) string {
		if n := yamledit.Lookup(object, path...); n != nil {
			return n.Value
		}
		return ""
	}
	return value("kind") + "/" + value("metadata", "name")
}
