// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package drift

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ordered-helm/helm/internal/object"
)

const (
	// controllerManager is the field manager of the controllers of Kubernetes, among them the
	// one of HorizontalPodAutoscalers.
	controllerManager = "kube-controller-manager"
	scaleSubresource  = "scale"
)

// HasTTLAfterFinished reports whether an object is a Job that the cluster deletes some time after
// it has finished.
func HasTTLAfterFinished(info *object.Info) bool {
	if !object.IsJob(info) {
		return false
	}
	declared, err := object.AsUnstructured(info.Object)
	if err != nil {
		return false
	}
	_, hasTTL, _ := unstructured.NestedFieldNoCopy(declared.Object, "spec", "ttlSecondsAfterFinished")
	return hasTTL
}

// Declaration returns the declaration of an object without the fields that the release does not
// control: the status, the CA bundles that controllers inject, and the fields that a
// HorizontalPodAutoscaler has set in live, the object in the cluster.
func Declaration(info *object.Info, live *unstructured.Unstructured) (*object.Info, error) {
	declared, err := object.AsUnstructured(info.Object)
	if err != nil {
		return nil, err
	}
	scaled := scaledFields(live)
	bundles := caBundles(info.Mapping.GroupVersionKind.GroupKind())
	if declared.Object["status"] == nil && len(scaled) == 0 && bundles == nil {
		return info, nil
	}
	declared = declared.DeepCopy()
	delete(declared.Object, "status")
	removeFields(declared.Object, scaled)
	removeAt(declared.Object, bundles)
	changed := *info
	changed.Object = declared
	return &changed, nil
}

// caBundles returns the path of the CA bundles in objects of a kind, in which controllers such as
// that of cert-manager inject them; nil if the kind has none. The path leads through lists.
func caBundles(kind schema.GroupKind) []string {
	switch kind {
	case schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "MutatingWebhookConfiguration"},
		schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "ValidatingWebhookConfiguration"}:
		return []string{"webhooks", "clientConfig", "caBundle"}
	case schema.GroupKind{Group: "apiextensions.k8s.io", Kind: object.CRDKind}:
		return []string{"spec", "conversion", "webhook", "clientConfig", "caBundle"}
	case schema.GroupKind{Group: "apiregistration.k8s.io", Kind: "APIService"}:
		return []string{"spec", "caBundle"}
	}
	return nil
}

// removeAt removes the field at path from content, and from the items of lists on the path.
func removeAt(content any, path []string) {
	switch parent := content.(type) {
	case []any:
		for _, item := range parent {
			removeAt(item, path)
		}
	case map[string]any:
		if len(path) == 1 {
			delete(parent, path[0])
		} else if len(path) > 1 {
			removeAt(parent[path[0]], path[1:])
		}
	}
}

// scaledFields returns the fields of an object that the controllers of Kubernetes have set last
// through its subresource scale, in the format of managed fields. It does not decode the other
// managed fields, which takes long.
func scaledFields(live *unstructured.Unstructured) map[string]any {
	entries, _, _ := unstructured.NestedFieldNoCopy(live.Object, "metadata", "managedFields")
	list, _ := entries.([]any)
	for _, item := range list {
		entry, _ := item.(map[string]any)
		if entry["manager"] == controllerManager && entry["subresource"] == scaleSubresource && entry["operation"] == string(metav1.ManagedFieldsOperationUpdate) {
			fields, _ := entry["fieldsV1"].(map[string]any)
			return fields
		}
	}
	return nil
}

// removeFields removes fields, in the format of managed fields, from the content of an object.
func removeFields(content, fields map[string]any) {
	for key, inner := range fields {
		name, isField := strings.CutPrefix(key, "f:")
		if !isField {
			continue
		}
		below, _ := inner.(map[string]any)
		if len(below) == 0 {
			delete(content, name)
		} else if nested, ok := content[name].(map[string]any); ok {
			removeFields(nested, below)
		}
	}
}
