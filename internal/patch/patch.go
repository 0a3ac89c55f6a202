// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package patch computes, as Helm does, the patch that changes an object in the cluster to
// its declaration in a manifest. Package objectwriter sends the patch.
package patch

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

	"github.com/ordered-helm/helm/internal/object"
)

// emptyPatch is a patch that changes nothing.
const emptyPatch = "{}"

// Patch holds the body of a PATCH request to the API server, and the type of the patch.
type Patch struct {
	Type types.PatchType
	Data []byte
}

// IsEmpty reports whether the patch changes nothing.
func (p Patch) IsEmpty() bool { return len(p.Data) == 0 || string(p.Data) == emptyPatch }

// Compute returns the patch that changes an object in the cluster, live, to the declaration
// in info. base is the previous declaration: the patch removes the fields that base has and
// info does not have, and keeps all other fields of live that info does not declare. For
// custom resources, the patch depends on live only if threeWay is true, as in Helm. The patch
// is empty if it would change nothing.
func Compute(info *resource.Info, base runtime.Object, live *unstructured.Unstructured, threeWay bool) (Patch, error) {
	original, err := object.AsUnstructured(base)
	if err != nil || isUnchanged(original, info.Object, live) {
		return Patch{}, err
	}
	return compute(info, original, live, threeWay)
}

// compute does what Compute does, without the shortcut for objects that certainly need no
// change.
func compute(info *resource.Info, base, live *unstructured.Unstructured, threeWay bool) (Patch, error) {
	patchType, from := types.MergePatchType, base.Object
	schema := schemaOf(kube.AsVersioned(info), info.Mapping.GroupVersionKind)
	if schema != nil {
		patchType, from = types.StrategicMergePatchType, intersect(from, live.Object, schema)
	}
	documents, err := serialize(from, info.Object, live.Object)
	if err != nil {
		return Patch{}, err
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
		return Patch{}, nil
	}
	return Patch{patchType, data}, err
}

// changesNothing reports whether data, a patch, leaves current, the live object, as it is.
// Such a patch contains only values that the object already has, or the order of a list. Both
// arguments are JSON.
func changesNothing(data, current []byte, schema strategicpatch.LookupPatchMeta) (unchanged bool) {
	defer func() {
		if recover() != nil { // the library panics on lists that contain a null
			unchanged = false
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

// isUnchanged reports whether live certainly needs no change, because target, the new
// declaration, has every field of base, and live has every value of target. It needs no
// schema.
func isUnchanged(base *unstructured.Unstructured, target runtime.Object, live *unstructured.Unstructured) bool {
	declared, ok := target.(*unstructured.Unstructured)
	return ok && hasFields(declared.Object, base.Object) && hasValues(live.Object, declared.Object)
}

// hasFields reports whether later has every field of earlier. Lists must be equal.
func hasFields(later, earlier any) bool {
	switch was := earlier.(type) {
	case map[string]any:
		is, ok := later.(map[string]any)
		if !ok {
			return false
		}
		for field, value := range was {
			if now, ok := is[field]; !ok || !hasFields(now, value) {
				return false
			}
		}
		return true
	case []any:
		return equality.Semantic.DeepEqual(earlier, later)
	}
	return true
}

// hasValues reports whether live has every value of declared. It returns false if a null is
// declared, because that removes a field.
func hasValues(live, declared any) bool {
	switch want := declared.(type) {
	case nil:
		return false
	case map[string]any:
		is, ok := live.(map[string]any)
		if !ok {
			return false
		}
		for field, value := range want {
			if now, ok := is[field]; !ok || !hasValues(now, value) {
				return false
			}
		}
		return true
	case []any:
		return equality.Semantic.DeepEqual(live, declared)
	}
	return live == declared
}

// serialize returns the JSON of each object.
func serialize(objects ...any) ([][]byte, error) {
	documents := make([][]byte, len(objects))
	for i, content := range objects {
		var err error
		if documents[i], err = json.Marshal(content); err != nil {
			return nil, fmt.Errorf("serializing configuration: %w", err)
		}
	}
	return documents, nil
}
