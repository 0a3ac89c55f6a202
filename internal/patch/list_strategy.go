// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/cli-runtime/pkg/resource"
)

// Schema says how the server merges a patch into an object or a part of one. It is nil if the server
// replaces all lists.
type Schema = strategicpatch.LookupPatchMeta

// SchemaOf returns the schema of the kind of an object.
func SchemaOf(info *resource.Info) Schema {
	return schemaOf(kube.AsVersioned(info), info.Mapping.GroupVersionKind)
}

// FieldSchema returns the schema of a field of what has the schema s.
func FieldSchema(s Schema, field string) Schema { return fieldSchema(s, field) }

// ListKeys returns how the server merges the list in a field of what has the schema s: by the value
// of the field key of each item, whose schema is items; as a set of values; or else as a whole.
func ListKeys(s Schema, field string) (key string, items Schema, isSet bool) {
	strategy := strategyOf(s, field)
	return strategy.mergeKey, strategy.items, strategy.isSet
}

// schemaOf returns the schema of a kind: the rules by which the server merges a patch into
// an object of that kind. typed is such an object, with its Go type if the kind has one.
// schemaOf returns nil if the server replaces all lists, as in custom resources and in
// CustomResourceDefinitions of version v1beta1.
func schemaOf(typed runtime.Object, kind schema.GroupVersionKind) strategicpatch.LookupPatchMeta {
	if _, unknown := typed.(runtime.Unstructured); unknown {
		return nil
	}
	if (kind == schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1beta1", Kind: "CustomResourceDefinition"}) {
		return nil
	}
	objectSchema, err := strategicpatch.NewPatchMetaFromStruct(typed)
	if err != nil {
		return nil
	}
	return objectSchema
}

// fieldSchema returns the schema of a field of an object that has objectSchema. It returns
// nil if the field has no schema.
func fieldSchema(objectSchema strategicpatch.LookupPatchMeta, field string) strategicpatch.LookupPatchMeta {
	if objectSchema == nil {
		return nil
	}
	inner, _, err := objectSchema.LookupPatchMetadataForStruct(field)
	if err != nil {
		return nil
	}
	return inner
}

// listStrategy describes how the server merges a list in a patch into the list of the
// object. The zero value means that the server replaces the list of the object.
type listStrategy struct {
	// mergeKey is the field that identifies the items of a list of maps, such as name for
	// containers. items is the schema of an item.
	mergeKey string
	items    strategicpatch.LookupPatchMeta
	// isSet is true if the server merges the list as a set of scalar values.
	isSet bool
}

// strategyOf returns how the server merges the list in a field of an object that has
// objectSchema.
func strategyOf(objectSchema strategicpatch.LookupPatchMeta, field string) listStrategy {
	if objectSchema == nil {
		return listStrategy{}
	}
	items, found, err := objectSchema.LookupPatchMetadataForSlice(field)
	if err != nil || !slices.Contains(found.GetPatchStrategies(), "merge") {
		return listStrategy{}
	}
	key := found.GetPatchMergeKey()
	return listStrategy{mergeKey: key, items: items, isSet: key == ""}
}

// fieldsAndKey returns the fields of value, an item of a list, and the text of its merge key.
// ok is false if the item has no merge key.
func (s listStrategy) fieldsAndKey(value any) (fields map[string]any, key string, ok bool) {
	fields, _ = value.(map[string]any)
	if !isScalar(fields[s.mergeKey]) {
		return nil, "", false
	}
	return fields, fmt.Sprint(fields[s.mergeKey]), true
}

// byMergeKey maps the merge key of each item of a list to the fields of the item. If several
// items have the same key, the map contains the first.
func (s listStrategy) byMergeKey(list []any) map[string]map[string]any {
	byKey := make(map[string]map[string]any, len(list))
	for _, value := range list {
		if fields, key, ok := s.fieldsAndKey(value); ok && byKey[key] == nil {
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

// intersect returns the part of base, the previous declaration, that the live object also
// has. A patch must not remove anything else, because that can have the opposite effect: if a
// patch adds a container and removes an environment variable from it, the server adds the
// variable.
func intersect(base, live map[string]any, objectSchema strategicpatch.LookupPatchMeta) map[string]any {
	kept := make(map[string]any, len(base))
	for field, value := range base {
		if current, ok := live[field]; ok {
			kept[field] = intersectField(value, current, field, objectSchema)
		}
	}
	return kept
}

func intersectField(base, live any, field string, objectSchema strategicpatch.LookupPatchMeta) any {
	switch declared := base.(type) {
	case map[string]any:
		if current, ok := live.(map[string]any); ok {
			return intersect(declared, current, fieldSchema(objectSchema, field))
		}
	case []any:
		if current, ok := live.([]any); ok {
			return intersectList(declared, current, strategyOf(objectSchema, field))
		}
	}
	return base
}

func intersectList(base, live []any, strategy listStrategy) []any {
	if strategy.isSet {
		return slices.DeleteFunc(slices.Clone(base), func(value any) bool { return !isScalar(value) || !slices.Contains(live, value) })
	}
	if strategy.mergeKey == "" {
		return base
	}
	current := strategy.byMergeKey(live)
	kept := []any{}
	for _, value := range base {
		if fields, key, ok := strategy.fieldsAndKey(value); ok && current[key] != nil {
			kept = append(kept, intersect(fields, current[key], strategy.items))
		}
	}
	return kept
}
