// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package preview

import (
	"fmt"
	"maps"
	"reflect"

	udiff "github.com/aymanbagabas/go-udiff"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/redact"
)

const (
	hiddenValue  = "***"
	changedValue = hiddenValue + " (changed)"
	// lastApplied is the annotation in which kubectl stores a copy of an object.
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// diffOf returns a unified diff of an object in the cluster and the same object after the
// operation. It omits fields that the server maintains, and masks the contents of Secrets.
func diffOf(before, after *unstructured.Unstructured, redactor *redact.Redactor) (string, error) {
	from, to := withoutNoise(before), withoutNoise(after)
	if isSecret(before) || isSecret(after) {
		hideData(from, to)
	}
	oldTree, newTree := hide(from, to, redactor)
	texts := make([]string, 2)
	for i, tree := range []any{oldTree, newTree} {
		text, err := yaml.Marshal(tree)
		if err != nil {
			return "", err
		}
		texts[i] = string(text)
	}
	return udiff.Unified("live", "planned", texts[0], texts[1]), nil
}

func isSecret(object *unstructured.Unstructured) bool {
	return object != nil && object.GetKind() == "Secret" && object.GetAPIVersion() == "v1"
}

// withoutPlaceholders returns the object as the operation would leave it. In a Service, it
// replaces node ports that the server chose only for the dry run, because the real request
// gets other ones.
func withoutPlaceholders(t objectwriter.DryRunResult) *unstructured.Unstructured {
	if kind := t.Info.Mapping.GroupVersionKind; kind.Group != "" || kind.Kind != "Service" {
		return t.After
	}
	known := nodePorts(t.Before)
	if declared, ok := t.Info.Object.(*unstructured.Unstructured); ok {
		maps.Copy(known, nodePorts(declared))
	}
	after := t.After.DeepCopy()
	ports, _, _ := unstructured.NestedFieldNoCopy(after.Object, "spec", "ports")
	list, _ := ports.([]any)
	for _, p := range list {
		if port, ok := p.(map[string]any); ok && port["nodePort"] != nil && !known[fmt.Sprint(port["nodePort"])] {
			port["nodePort"] = "(assigned by the server)"
		}
	}
	return after
}

// nodePorts returns the set of the node ports of a Service.
func nodePorts(service *unstructured.Unstructured) map[string]bool {
	found := map[string]bool{}
	ports, _, _ := unstructured.NestedSlice(service.Object, "spec", "ports")
	for _, p := range ports {
		if port, ok := p.(map[string]any); ok && port["nodePort"] != nil {
			found[fmt.Sprint(port["nodePort"])] = true
		}
	}
	return found
}

// withoutNoise returns a copy of an object without the fields that the server maintains.
func withoutNoise(object *unstructured.Unstructured) map[string]any {
	content := runtime.DeepCopyJSON(object.Object)
	delete(content, "status")
	if metadata, ok := content["metadata"].(map[string]any); ok {
		for _, field := range []string{"managedFields", "resourceVersion", "generation", "uid", "creationTimestamp", "selfLink"} {
			delete(metadata, field)
		}
	}
	return content
}

// hideData masks the data of a Secret before and after the operation. The mask of a new
// value says whether the value has changed.
func hideData(before, after map[string]any) {
	for _, field := range []string{"data", "stringData"} {
		from, _ := before[field].(map[string]any)
		to, _ := after[field].(map[string]any)
		was := maps.Clone(from)
		for key := range from {
			from[key] = hiddenValue
		}
		for key, value := range to {
			old, known := was[key]
			if known && !reflect.DeepEqual(old, value) {
				to[key] = changedValue
			} else {
				to[key] = hiddenValue
			}
		}
	}
	was, _, _ := unstructured.NestedString(before, "metadata", "annotations", lastApplied)
	is, _, _ := unstructured.NestedString(after, "metadata", "annotations", lastApplied)
	for _, object := range []map[string]any{before, after} {
		annotations, _, _ := unstructured.NestedFieldNoCopy(object, "metadata", "annotations")
		if a, ok := annotations.(map[string]any); ok && a[lastApplied] != nil {
			a[lastApplied] = hiddenValue
		}
	}
	if was != is && is != "" {
		_ = unstructured.SetNestedField(after, changedValue, "metadata", "annotations", lastApplied) // cannot fail, because the annotation exists
	}
}

// hide returns two versions of a value, such as the content of an object, with the contents
// of Secrets masked in all texts. If two texts differ but are equal after masking, the new
// one is marked as changed.
func hide(before, after any, redactor *redact.Redactor) (from, to any) {
	switch b := before.(type) {
	case map[string]any:
		a, _ := after.(map[string]any)
		oldMap, newMap := map[string]any{}, map[string]any{}
		for key, value := range b {
			hidden, changed := hide(value, a[key], redactor)
			oldMap[redactor.Text(key)] = hidden
			if _, stays := a[key]; stays {
				newMap[redactor.Text(key)] = changed
			}
		}
		for key, value := range a {
			if _, was := b[key]; !was {
				newMap[redactor.Text(key)] = hideOne(value, redactor)
			}
		}
		if _, same := after.(map[string]any); !same {
			return oldMap, hideOne(after, redactor)
		}
		return oldMap, newMap
	case []any:
		a, same := after.([]any)
		oldList := make([]any, len(b))
		newList := make([]any, len(a))
		for i := range max(len(b), len(a)) {
			switch {
			case i >= len(a):
				oldList[i] = hideOne(b[i], redactor)
			case i >= len(b):
				newList[i] = hideOne(a[i], redactor)
			default:
				oldList[i], newList[i] = hide(b[i], a[i], redactor)
			}
		}
		if !same {
			return oldList, hideOne(after, redactor)
		}
		return oldList, newList
	case string:
		hidden := redactor.Text(b)
		a, same := after.(string)
		if !same {
			return hidden, hideOne(after, redactor)
		}
		changed := redactor.Text(a)
		if a != b && changed == hidden {
			changed += " (changed)"
		}
		return hidden, changed
	}
	return before, hideOne(after, redactor)
}

// hideOne returns a value with the contents of Secrets masked in all texts.
func hideOne(value any, redactor *redact.Redactor) any {
	switch v := value.(type) {
	case map[string]any:
		hidden := make(map[string]any, len(v))
		for key, value := range v {
			hidden[redactor.Text(key)] = hideOne(value, redactor)
		}
		return hidden
	case []any:
		hidden := make([]any, len(v))
		for i := range v {
			hidden[i] = hideOne(v[i], redactor)
		}
		return hidden
	case string:
		return redactor.Text(v)
	}
	return value
}
