// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"helm.sh/helm/v3/pkg/kube"
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
// threeWay is set, as in Helm.
func computePatch(info *resource.Info, base runtime.Object, live *unstructured.Unstructured, threeWay bool) (patch, error) {
	declared, err := asUnstructured(base)
	if err != nil {
		return patch{}, err
	}
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
	return patch{kind, data}, err
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
