// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// schemaOf returns the rules by which the server merges objects of a kind (the schema).
// typed is an object of that kind as a Go type. It returns nil if the server replaces all
// lists, as for custom resources and for CustomResourceDefinitions in v1beta1.
func schemaOf(typed runtime.Object, kind schema.GroupVersionKind) strategicpatch.LookupPatchMeta {
	if _, unknown := typed.(runtime.Unstructured); unknown {
		return nil
	}
	if (kind == schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1beta1", Kind: "CustomResourceDefinition"}) {
		return nil
	}
	of, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return nil
	}
	return of
}

// fieldSchema returns the schema of a field of an object with the schema of; nil if the
// field has none.
func fieldSchema(of strategicpatch.LookupPatchMeta, field string) strategicpatch.LookupPatchMeta {
	if of == nil {
		return nil
	}
	inner, _, err := of.LookupPatchMetadataForStruct(field)
	if err != nil {
		return nil
	}
	return inner
}

// listStrategy describes how the server merges a list in a patch. The zero value means that
// it replaces the list.
type listStrategy struct {
	// mergeKey is the field that identifies the items of a list of maps, such as name for
	// containers. items is the schema of an item.
	mergeKey string
	items    strategicpatch.LookupPatchMeta
	// isSet says whether the server merges the list as a set of scalar values.
	isSet bool
}

// strategyOf returns how the server merges the list in a field.
func strategyOf(of strategicpatch.LookupPatchMeta, field string) listStrategy {
	if of == nil {
		return listStrategy{}
	}
	items, found, err := of.LookupPatchMetadataForSlice(field)
	if err != nil || !slices.Contains(found.GetPatchStrategies(), "merge") {
		return listStrategy{}
	}
	key := found.GetPatchMergeKey()
	return listStrategy{mergeKey: key, items: items, isSet: key == ""}
}

// item returns the fields of an item of a list, and the value of its merge key as text. ok
// is false if the item has no merge key.
func (s listStrategy) item(value any) (fields map[string]any, key string, ok bool) {
	fields, _ = value.(map[string]any)
	if !isScalar(fields[s.mergeKey]) {
		return nil, "", false
	}
	return fields, fmt.Sprint(fields[s.mergeKey]), true
}

// byMergeKey maps the merge keys of the items of a list to the fields of the items. If
// several items have the same key, it uses the first.
func (s listStrategy) byMergeKey(list []any) map[string]map[string]any {
	byKey := make(map[string]map[string]any, len(list))
	for _, value := range list {
		if fields, key, ok := s.item(value); ok && byKey[key] == nil {
			byKey[key] = fields
		}
	}
	return byKey
}

func isScalar(value any) bool {
	switch value.(type) {
	case string, int64, float64, bool:
		return true
	}
	return false
}

// intersect returns the part of base, a previous declaration, that the live object also
// has. Nothing else can be removed from the live object, and a request to remove it would
// be harmful: if a patch adds a container and deletes an environment variable from it, the
// server adds that variable.
func intersect(base, live map[string]any, of strategicpatch.LookupPatchMeta) map[string]any {
	kept := make(map[string]any, len(base))
	for field, value := range base {
		if current, ok := live[field]; ok {
			kept[field] = intersectField(value, current, field, of)
		}
	}
	return kept
}

func intersectField(base, live any, field string, of strategicpatch.LookupPatchMeta) any {
	switch declared := base.(type) {
	case map[string]any:
		if current, ok := live.(map[string]any); ok {
			return intersect(declared, current, fieldSchema(of, field))
		}
	case []any:
		if current, ok := live.([]any); ok {
			return intersectList(declared, current, strategyOf(of, field))
		}
	}
	return base
}

func intersectList(base, live []any, how listStrategy) []any {
	if how.isSet {
		return slices.DeleteFunc(slices.Clone(base), func(value any) bool { return !isScalar(value) || !slices.Contains(live, value) })
	}
	if how.mergeKey == "" {
		return base
	}
	current := how.byMergeKey(live)
	kept := []any{}
	for _, value := range base {
		if fields, key, ok := how.item(value); ok && current[key] != nil {
			kept = append(kept, intersect(fields, current[key], how.items))
		}
	}
	return kept
}
