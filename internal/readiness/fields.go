// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// condition is an entry of status.conditions.
type condition struct {
	kind, status, reason, message string
}

// conditions returns the entries of status.conditions that can be decoded.
func conditions(obj *unstructured.Unstructured) []condition {
	entries, _ := field(obj, "status", "conditions").([]any)
	found := make([]condition, 0, len(entries))
	for _, entry := range entries {
		values, ok := entry.(map[string]any)
		if !ok {
			continue
		}
		found = append(found, condition{
			kind:    asString(values["type"]),
			status:  asString(values["status"]),
			reason:  asString(values["reason"]),
			message: asString(values["message"]),
		})
	}
	return found
}

// findCondition returns the condition of a type, or the zero value.
func findCondition(obj *unstructured.Unstructured, kind string) condition {
	for _, c := range conditions(obj) {
		if c.kind == kind {
			return c
		}
	}
	return condition{}
}

// field returns the value at a path, or nil. It does not copy.
func field(obj *unstructured.Unstructured, path ...string) any {
	value, found, err := unstructured.NestedFieldNoCopy(obj.Object, path...)
	if !found || err != nil {
		return nil
	}
	return value
}

func asString(value any) string {
	text, _ := value.(string)
	return text
}

func stringField(obj *unstructured.Unstructured, path ...string) string {
	return asString(field(obj, path...))
}

// intField returns the integer at a path, or the fallback. It accepts strings, because
// some controllers outside Kubernetes write numbers as strings.
func intField(obj *unstructured.Unstructured, fallback int64, path ...string) int64 {
	if value, ok := asInt(field(obj, path...)); ok {
		return value
	}
	return fallback
}

func asInt(value any) (int64, bool) {
	switch v := value.(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), v == float64(int64(v))
	case string:
		parsed, err := strconv.ParseInt(v, 10, 64)
		return parsed, err == nil
	}
	return 0, false
}

const (
	// ReasonGenerationNotObserved is the Reason of an object whose controller has not
	// observed the current generation.
	ReasonGenerationNotObserved = "LatestGenerationNotObserved"
	// ReasonNotObserved is the Reason of an object that no controller has observed.
	ReasonNotObserved = "NotObserved"
)

// generationLag returns the Status of an object whose controller has not observed the
// current generation. It reports false for other objects.
func generationLag(obj *unstructured.Unstructured) (Status, bool) {
	observed, found := asInt(field(obj, "status", "observedGeneration"))
	generation := obj.GetGeneration()
	if !found || generation == 0 || observed >= generation {
		return Status{}, false
	}
	return Status{
		State:   InProgress,
		Reason:  ReasonGenerationNotObserved,
		Message: fmt.Sprintf("waiting for the spec update to be observed (generation %d, observed %d)", generation, observed),
	}, true
}

// requireObserved extends a rule for kinds whose controller always reports the observed
// generation. An object without an observed generation is not ready.
func requireObserved(rule func(*unstructured.Unstructured) Status) func(*unstructured.Unstructured) Status {
	return func(obj *unstructured.Unstructured) Status {
		if field(obj, "status", "observedGeneration") == nil {
			return Status{State: InProgress, Reason: ReasonNotObserved, Message: "waiting for the spec update to be observed"}
		}
		return rule(obj)
	}
}

func terminatingMessage(obj *unstructured.Unstructured) string {
	if finalizers := obj.GetFinalizers(); len(finalizers) > 0 {
		return "being deleted, waiting for finalizers: " + strings.Join(finalizers, ", ")
	}
	return "being deleted"
}

// forKstatus returns the object in a form that kstatus accepts. It removes an
// observedGeneration that is not a number. The generation was checked before.
func forKstatus(obj *unstructured.Unstructured) *unstructured.Unstructured {
	switch field(obj, "status", "observedGeneration").(type) {
	case nil, int64:
		return obj
	}
	fields, _ := field(obj, "status").(map[string]any)
	fields = maps.Clone(fields)
	delete(fields, "observedGeneration")
	content := maps.Clone(obj.Object)
	content["status"] = fields
	return &unstructured.Unstructured{Object: content}
}
