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

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/redact"
)

const (
	// maskedValue replaces a value in a Secret. changedValue replaces it if the operation
	// would change it.
	maskedValue  = "***"
	changedValue = maskedValue + " (changed)"
	// lastAppliedAnnotation is the annotation in which kubectl stores a copy of an object.
	lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"
)

// defaultContext is the number of unchanged lines that a diff shows before and after each change.
const defaultContext = 3

// unifiedDiff returns a unified diff between two texts; "" if they are equal.
func unifiedDiff(live, planned string, contextLines int) string {
	// It fails only if the changes overlap, which those that it has computed itself do not.
	diff, _ := udiff.ToUnified("live", "planned", live, udiff.Lines(live, planned), contextLines)
	return diff
}

// textsOf returns the YAML of an object in the cluster (before), and of the same object as the operation would
// leave it (after). It omits fields that the server maintains, and masks the contents of Secrets.
func textsOf(before, after *unstructured.Unstructured, redactor *redact.Redactor) (live, planned string, err error) {
	from, to := contentWithoutServerFields(before), contentWithoutServerFields(after)
	if isSecret(before) || isSecret(after) {
		maskData(from, to)
	}
	oldTree, newTree := maskBoth(from, to, redactor)
	texts := make([]string, 2)
	for i, tree := range []any{oldTree, newTree} {
		text, err := yaml.Marshal(tree)
		if err != nil {
			return "", "", err
		}
		texts[i] = string(text)
	}
	return texts[0], texts[1], nil
}

func isSecret(object *unstructured.Unstructured) bool {
	return object != nil && object.GetKind() == "Secret" && object.GetAPIVersion() == "v1"
}

// withoutAssignedPorts returns the object as the operation would leave it. In a Service, it
// replaces node ports that the server assigned for the dry run only, because the server
// would assign others to the actual request.
func withoutAssignedPorts(t objectwriter.DryRunResult) *unstructured.Unstructured {
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

// nodePorts returns the node ports of a Service.
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

// contentWithoutServerFields returns a copy of the content of an object, which can be changed, without the fields that
// the server maintains.
func contentWithoutServerFields(o *unstructured.Unstructured) map[string]any {
	return runtime.DeepCopyJSON(object.WithoutServerFields(o.Object))
}

// maskData masks the data of a Secret before and after the operation. It masks a value that
// the operation would change as changedValue.
func maskData(before, after map[string]any) {
	for _, field := range []string{"data", "stringData"} {
		from, _ := before[field].(map[string]any)
		to, _ := after[field].(map[string]any)
		was := maps.Clone(from)
		for key := range from {
			from[key] = maskedValue
		}
		for key, value := range to {
			old, known := was[key]
			if known && !reflect.DeepEqual(old, value) {
				to[key] = changedValue
			} else {
				to[key] = maskedValue
			}
		}
	}
	was, _, _ := unstructured.NestedString(before, "metadata", "annotations", lastAppliedAnnotation)
	is, _, _ := unstructured.NestedString(after, "metadata", "annotations", lastAppliedAnnotation)
	for _, object := range []map[string]any{before, after} {
		annotations, _, _ := unstructured.NestedFieldNoCopy(object, "metadata", "annotations")
		if a, ok := annotations.(map[string]any); ok && a[lastAppliedAnnotation] != nil {
			a[lastAppliedAnnotation] = maskedValue
		}
	}
	if was != is && is != "" {
		_ = unstructured.SetNestedField(after, changedValue, "metadata", "annotations", lastAppliedAnnotation) // cannot fail, because the annotation exists
	}
}

// maskBoth returns two versions of a value, such as the content of an object before and
// after the operation, with the contents of Secrets masked in all strings. If two strings
// differ but are equal after masking, maskBoth adds "(changed)" to the second one.
func maskBoth(before, after any, redactor *redact.Redactor) (from, to any) {
	switch b := before.(type) {
	case map[string]any:
		a, _ := after.(map[string]any)
		oldMap, newMap := map[string]any{}, map[string]any{}
		for key, value := range b {
			hidden, changed := maskBoth(value, a[key], redactor)
			oldMap[redactor.Text(key)] = hidden
			if _, stays := a[key]; stays {
				newMap[redactor.Text(key)] = changed
			}
		}
		for key, value := range a {
			if _, was := b[key]; !was {
				newMap[redactor.Text(key)] = redactor.Value(value)
			}
		}
		if _, same := after.(map[string]any); !same {
			return oldMap, redactor.Value(after)
		}
		return oldMap, newMap
	case []any:
		a, same := after.([]any)
		oldList := make([]any, len(b))
		newList := make([]any, len(a))
		for i := range max(len(b), len(a)) {
			switch {
			case i >= len(a):
				oldList[i] = redactor.Value(b[i])
			case i >= len(b):
				newList[i] = redactor.Value(a[i])
			default:
				oldList[i], newList[i] = maskBoth(b[i], a[i], redactor)
			}
		}
		if !same {
			return oldList, redactor.Value(after)
		}
		return oldList, newList
	case string:
		hidden := redactor.Text(b)
		a, same := after.(string)
		if !same {
			return hidden, redactor.Value(after)
		}
		changed := redactor.Text(a)
		if a != b && changed == hidden {
			changed += " (changed)"
		}
		return hidden, changed
	}
	return before, redactor.Value(after)
}
