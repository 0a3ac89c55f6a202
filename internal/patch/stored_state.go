// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"encoding/json"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"helm.sh/helm/v3/pkg/kube"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ordered-helm/helm/internal/object"
)

// WithResourceVersion returns the patch with the resource version of live, the object from
// which it was computed. The server rejects such a patch with a conflict if the object was
// changed since.
func (p Patch) WithResourceVersion(live *unstructured.Unstructured) (Patch, error) {
	body, metadata := map[string]json.RawMessage{}, map[string]any{}
	if err := json.Unmarshal(p.Data, &body); err != nil {
		return Patch{}, fmt.Errorf("read a patch: %w", err)
	}
	if declared := body["metadata"]; declared != nil {
		if err := json.Unmarshal(declared, &metadata); err != nil {
			return Patch{}, fmt.Errorf("read the metadata of a patch: %w", err)
		}
	}
	metadata["resourceVersion"] = live.GetResourceVersion()
	documents, err := serialize(metadata)
	if err != nil {
		return Patch{}, err
	}
	body["metadata"] = documents[0]
	if documents, err = serialize(body); err != nil {
		return Patch{}, err
	}
	return Patch{p.Type, documents[0]}, nil
}

// StoresSame reports whether the server would certainly store live, the object in the cluster,
// as it is if it received the patch: the patch only writes values in another form, such as the
// quantity 1000m instead of 1, or fields that the server sets itself. The result is false if
// this is not known, for example for a field that the client libraries do not know.
func (p Patch) StoresSame(info *resource.Info, live *unstructured.Unstructured) bool {
	patched, err := p.apply(info, live)
	if err != nil {
		return false
	}
	before, known := normalize(live)
	after, alsoKnown := normalize(patched)
	return known && alsoKnown && equality.Semantic.DeepEqual(before, after)
}

// Effect returns the content of live, the object in the cluster, before and after the patch, without
// what only the server sets. Values that differ only in how they are written are equal, if the client
// libraries know the fields of the kind.
func (p Patch) Effect(info *resource.Info, live *unstructured.Unstructured) (before, after map[string]any, err error) {
	patched, err := p.apply(info, live)
	if err != nil {
		return nil, nil, err
	}
	before, known := normalizedContent(live)
	after, alsoKnown := normalizedContent(patched)
	if known && alsoKnown {
		return before, after, nil
	}
	return object.WithoutServerFields(live.Object), object.WithoutServerFields(patched.Object), nil
}

// normalizedContent returns the result of normalize as maps and lists.
func normalizedContent(u *unstructured.Unstructured) (content map[string]any, known bool) {
	normalized, known := normalize(u)
	if !known {
		return nil, false
	}
	if fields, isContent := normalized.(map[string]any); isContent {
		return fields, true
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(normalized)
	if err != nil {
		return nil, false
	}
	delete(fields, "status")
	return fields, true
}

// apply returns the object as the patch changes it.
func (p Patch) apply(info *resource.Info, live *unstructured.Unstructured) (patched *unstructured.Unstructured, err error) {
	defer func() {
		if problem := recover(); problem != nil { // the library panics on lists that contain a null
			err = fmt.Errorf("apply a patch: %v", problem)
		}
	}()
	documents, err := serialize(live.Object)
	if err != nil {
		return nil, err
	}
	var result []byte
	if p.Type == types.StrategicMergePatchType {
		result, err = strategicpatch.StrategicMergePatchUsingLookupPatchMeta(documents[0], p.Data, schemaOf(kube.AsVersioned(info), info.Mapping.GroupVersionKind))
	} else {
		result, err = jsonpatch.MergePatch(documents[0], p.Data)
	}
	if err != nil {
		return nil, fmt.Errorf("apply a patch: %w", err)
	}
	patched = &unstructured.Unstructured{}
	if err := patched.UnmarshalJSON(result); err != nil {
		return nil, fmt.Errorf("read a patched object: %w", err)
	}
	return patched, nil
}

// normalize returns the content of an object in a form that does not depend on how its values
// are written: with the Go type of its kind, if there is one. It has no status, and none of the
// metadata that the server sets. known is false if the object does not fit the Go type.
func normalize(u *unstructured.Unstructured) (content any, known bool) {
	fields := object.WithoutServerFields(u.Object)
	typed, err := scheme.Scheme.New(u.GroupVersionKind())
	if err != nil {
		return fields, true
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(fields, typed, true); err != nil {
		return nil, false
	}
	if secret, ok := typed.(*corev1.Secret); ok {
		mergeStringData(secret)
	}
	return typed, true
}

// mergeStringData moves the entries of stringData to data, as the server does.
func mergeStringData(secret *corev1.Secret) {
	if secret.Data == nil {
		secret.Data = make(map[string][]byte, len(secret.StringData))
	}
	for key, value := range secret.StringData {
		secret.Data[key] = []byte(value)
	}
	secret.StringData = nil
}
