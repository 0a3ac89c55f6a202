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
	// ReasonGenerationNotObserved is the Reason of an object whose status describes an
	// earlier generation, because its controller has not observed the current one.
	ReasonGenerationNotObserved = "LatestGenerationNotObserved"
	// ReasonNotObserved is the Reason of an object without a status, because no controller
	// has observed it.
	ReasonNotObserved = "NotObserved"
)

// generationLag returns the Status of an object whose controller has not observed the
// current generation. It returns false if the controller has observed it, or does not
// report the observed generation.
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

// requireObserved returns a rule for kinds whose controllers always report the observed
// generation: an object without an observed generation is not ready. For other objects it
// calls rule.
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

// forKstatus returns the object in a form that kstatus accepts. It removes an
// observedGeneration that is not a number. generationLag has already checked the
// generation.
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
