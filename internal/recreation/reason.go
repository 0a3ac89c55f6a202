// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package recreation

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/field"
	"github.com/ordered-helm/helm/internal/object"
)

// mutableFields are the fields of spec that the API server changes, for the kinds whose rejections do not name the
// field that was changed.
var mutableFields = map[string][]string{
	"StatefulSet": {"replicas", "ordinals", "template", "updateStrategy", "revisionHistoryLimit", "persistentVolumeClaimRetentionPolicy", "minReadySeconds"},
}

// Reason says in one line which fields of an object cannot be changed, as in "spec.selector is immutable". It is empty
// if the server rejected the change of the object for another reason. live is the object in the cluster.
func Reason(declared, live *unstructured.Unstructured, rejected error) string {
	var fields []string
	for _, name := range failure.ImmutableFields(rejected) {
		if name == "spec" {
			fields = append(fields, changedFields(declared, live)...)
		} else {
			fields = append(fields, name)
		}
	}
	switch len(fields) {
	case 0:
		return ""
	case 1:
		return fields[0] + " is immutable"
	}
	return strings.Join(fields, ", ") + " are immutable"
}

// changedFields returns the fields of spec that differ, or spec itself if none is found.
func changedFields(declared, live *unstructured.Unstructured) []string {
	before := field.Map(live.Object, "spec")
	var fields []string
	spec := field.Map(declared.Object, "spec")
	for _, name := range slices.Sorted(maps.Keys(spec)) {
		if !slices.Contains(mutableFields[live.GetKind()], name) && !isPartOf(spec[name], before[name]) {
			fields = append(fields, "spec."+name)
		}
	}
	if fields == nil {
		return []string{"spec"}
	}
	return fields
}

// isPartOf reports whether everything in a declared value is in the live value, which can have more fields.
func isPartOf(declared, live any) bool {
	switch d := declared.(type) {
	case map[string]any:
		l, _ := live.(map[string]any)
		for key, value := range d {
			if !isPartOf(value, l[key]) {
				return false
			}
		}
		return true
	case []any:
		l, _ := live.([]any)
		return slices.EqualFunc(d, l, isPartOf)
	case nil:
		return true
	}
	return reflect.DeepEqual(declared, live) || fmt.Sprint(declared) == fmt.Sprint(live)
}

// refusal says why an object must not be recreated; nil if it can be. target is the object to create, and live the one
// to delete.
func refusal(target, live *unstructured.Unstructured, owner object.OwningRelease) error {
	if err := object.CheckOwner(live, owner); err != nil {
		return fmt.Errorf("it is not labeled as owned by the release: %w", err)
	}
	if controller := metav1.GetControllerOf(live); controller != nil {
		return fmt.Errorf("it is controlled by %s/%s", controller.Kind, controller.Name)
	}
	if object.PolicyKeeps(object.ResourcePolicy(live)) || object.PolicyKeeps(object.ResourcePolicy(target)) {
		return errors.New("its helm.sh/resource-policy is to keep it")
	}
	if live.GetKind() == statefulSet.Kind {
		return checkAdoption(target, live)
	}
	return nil
}

// checkAdoption returns an error if a new StatefulSet could not adopt the pods of the live one.
func checkAdoption(target, live *unstructured.Unstructured) error {
	var declared metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(field.Map(target.Object, "spec", "selector"), &declared); err != nil {
		return fmt.Errorf("spec.selector: %w", err)
	}
	selector, err := metav1.LabelSelectorAsSelector(&declared)
	if err != nil {
		return fmt.Errorf("spec.selector: %w", err)
	}
	podLabels, _, err := unstructured.NestedStringMap(live.Object, "spec", "template", "metadata", "labels")
	if err != nil {
		return fmt.Errorf("the labels of its pods: %w", err)
	}
	if !selector.Matches(labels.Set(podLabels)) {
		return errors.New("the new spec.selector does not match the labels of its pods, so they could not be adopted")
	}
	return nil
}
