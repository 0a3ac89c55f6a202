// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"cmp"
	"errors"
	"slices"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/ordered-helm/helm/internal/object"
)

// MergeDeclarations merges the declarations of an object in two revisions. The result is a
// base for Compute if it is not known how much of the newer revision was applied. It has
// all fields that either of them declares, so that a field is removed if it is no longer
// declared. It must not be sent to a server. If the declarations have different API
// versions, they cannot be merged: the result then has all fields of the newer one, without
// their values. MergeDeclarations does not change its arguments.
func MergeDeclarations(older, newer runtime.Object) (*unstructured.Unstructured, error) {
	if older == nil || newer == nil {
		return nil, errors.New("there is nothing to merge")
	}
	before, err := object.AsUnstructured(older)
	if err != nil {
		return nil, err
	}
	after, err := object.AsUnstructured(newer)
	if err != nil {
		return nil, err
	}
	before, after = before.DeepCopy(), after.DeepCopy()
	if before.GroupVersionKind() != after.GroupVersionKind() {
		before = identity(after)
	}
	merged := merge(before.Object, after.Object, schemaOfDeclared(after))
	result := &unstructured.Unstructured{Object: merged}
	if namespace := cmp.Or(after.GetNamespace(), before.GetNamespace()); namespace != "" {
		result.SetNamespace(namespace) // one of the declarations may omit the namespace
	}
	return result, nil
}

// identity returns an object with only the kind and the name of the object of.
func identity(of *unstructured.Unstructured) *unstructured.Unstructured {
	same := &unstructured.Unstructured{}
	same.SetGroupVersionKind(of.GroupVersionKind())
	same.SetName(of.GetName())
	return same
}

// schemaOfDeclared returns the schema for a declaration. It uses only the kind, because the
// declaration may be malformed.
func schemaOfDeclared(declared *unstructured.Unstructured) strategicpatch.LookupPatchMeta {
	kind := declared.GroupVersionKind()
	empty := &unstructured.Unstructured{}
	empty.SetGroupVersionKind(kind)
	return schemaOf(kube.AsVersioned(&resource.Info{Object: empty, Mapping: &meta.RESTMapping{GroupVersionKind: kind}}), kind)
}

// merge merges two declarations. The result has the keys of both, and the values that are
// equal in both. The values matter only without a schema, and for parts that do not fit the
// schema: there, Compute compares only the base with the new declaration, as if the server
// had the values of the base. For all other parts, only the keys of the base and the items
// of merged lists matter.
func merge(older, newer map[string]any, schema strategicpatch.LookupPatchMeta) map[string]any {
	merged := make(map[string]any, len(older)+len(newer))
	for _, fields := range []map[string]any{older, newer} {
		for key := range fields {
			merged[key] = mergeField(older[key], newer[key], key, schema)
		}
	}
	return merged
}

// mergeField merges the values of a field in two declarations; nil means no value or null.
// If only one of the values has the type that the field must have, a map or a merged list,
// the other value is ignored.
func mergeField(older, newer any, key string, schema strategicpatch.LookupPatchMeta) any {
	oldMap, oldIsMap := older.(map[string]any)
	newMap, newIsMap := newer.(map[string]any)
	oldList, oldIsList := older.([]any)
	newList, newIsList := newer.([]any)
	how := strategyOf(schema, key)
	switch {
	case oldIsMap && newIsMap, len(oldMap)+len(newMap) > 0:
		return merge(oldMap, newMap, fieldSchema(schema, key))
	case (oldIsList || newIsList) && how.mergeKey != "":
		return mergeItems(oldList, newList, how)
	case (oldIsList || newIsList) && how.isSet:
		return mergeValues(oldList, newList)
	case equality.Semantic.DeepEqual(older, newer):
		return newer
	}
	return object.Undecided
}

// mergeItems merges two lists whose items have a merge key, a field that identifies them.
// It omits items without the key, because no patch can be computed from a base with such
// items.
func mergeItems(older, newer []any, how listStrategy) []any {
	merged := []any{}
	oldItems, newItems := how.byMergeKey(older), how.byMergeKey(newer)
	for _, item := range slices.Concat(newer, older) {
		_, key, ok := how.item(item)
		if !ok || oldItems[key] == nil && newItems[key] == nil {
			continue
		}
		both := merge(oldItems[key], newItems[key], how.items)
		both[how.mergeKey] = cmp.Or(newItems[key][how.mergeKey], oldItems[key][how.mergeKey]) // keep the value that identifies the item
		merged = append(merged, both)
		delete(oldItems, key)
		delete(newItems, key)
	}
	return merged
}

// mergeValues returns the union of two lists of scalar values.
func mergeValues(older, newer []any) []any {
	merged := []any{}
	for _, value := range slices.Concat(newer, older) {
		if isScalar(value) && !slices.Contains(merged, value) {
			merged = append(merged, value)
		}
	}
	return merged
}
