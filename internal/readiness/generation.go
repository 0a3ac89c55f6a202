// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"fmt"
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/field"
)

const (
	// ReasonGenerationNotObserved is the Status.Reason of an object whose controller has not
	// yet observed the current generation, so that the status field is out of date.
	ReasonGenerationNotObserved = "LatestGenerationNotObserved"
	// ReasonNotObserved is the Status.Reason of an object that its controller has not yet
	// observed at all.
	ReasonNotObserved = "NotObserved"
)

// generationLag returns the Status of an object whose controller has not yet observed the
// current generation. It returns false if the controller has observed the generation, or
// does not report which generation it has observed.
func generationLag(obj *unstructured.Unstructured) (Status, bool) {
	observed, found := field.AsInt(field.Get(obj.Object, "status", "observedGeneration"))
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

// requireObserved returns a function that computes the status of an object with rule, but
// only if the object has an observed generation. Without one, the object is not ready.
func requireObserved(rule func(*unstructured.Unstructured) Status) func(*unstructured.Unstructured) Status {
	return func(obj *unstructured.Unstructured) Status {
		if field.Get(obj.Object, "status", "observedGeneration") == nil {
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

// forKstatus returns the object, or a copy without status.observedGeneration if kstatus would
// reject its value, which is not an integer. generationLag has already checked the value.
func forKstatus(obj *unstructured.Unstructured) *unstructured.Unstructured {
	switch field.Get(obj.Object, "status", "observedGeneration").(type) {
	case nil, int64:
		return obj
	}
	status := maps.Clone(field.Map(obj.Object, "status"))
	delete(status, "observedGeneration")
	content := maps.Clone(obj.Object)
	content["status"] = status
	return &unstructured.Unstructured{Object: content}
}
