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

// condition is one entry of status.conditions.
type condition struct {
	kind, status, reason, message string
}

// conditions reads status.conditions and skips entries it cannot read.
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

// findCondition returns the condition of that type, or the zero value.
func findCondition(obj *unstructured.Unstructured, kind string) condition {
	for _, c := range conditions(obj) {
		if c.kind == kind {
			return c
		}
	}
	return condition{}
}

// field returns what stands at the path, or nil. It never copies.
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

// intField returns the whole number at the path, or the fallback. Controllers
// outside Kubernetes write numbers as text now and then.
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
	// ReasonGenerationNotObserved is the Reason of what was changed since its
	// controller looked last.
	ReasonGenerationNotObserved = "LatestGenerationNotObserved"
	// ReasonNotObserved is the Reason of what no controller has looked at.
	ReasonNotObserved = "NotObserved"
)

// generationLag reports an object whose controller says that it has not seen
// the latest generation yet.
func generationLag(obj *unstructured.Unstructured) (Status, bool) {
	observed, found := asInt(field(obj, "status", "observedGeneration"))
	generation := obj.GetGeneration()
	if !found || generation == 0 || observed >= generation {
		return Status{}, false
	}
	return Status{
		State:   InProgress,
		Reason:  ReasonGenerationNotObserved,
		Message: fmt.Sprintf("generation %d is not observed yet, the last one observed is %d", generation, observed),
	}, true
}

// requireObserved guards a rule for kinds whose controller always reports the
// generation that it observed: until it does, it has not seen the object.
func requireObserved(rule func(*unstructured.Unstructured) Status) func(*unstructured.Unstructured) Status {
	return func(obj *unstructured.Unstructured) Status {
		if field(obj, "status", "observedGeneration") == nil {
			return Status{State: InProgress, Reason: ReasonNotObserved, Message: "no controller has observed it yet"}
		}
		return rule(obj)
	}
}

func terminatingMessage(obj *unstructured.Unstructured) string {
	if finalizers := obj.GetFinalizers(); len(finalizers) > 0 {
		return "being deleted, waiting for its finalizers: " + strings.Join(finalizers, ", ")
	}
	return "being deleted"
}

// forKstatus returns the object in a form that kstatus can take: it refuses an
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
