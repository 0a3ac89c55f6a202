// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// legalFiles rewrites, in rendered templates, the sequencing annotations that
// Kubernetes or Helm's own parser would refuse. Every other byte stays.
func legalFiles(files map[string]string) (map[string]string, error) {
	legal := make(map[string]string, len(files))
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text, err := legalText(files[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		legal[name] = text
	}
	return legal, nil
}

// legalText rewrites each document of a text in its place.
func legalText(content string) (string, error) {
	if !mayNeedRewriting(content) {
		return content, nil
	}
	var b strings.Builder
	rest := content
	for _, doc := range Split(content) {
		if !mayNeedRewriting(doc) {
			continue
		}
		at := strings.Index(rest, doc)
		if at < 0 {
			continue
		}
		legal, err := legalDocument(doc)
		if err != nil {
			return "", err
		}
		b.WriteString(rest[:at])
		b.WriteString(legal)
		rest = rest[at+len(doc):]
	}
	b.WriteString(rest)
	return b.String(), nil
}

// mayNeedRewriting spares almost every document of other charts the parser.
func mayNeedRewriting(text string) bool {
	for _, part := range []string{"helm.sh/depends-on/", "depends-on.helm.sh/", "helm.sh/readiness-", "helm.sh/layer", "helm.sh/resource-group"} {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// Split gives the documents of a stream in their order, as Helm splits them.
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

// legalDocument rewrites one document. One that does not parse is left for
// Helm's parser to refuse.
func legalDocument(doc string) (string, error) {
	root, err := yamledit.Parse(doc)
	if err != nil || root == nil {
		return doc, nil //nolint:nilerr // see above
	}
	var changes []yamledit.Change
	for _, object := range objectsIn(root) {
		more, err := legalAnnotations(yamledit.Lookup(object, "metadata", "annotations"))
		if err != nil {
			return "", fmt.Errorf("%s: %w", nameOf(object), err)
		}
		changes = append(changes, more...)
	}
	return yamledit.Apply(doc, root, changes)
}

// objectsIn lists the objects of a document: itself, or the items of a list.
func objectsIn(root *yaml.Node) []*yaml.Node {
	objects := []*yaml.Node{root}
	items := yamledit.Lookup(root, "items")
	if items == nil || items.Kind != yaml.SequenceNode {
		return objects
	}
	for _, item := range items.Content {
		objects = append(objects, objectsIn(yamledit.Resolve(item))...)
	}
	return objects
}

func nameOf(object *yaml.Node) string {
	value := func(path ...string) string {
		if n := yamledit.Lookup(object, path...); n != nil {
			return n.Value
		}
		return ""
	}
	return value("kind") + "/" + value("metadata", "name")
}

// legalAnnotations lists the changes that make a mapping of annotations legal.
func legalAnnotations(annotations *yaml.Node) ([]yamledit.Change, error) {
	if annotations == nil || annotations.Kind != yaml.MappingNode {
		return nil, nil
	}
	var changes []yamledit.Change
	for i := 0; i < len(annotations.Content); i += 2 {
		key := annotations.Content[i].Value
		if !annotation.IsList(key) {
			if err := checkScalar(key, yamledit.Resolve(annotations.Content[i+1])); err != nil {
				return nil, err
			}
			continue
		}
		c := yamledit.Change{Mapping: annotations, Key: key}
		text, change, err := annotation.LegalValue(key, yamledit.Resolve(annotations.Content[i+1]))
		if err != nil {
			return nil, err
		}
		if change {
			c.NewValue = yamledit.Text(text)
		}
		if legal := annotation.LegalKey(key); legal != key {
			c.NewKey = legal
		}
		if c.NewKey != "" || c.NewValue != nil {
			changes = append(changes, c)
		}
	}
	return mergeSpellings(annotations, changes)
}

// checkScalar refuses a value of ours that is no string before Helm's parser
// does, which does not name the key.
func checkScalar(key string, value *yaml.Node) error {
	if !annotation.IsOurs(key) || value.ShortTag() == "!!str" {
		return nil
	}
	var v any
	if err := value.Decode(&v); err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	_, err := annotation.ReadResource(map[string]any{key: v})
	return err
}

// mergeSpellings sees to keys that would stand twice once they are legal: their
// lists are merged under the legal key.
func mergeSpellings(annotations *yaml.Node, changes []yamledit.Change) ([]yamledit.Change, error) {
	for i := range changes {
		legal := changes[i].NewKey
		other := yamledit.Lookup(annotations, legal)
		if legal == "" || other == nil {
			continue
		}
		var items []string
		for _, key := range []string{legal, changes[i].Key} {
			var v any
			if err := yamledit.Lookup(annotations, key).Decode(&v); err != nil {
				return nil, err
			}
			more, err := annotation.Items(key, v)
			if err != nil {
				return nil, err
			}
			items = append(items, more...)
		}
		text, err := annotation.JSONList(items)
		if err != nil {
			return nil, err
		}
		changes = slices.DeleteFunc(changes, func(c yamledit.Change) bool { return c.Key == legal })
		at := slices.IndexFunc(changes, func(c yamledit.Change) bool { return c.NewKey == legal })
		changes[at] = yamledit.Change{Mapping: annotations, Key: changes[at].Key, Delete: true}
		changes = append(changes, yamledit.Change{Mapping: annotations, Key: legal, NewValue: yamledit.Text(text)})
		return mergeSpellings(annotations, changes)
	}
	return changes, nil
}
