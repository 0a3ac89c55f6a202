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

// MergeDeclarations merges the declarations of an object in two revisions of a release. The
// result is the base for Compute if it is not known how much of the newer revision was
// applied. It has all fields that either declaration has, so that Compute removes each field
// that is no longer declared. It must not be sent to a server. Declarations with different
// API versions cannot be merged: the result then has only the fields of the newer one, with
// placeholders (object.ConflictingValue) as values. MergeDeclarations does not change its
// arguments.
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
		before = identityOnly(after)
	}
	merged := merge(before.Object, after.Object, schemaOfDeclared(after))
	result := &unstructured.Unstructured{Object: merged}
	if namespace := cmp.Or(after.GetNamespace(), before.GetNamespace()); namespace != "" {
		result.SetNamespace(namespace) // one of the declarations may omit the namespace
	}
	return result, nil
}

// identityOnly returns an object that has only the API version, the kind and the name of u.
func identityOnly(u *unstructured.Unstructured) *unstructured.Unstructured {
	same := &unstructured.Unstructured{}
	same.SetGroupVersionKind(u.GroupVersionKind())
	same.SetName(u.GetName())
	return same
}

// schemaOfDeclared returns the schema (see schemaOf) of the kind of a declaration. It uses
// only the kind, because the declaration may be malformed.
func schemaOfDeclared(declared *unstructured.Unstructured) strategicpatch.LookupPatchMeta {
	kind := declared.GroupVersionKind()
	empty := &unstructured.Unstructured{}
	empty.SetGroupVersionKind(kind)
	return schemaOf(kube.AsVersioned(&resource.Info{Object: empty, Mapping: &meta.RESTMapping{GroupVersionKind: kind}}), kind)
}

// merge merges two declarations. The result has the keys of both, and the values that are
// equal in both. Where the schema applies, Compute uses only the keys of the base and the
// items of merged lists. Without a schema, and for parts that do not fit it, the values
// matter, too: Compute assumes that the live object has the values of the base.
func merge(older, newer map[string]any, schema strategicpatch.LookupPatchMeta) map[string]any {
	merged := make(map[string]any, len(older)+len(newer))
	for _, fields := range []map[string]any{older, newer} {
		for key := range fields {
			merged[key] = mergeField(older[key], newer[key], key, schema)
		}
	}
	return merged
}

// mergeField merges the values of a field in two declarations. A value is nil if the field is
// missing or null. If only one of the values is a map, or a list where the server merges
// lists, the other value is ignored.
func mergeField(older, newer any, key string, schema strategicpatch.LookupPatchMeta) any {
	oldMap, oldIsMap := older.(map[string]any)
	newMap, newIsMap := newer.(map[string]any)
	oldList, oldIsList := older.([]any)
	newList, newIsList := newer.([]any)
	strategy := strategyOf(schema, key)
	switch {
	case oldIsMap && newIsMap, len(oldMap)+len(newMap) > 0:
		return merge(oldMap, newMap, fieldSchema(schema, key))
	case (oldIsList || newIsList) && strategy.mergeKey != "":
		return mergeItems(oldList, newList, strategy)
	case (oldIsList || newIsList) && strategy.isSet:
		return mergeValues(oldList, newList)
	case equality.Semantic.DeepEqual(older, newer):
		return newer
	}
	return object.ConflictingValue
}

// mergeItems merges two lists whose items are identified by the merge key of the strategy. It
// omits items without this key, because Compute fails if the base contains such items.
func mergeItems(older, newer []any, strategy listStrategy) []any {
	merged := []any{}
	oldItems, newItems := strategy.byMergeKey(older), strategy.byMergeKey(newer)
	for _, item := range slices.Concat(newer, older) {
		_, key, ok := strategy.fieldsAndKey(item)
		if !ok || oldItems[key] == nil && newItems[key] == nil {
			continue
		}
		both := merge(oldItems[key], newItems[key], strategy.items)
		both[strategy.mergeKey] = cmp.Or(newItems[key][strategy.mergeKey], oldItems[key][strategy.mergeKey]) // keep the value that identifies the item
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
