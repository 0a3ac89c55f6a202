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

	"github.com/ordered-helm/helm/internal/object"
)

// MergeOriginals returns the base of a merge for an object that two revisions
// declared and of which nobody knows how far the newer one got: everything that
// either of them declared, so that it is removed if it is declared no more. It
// is not fit to be sent anywhere. Declarations in two API versions cannot be
// merged; the newer one then stands for both, without its values. The arguments
// stay as they are.
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
		before = identity(after)
	}
	merged := unite(before.Object, after.Object, schemaOfDeclared(after))
	result := &unstructured.Unstructured{Object: merged}
	if namespace := cmp.Or(after.GetNamespace(), before.GetNamespace()); namespace != "" {
		result.SetNamespace(namespace) // one may leave it to the release
	}
	return result, nil
}

// identity is what of a declaration says which object it is about.
func identity(of *unstructured.Unstructured) *unstructured.Unstructured {
	same := &unstructured.Unstructured{}
	same.SetGroupVersionKind(of.GroupVersionKind())
	same.SetName(of.GetName())
	return same
}

// schemaOfDeclared goes by the kind alone: what is declared may be malformed.
func schemaOfDeclared(object *unstructured.Unstructured) strategicpatch.LookupPatchMeta {
	kind := object.GroupVersionKind()
	empty := &unstructured.Unstructured{}
	empty.SetGroupVersionKind(kind)
	return schemaOf(kube.AsVersioned(&resource.Info{Object: empty, Mapping: &meta.RESTMapping{GroupVersionKind: kind}}), kind)
}

// unite unites declarations: all keys of both, and the values in which they agree.
// Without a schema, changes are computed from the base alone, in which a value is
// taken to be on the server; with one it is the same for what does not fit it. A
// change that is computed from the live object only asks for the keys, and for the
// items of lists that are merged.
func unite(older, newer map[string]any, schema strategicpatch.LookupPatchMeta) map[string]any {
	united := make(map[string]any, len(older)+len(newer))
	for _, fields := range []map[string]any{older, newer} {
		for key := range fields {
			united[key] = uniteField(older[key], newer[key], key, schema)
		}
	}
	return united
}

// uniteField unites two values of a field; nil is none, or a null. What has the
// shape of a map or of a list that is merged wins over a slip: the other has
// nothing to add.
func uniteField(older, newer any, key string, schema strategicpatch.LookupPatchMeta) any {
	was, wasMap := older.(map[string]any)
	is, isMap := newer.(map[string]any)
	had, wasList := older.([]any)
	has, isList := newer.([]any)
	how := strategyOf(schema, key)
	switch {
	case wasMap && isMap, len(was)+len(is) > 0:
		return unite(was, is, below(schema, key))
	case (wasList || isList) && how.byKey != "":
		return uniteItems(had, has, how)
	case (wasList || isList) && how.bySet:
		return uniteValues(had, has)
	case equality.Semantic.DeepEqual(older, newer):
		return newer
	}
	return object.Undecided
}

// uniteItems unites lists whose items are told apart by a key. Items without it
// are left out: no patch can be computed from a base that has any.
func uniteItems(older, newer []any, how strategy) []any {
	united := []any{}
	was, is := how.byItem(older), how.byItem(newer)
	for _, item := range slices.Concat(newer, older) {
		_, key, ok := how.item(item)
		if !ok || was[key] == nil && is[key] == nil {
			continue
		}
		both := unite(was[key], is[key], how.items)
		both[how.byKey] = cmp.Or(is[key][how.byKey], was[key][how.byKey]) // still tells it apart
		united = append(united, both)
		delete(was, key)
		delete(is, key)
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
