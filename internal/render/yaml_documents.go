// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/ordered-helm/helm/internal/yamledit"
)

// Split returns the documents of a YAML stream in their order. It splits the stream as Helm
// does.
func Split(stream string) []string {
	manifests := releaseutil.SplitManifests(stream)
	keys := slices.SortedFunc(maps.Keys(manifests), func(a, b string) int { // such as "manifest-2" and "manifest-10"
		return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
	})
	docs := make([]string, len(keys))
	for i, key := range keys {
		docs[i] = manifests[key]
	}
	return docs
}

// rewriteDocuments replaces each document of a stream with the result of change. It keeps
// the separators between documents.
func rewriteDocuments(stream string, change func(doc string) (string, error)) (string, error) {
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

// replaceDocuments replaces each document of a stream with the element of replacements that
// has the same index. docs contains the documents of the stream in their order.
func replaceDocuments(stream string, docs, replacements []string) string {
	var b strings.Builder
	b.Grow(len(stream))
	rest := stream
	for i, doc := range docs {
		before, after, _ := strings.Cut(rest, doc)
		b.WriteString(before)
		b.WriteString(replacements[i])
		rest = after
	}
	b.WriteString(rest)
	return b.String()
}

// Objects returns the YAML nodes of the Kubernetes objects in a document: root itself and,
// if it is a List, its items.
func Objects(root *yaml.Node) []*yaml.Node {
	var objects []*yaml.Node
	seen := map[*yaml.Node]bool{} // an anchor can contain an alias of itself
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

// objectName returns the kind and name of an object, as in "Deployment/web".
func objectName(object *yaml.Node) string {
	value := func(path ...string) string {
		if n := yamledit.Lookup(object, path...); n != nil {
			return n.Value
		}
		return ""
	}
	return value("kind") + "/" + value("metadata", "name")
}
