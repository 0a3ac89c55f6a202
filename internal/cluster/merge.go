// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

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
)

// undecided stands where the revisions declare different things, so that nobody
// knows which of them is on the server. It differs from whatever is declared
// next, which is therefore sent in any case.
const undecided = "declared differently by earlier revisions"

// MergeOriginals returns the base of a merge for an object that two revisions
// declared and of which nobody knows how far the newer one got: everything that
// either of them declared, so that it is removed if it is declared no more. It
// is not fit to be sent anywhere. Declarations in two API versions cannot be
// merged; the newer one then stands for both. The arguments stay as they are.
func MergeOriginals(older, newer runtime.Object) (*unstructured.Unstructured, error) {
	if older == nil || newer == nil {
		return nil, errors.New("there is nothing to merge")
	}
	before, err := asUnstructured(older)
	if err != nil {
		return nil, err
	}
	after, err := asUnstructured(newer)
	if err != nil {
		return nil, err
	}
	before, after = before.DeepCopy(), after.DeepCopy()
	if before.GroupVersionKind() != after.GroupVersionKind() {
		return after, nil
	}
	var merged map[string]any
	if schema := schemaOfDeclared(after); schema != nil {
		merged = uniteKnown(before.Object, after.Object, schema)
	} else {
		merged = uniteUnknown(before.Object, after.Object)
	}
	result := &unstructured.Unstructured{Object: merged}
	if namespace := cmp.Or(after.GetNamespace(), before.GetNamespace()); namespace != "" {
		result.SetNamespace(namespace) // one may leave it to the release
	}
	return result, nil
}

// schemaOfDeclared goes by the kind alone: what is declared may be malformed.
func schemaOfDeclared(object *unstructured.Unstructured) strategicpatch.LookupPatchMeta {
	kind := object.GroupVersionKind()
	empty := &unstructured.Unstructured{}
	empty.SetGroupVersionKind(kind)
	return schemaOf(kube.AsVersioned(&resource.Info{Object: empty, Mapping: &meta.RESTMapping{GroupVersionKind: kind}}), kind)
}

// uniteUnknown unites declarations of a kind without a strategy. Changes to
// those are computed from the base alone: a value in it is taken to be on the
// server, so only what both declare may have one.
func uniteUnknown(older, newer map[string]any) map[string]any {
	united := map[string]any{}
	for key, value := range older {
		if _, both := newer[key]; !both {
			united[key] = leaveOpen(value)
		}
	}
	for key, value := range newer {
		before, both := older[key]
		was, wasMap := before.(map[string]any)
		is, isMap := value.(map[string]any)
		switch {
		case wasMap && isMap:
			united[key] = uniteUnknown(was, is)
		case both && equality.Semantic.DeepEqual(before, value):
			united[key] = value
		case wasMap:
			united[key] = leaveOpen(was)
		default:
			united[key] = leaveOpen(value)
		}
	}
	return united
}

// leaveOpen keeps the keys of a value, which may have to be removed.
func leaveOpen(value any) any {
	fields, _ := value.(map[string]any)
	if len(fields) == 0 {
		return undecided
	}
	open := make(map[string]any, len(fields))
	for key, field := range fields {
		open[key] = leaveOpen(field)
	}
	return open
}

// uniteKnown unites declarations of a kind with a strategy. Changes to those are
// computed from the live object, so that of the base only the keys count, and
// the items of lists that are merged; the newer value is kept.
func uniteKnown(older, newer map[string]any, schema strategicpatch.LookupPatchMeta) map[string]any {
	united := make(map[string]any, len(older)+len(newer))
	for key := range older {
		united[key] = uniteField(older[key], newer[key], key, schema)
	}
	for key := range newer {
		united[key] = uniteField(older[key], newer[key], key, schema)
	}
	return united
}

// uniteField unites two values of a field; nil is none, or a null. What has the
// shape of a map or a list wins over a slip: the other has nothing to add.
func uniteField(older, newer any, key string, schema strategicpatch.LookupPatchMeta) any {
	was, wasMap := older.(map[string]any)
	is, isMap := newer.(map[string]any)
	if wasMap || isMap {
		return uniteKnown(was, is, below(schema, key))
	}
	had, wasList := older.([]any)
	has, isList := newer.([]any)
	if wasList || isList {
		return uniteLists(had, has, key, schema)
	}
	return cmp.Or(newer, older)
}

// uniteLists adds to the newer list what only the older one has, if the server
// merges such lists; else the newer list replaced the older one.
func uniteLists(older, newer []any, key string, schema strategicpatch.LookupPatchMeta) []any {
	how := strategyOf(schema, key)
	switch {
	case how.byKey != "":
		return uniteItems(older, newer, how)
	case how.bySet:
		return uniteValues(older, newer)
	case newer == nil:
		return older
	}
	return newer
}

// uniteItems unites lists whose items are told apart by a key. Items without it
// are left out: no patch can be computed from a base that has any.
func uniteItems(older, newer []any, how strategy) []any {
	united := []any{}
	place := map[string]int{}
	for _, item := range slices.Concat(newer, older) {
		fields, key, ok := how.item(item)
		if !ok {
			continue
		}
		at, known := place[key]
		if !known {
			place[key] = len(united)
			united = append(united, uniteKnown(nil, fields, how.items))
			continue
		}
		if is, ok := united[at].(map[string]any); ok {
			united[at] = uniteKnown(fields, is, how.items)
		}
	}
	return united
}

func uniteValues(older, newer []any) []any {
	united := []any{}
	for _, value := range slices.Concat(newer, older) {
		if isScalar(value) && !slices.Contains(united, value) {
			united = append(united, value)
		}
	}
	return united
}
