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

// MergeDeclarations returns a base for Compute if two revisions declare an object and it is
// not known how much of the newer one was applied. The base has all fields that either of
// them declares, so that a field is removed if it is no longer declared. The result must
// not be sent to a server. Declarations in two API versions cannot be merged; the base then
// has all fields of the newer one, without their values. MergeDeclarations does not change
// its arguments.
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

// identity returns an object with only the kind and the name of a declaration.
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

// merge merges declarations. The result has the keys of both, and the values that are equal
// in both. Values of the base matter only without a schema, and for parts that do not fit
// the schema: there, the patch is computed only from the base, as if the server had its
// values. For all other parts, only the keys of the base matter, and the items of merged
// lists.
func merge(older, newer map[string]any, schema strategicpatch.LookupPatchMeta) map[string]any {
	merged := make(map[string]any, len(older)+len(newer))
	for _, fields := range []map[string]any{older, newer} {
		for key := range fields {
			merged[key] = mergeField(older[key], newer[key], key, schema)
		}
	}
	return merged
}

// mergeField merges two values of a field; nil means no value or null. If the field must be
// a map or a merged list, and only one of the values is, the other value is ignored.
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

// mergeItems merges lists whose items have a merge key. It omits items without the key,
// because no patch can be computed from a base with such items.
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

// mergeValues merges sets of scalar values.
func mergeValues(older, newer []any) []any {
	merged := []any{}
	for _, value := range slices.Concat(newer, older) {
		if isScalar(value) && !slices.Contains(merged, value) {
			merged = append(merged, value)
		}
	}
	return merged
}
