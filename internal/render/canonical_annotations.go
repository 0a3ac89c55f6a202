// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/yamledit"
)

// hookModeField is a field of Chart.yaml that some users put into the metadata of a
// template, as in an example in a proposal for Helm. It has no effect there, and is
// therefore rejected.
const hookModeField = "runHooksInParallel"

// convertedKey is the key of an annotation before it was converted. object is the result of
// objectName.
type convertedKey struct{ object, key string }

// mayContainOrder reports whether a text could contain sequencing annotations. If it returns
// false, as for almost all documents, there is nothing to convert.
func mayContainOrder(text string) bool {
	return slices.ContainsFunc([]string{
		"helm.sh/depends-on/", "depends-on.helm.sh/", "helm.sh/readiness-", annotation.ExternalTimeout, annotation.Layer, annotation.ResourceGroup, hookModeField,
	}, func(part string) bool { return strings.Contains(text, part) })
}

// canonicalDocument converts the sequencing annotations in one document. It does not change
// a document that it cannot parse, because Helm's parser rejects it later with a better
// message. It also returns the keys that it has converted.
func canonicalDocument(doc string) (canonical string, converted []convertedKey, err error) {
	root, err := yamledit.Parse(doc)
	if err != nil || root == nil {
		return doc, nil, nil //nolint:nilerr // see above
	}
	var changes []yamledit.Change
	seen := map[*yaml.Node]bool{}
	convert := canonicalAnnotations
	if isHook(root) {
		convert = canonicalHookAnnotations
	}
	for _, object := range Objects(root) {
		metadata := yamledit.Lookup(object, "metadata")
		if mode := yamledit.Lookup(metadata, hookModeField); mode != nil {
			return "", nil, fmt.Errorf("%s: %w", objectName(object), &annotation.ValueError{
				Key: "metadata." + hookModeField, Value: annotation.DecodeYAML(mode),
				Reason: "has no effect in a template: move " + hookModeField + " into Chart.yaml",
			})
		}
		for _, annotations := range withMerged(yamledit.Lookup(metadata, "annotations"), seen) {
			more, err := convert(annotations)
			if err != nil {
				return "", nil, fmt.Errorf("%s: %w", objectName(object), err)
			}
			changes = append(changes, more...)
			for _, c := range more {
				if c.NewKey != "" {
					converted = append(converted, convertedKey{objectName(object), c.Key})
				}
			}
		}
	}
	canonical, err = yamledit.Apply(doc, root, changes)
	return canonical, converted, err
}

// isHook reports whether a document is a hook, also if its events are unknown or invalid.
func isHook(root *yaml.Node) bool {
	annotations := withMerged(yamledit.Lookup(root, "metadata", "annotations"), map[*yaml.Node]bool{})
	return slices.ContainsFunc(annotations, func(m *yaml.Node) bool { return yamledit.Lookup(m, release.HookAnnotation) != nil })
}

// withMerged returns mapping, and the mappings that it includes with YAML merge keys
// ("<<"). It omits mappings that are in seen, and adds the others to seen, because several
// objects can share a mapping through YAML aliases.
func withMerged(mapping *yaml.Node, seen map[*yaml.Node]bool) []*yaml.Node {
	mapping = yamledit.Resolve(mapping)
	if mapping == nil || mapping.Kind != yaml.MappingNode || seen[mapping] {
		return nil
	}
	seen[mapping] = true
	all := []*yaml.Node{mapping}
	for i := 0; i < len(mapping.Content); i += 2 {
		if mapping.Content[i].ShortTag() != "!!merge" {
			continue
		}
		merged := yamledit.Resolve(mapping.Content[i+1])
		all = append(all, withMerged(merged, seen)...)
		if merged.Kind == yaml.SequenceNode {
			for _, m := range merged.Content {
				all = append(all, withMerged(m, seen)...)
			}
		}
	}
	return all
}

// canonicalAnnotations returns the changes that convert all sequencing annotations in a
// mapping of annotations. It returns an error for invalid ones.
func canonicalAnnotations(annotations *yaml.Node) ([]yamledit.Change, error) {
	var changes []yamledit.Change
	lists := map[string]bool{}
	for i := 0; i < len(annotations.Content); i += 2 {
		key, value := annotations.Content[i].Value, annotations.Content[i+1]
		var more []yamledit.Change
		var err error
		if lists[key] {
			return nil, &annotation.ValueError{
				Key: key, Value: annotation.DecodeYAML(value), Kind: annotation.Conflict, Reason: "the key is defined twice: combine the values in one list",
			}
		}
		if annotation.IsList(key) {
			lists[key] = true
			more, err = canonicalList(annotations, key, value)
		} else if annotation.IsSequencingKey(key) {
			// Helm's parser also rejects values that are not strings, but does not name the
			// annotation.
			err = checkScalar(key, value)
		}
		if err != nil {
			return nil, err
		}
		changes = append(changes, more...)
	}
	return changes, nil
}

// canonicalHookAnnotations is like canonicalAnnotations, for a hook. Sequencing annotations of
// hooks are ignored, so invalid ones are no errors: those that Kubernetes or Helm's parser
// would reject are deleted.
func canonicalHookAnnotations(annotations *yaml.Node) ([]yamledit.Change, error) {
	invalid, seen := map[string]bool{}, map[string]bool{} // invalid contains canonical keys of lists
	for i := 0; i < len(annotations.Content); i += 2 {
		if key := annotations.Content[i].Value; annotation.IsList(key) {
			_, _, err := annotation.CanonicalValue(key, annotations.Content[i+1])
			canonical := annotation.CanonicalKey(key)
			invalid[canonical] = invalid[canonical] || err != nil || seen[key]
			seen[key] = true
		}
	}
	var changes []yamledit.Change
	for i := 0; i < len(annotations.Content); i += 2 {
		key, value := annotations.Content[i].Value, annotations.Content[i+1]
		v := annotation.DecodeYAML(value)
		_, isText := v.(string)
		isLegal := annotation.CanonicalKey(key) == key && (isText || v == nil)
		if isLegal || !annotation.IsSequencingKey(key) {
			continue
		}
		more := []yamledit.Change{{Mapping: annotations, Key: key, Delete: true}}
		if annotation.IsList(key) && !invalid[annotation.CanonicalKey(key)] {
			var err error
			if more, err = canonicalList(annotations, key, value); err != nil {
				return nil, err
			}
		}
		changes = append(changes, more...)
	}
	return changes, nil
}

// checkScalar returns an error if value is invalid for key, a sequencing annotation whose
// value is not a list.
func checkScalar(key string, value *yaml.Node) error {
	v := annotation.DecodeYAML(value)
	if _, isText := v.(string); isText {
		return nil
	}
	_, err := annotation.ReadResourceSequencing(map[string]any{key: v})
	return err
}

// canonicalList returns the changes that convert one sequencing annotation whose value is a
// list. If annotations also contains an alternative key with the same meaning, the two
// lists are merged.
func canonicalList(annotations *yaml.Node, key string, value *yaml.Node) ([]yamledit.Change, error) {
	c := yamledit.Change{Mapping: annotations, Key: key}
	text, change, err := annotation.CanonicalValue(key, value)
	if err != nil {
		return nil, err
	}
	if other := otherKey(annotations, key); other != "" {
		if annotation.CanonicalKey(key) == key {
			return nil, nil // the changes for the other key include both
		}
		return mergeLists(annotations, key, other)
	}
	if change {
		c.NewValue = yamledit.Text(text)
	}
	if canonical := annotation.CanonicalKey(key); canonical != key {
		c.NewKey = canonical
	}
	if c.NewKey == "" && c.NewValue == nil {
		return nil, nil
	}
	return []yamledit.Change{c}, nil
}

// otherKey returns the alternative key in annotations that has the same meaning as key, or
// an empty string if there is none.
func otherKey(annotations *yaml.Node, key string) string {
	for i := 0; i < len(annotations.Content); i += 2 {
		if other := annotations.Content[i].Value; other != key && annotation.CanonicalKey(other) == annotation.CanonicalKey(key) {
			return other
		}
	}
	return ""
}

// mergeLists returns the changes that delete key, and append its items to the list under
// the key canonical.
func mergeLists(annotations *yaml.Node, key, canonical string) ([]yamledit.Change, error) {
	var items []string
	for _, k := range []string{canonical, key} {
		more, err := annotation.ReadItems(k, annotation.DecodeYAML(yamledit.Lookup(annotations, k)))
		if err != nil {
			return nil, err
		}
		items = append(items, more...)
	}
	text, err := annotation.JSONList(items)
	if err != nil {
		return nil, err
	}
	return []yamledit.Change{
		{Mapping: annotations, Key: key, Delete: true},
		{Mapping: annotations, Key: canonical, NewValue: yamledit.Text(text)},
	}, nil
}
