// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/cli-runtime/pkg/resource"
)

// nothing is the patch that changes nothing.
const nothing = "{}"

// patch is a request to change an object.
type patch struct {
	kind types.PatchType
	data []byte
}

func (p patch) empty() bool { return len(p.data) == 0 || string(p.data) == nothing }

// computePatch says what makes of the live object what info declares, if base
// is what was declared before: what base has and info has not is removed, and
// everything else on the live object stays. Kinds that are not Kubernetes' own
// have no strategy for merging; for them the live object only counts if
// threeWay is set, as in Helm. A patch that would change nothing is empty.
func computePatch(info *resource.Info, base runtime.Object, live *unstructured.Unstructured, threeWay bool) (patch, error) {
	declared, err := asUnstructured(base)
	if err != nil || isPlainlyAsDeclared(declared, info.Object, live) {
		return patch{}, err
	}
	return differences(info, declared, live, threeWay)
}

func differences(info *resource.Info, declared, live *unstructured.Unstructured, threeWay bool) (patch, error) {
	kind, from := types.MergePatchType, declared.Object
	schema := schemaOf(kube.AsVersioned(info), info.Mapping.GroupVersionKind)
	if schema != nil {
		kind, from = types.StrategicMergePatchType, restrict(from, live.Object, schema)
	}
	documents, err := serialize(from, info.Object, live.Object)
	if err != nil {
		return patch{}, err
	}
	original, target, current := documents[0], documents[1], documents[2]
	var data []byte
	switch {
	case schema != nil:
		data, err = strategicpatch.CreateThreeWayMergePatch(original, target, current, schema, true)
	case threeWay:
		data, err = jsonmergepatch.CreateThreeWayJSONMergePatch(original, target, current,
			mergepatch.RequireKeyUnchanged("apiVersion"),
			mergepatch.RequireKeyUnchanged("kind"),
			mergepatch.RequireMetadataKeyUnchanged("name"))
	default:
		data, err = jsonpatch.CreateMergePatch(original, target)
	}
	if err == nil && changesNothing(data, current, schema) {
		return patch{}, nil
	}
	return patch{kind, data}, err
}

// changesNothing reports whether the object that a patch makes of another is the
// same: it may name the order of a list, or say what is there already.
func changesNothing(data, current []byte, schema strategicpatch.LookupPatchMeta) (nothing bool) {
	defer func() {
		if recover() != nil { // the library does not bear lists that have a null in them
			nothing = false
		}
	}()
	var patched []byte
	var err error
	if schema != nil {
		patched, err = strategicpatch.StrategicMergePatchUsingLookupPatchMeta(current, data, schema)
	} else {
		patched, err = jsonpatch.MergePatch(current, data)
	}
	return err == nil && jsonpatch.Equal(patched, current)
}

// isPlainlyAsDeclared reports whether it is clear without a schema that there is
// nothing to change: all that was declared before still is, and all that is declared
// is there.
func isPlainlyAsDeclared(base *unstructured.Unstructured, target runtime.Object, live *unstructured.Unstructured) bool {
	declared, ok := target.(*unstructured.Unstructured)
	return ok && retains(declared.Object, base.Object) && covers(live.Object, declared.Object)
}

// retains reports whether a value has every field of an earlier one. Lists are only
// compared as a whole.
func retains(later, earlier any) bool {
	switch was := earlier.(type) {
	case map[string]any:
		is, ok := later.(map[string]any)
		if !ok {
			return false
		}
		for field, value := range was {
			if now, ok := is[field]; !ok || !retains(now, value) {
				return false
			}
		}
		return true
	case []any:
		return equality.Semantic.DeepEqual(earlier, later)
	}
	return true
}

// covers reports whether a value has everything that is declared, as it is declared.
// A null is a request to have nothing there.
func covers(live, declared any) bool {
	switch wanted := declared.(type) {
	case nil:
		return false
	case map[string]any:
		is, ok := live.(map[string]any)
		if !ok {
			return false
		}
		for field, value := range wanted {
			if now, ok := is[field]; !ok || !covers(now, value) {
				return false
			}
		}
		return true
	case []any:
		return equality.Semantic.DeepEqual(live, declared)
	}
	return live == declared
}

func serialize(objects ...any) ([][]byte, error) {
	documents := make([][]byte, len(objects))
	for i, object := range objects {
		var err error
		if documents[i], err = json.Marshal(object); err != nil {
			return nil, fmt.Errorf("serializing configuration: %w", err)
		}
	}
	return documents, nil
}

// asUnstructured returns an object as a map. Changes to the one may show in the
// other.
func asUnstructured(object runtime.Object) (*unstructured.Unstructured, error) {
	if u, ok := object.(*unstructured.Unstructured); ok {
		return u, nil
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("%T cannot be read as an object: %w", object, err)
	}
	return &unstructured.Unstructured{Object: content}, nil
}
