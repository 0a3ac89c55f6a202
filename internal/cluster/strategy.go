// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// schemaOf says how the server merges objects of a kind of which structure is
// one; nil if it replaces all lists. Definitions of custom resources it could
// not merge at first.
func schemaOf(structure runtime.Object, kind schema.GroupVersionKind) strategicpatch.LookupPatchMeta {
	if _, unknown := structure.(runtime.Unstructured); unknown {
		return nil
	}
	if (kind == schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1beta1", Kind: "CustomResourceDefinition"}) {
		return nil
	}
	of, err := strategicpatch.NewPatchMetaFromStruct(structure)
	if err != nil {
		return nil
	}
	return of
}

// below returns the schema of a field; nil if nobody knows it.
func below(of strategicpatch.LookupPatchMeta, field string) strategicpatch.LookupPatchMeta {
	if of == nil {
		return nil
	}
	inner, _, err := of.LookupPatchMetadataForStruct(field)
	if err != nil {
		return nil
	}
	return inner
}

// strategy is how the server merges a list; the zero value replaces it.
type strategy struct {
	// byKey is the field that tells items apart, of which items is the schema.
	byKey string
	items strategicpatch.LookupPatchMeta
	// bySet is whether the items are single values, each counted once.
	bySet bool
}

func strategyOf(of strategicpatch.LookupPatchMeta, field string) strategy {
	if of == nil {
		return strategy{}
	}
	items, found, err := of.LookupPatchMetadataForSlice(field)
	if err != nil || !slices.Contains(found.GetPatchStrategies(), "merge") {
		return strategy{}
	}
	key := found.GetPatchMergeKey()
	return strategy{byKey: key, items: items, bySet: key == ""}
}

// item returns the fields of an item and its key, if it has one.
func (s strategy) item(value any) (fields map[string]any, key string, ok bool) {
	fields, _ = value.(map[string]any)
	if !isScalar(fields[s.byKey]) {
		return nil, "", false
	}
	return fields, fmt.Sprint(fields[s.byKey]), true
}

// byItem finds the items of a list by their keys; of several with one key it takes
// the first.
func (s strategy) byItem(list []any) map[string]map[string]any {
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

// restrict returns what of a base the live object has, too. Nothing else can be
// removed from it, and the request to would do harm: if a container is added, the
// server takes a variable that is to be removed from it for one to be added.
func restrict(base, live map[string]any, of strategicpatch.LookupPatchMeta) map[string]any {
	kept := make(map[string]any, len(base))
	for field, value := range base {
		if there, ok := live[field]; ok {
			kept[field] = restrictField(value, there, field, of)
		}
	}
	return kept
}

func restrictField(base, live any, field string, of strategicpatch.LookupPatchMeta) any {
	switch was := base.(type) {
	case map[string]any:
		if is, ok := live.(map[string]any); ok {
			return restrict(was, is, below(of, field))
		}
	case []any:
		if is, ok := live.([]any); ok {
			return restrictList(was, is, strategyOf(of, field))
		}
	}
	return base
}

func restrictList(base, live []any, how strategy) []any {
	if how.bySet {
		return slices.DeleteFunc(slices.Clone(base), func(value any) bool { return !isScalar(value) || !slices.Contains(live, value) })
	}
	if how.byKey == "" {
		return base
	}
	there := how.byItem(live)
	kept := []any{}
	for _, value := range base {
		if fields, key, ok := how.item(value); ok && there[key] != nil {
			kept = append(kept, restrict(fields, there[key], how.items))
		}
	}
	return kept
}
