// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package watcher

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/internal/readiness"
)

// Target identifies an object to wait for.
type Target struct {
	GVR schema.GroupVersionResource
	GVK schema.GroupVersionKind
	// Namespace is empty for cluster-scoped objects.
	Namespace string
	Name      string
	// UID identifies the object that WaitDeleted waits for. If empty, it is the object
	// that has the name when WaitDeleted first reads it.
	UID types.UID
	// Timeout is how long the object may take to become ready, starting at Options.Start. 0
	// means no limit. Time in which the API server cannot be reached does not count.
	Timeout time.Duration
	// Evaluate judges the object. If nil, Config.Evaluate is used.
	Evaluate readiness.Evaluator
}

// String returns the kind and name, as in "Deployment shop/web".
func (t Target) String() string {
	kind := t.GVK.Kind
	if kind == "" {
		kind = t.GVR.Resource
	}
	if t.Namespace == "" {
		return kind + " " + t.Name
	}
	return kind + " " + t.Namespace + "/" + t.Name
}

// Report describes the state of a Target.
type Report struct {
	Target Target
	// Object is the last version that was seen, without managedFields. It is nil if none
	// was seen. It is shared and must not be changed.
	Object *unstructured.Unstructured
	Status readiness.Status
	// Since is when the current State was first seen.
	Since time.Time
	// Deleted is whether the object did not exist when it was last observed.
	Deleted bool
	// Replaced is whether another object took the name during the wait. Object and Status
	// are then those of the new object.
	Replaced bool
	// Unobserved is how long the object could not be observed during the wait, because
	// the API server could not be reached.
	Unobserved time.Duration
	// TimedOutAfter is the timeout of the target if it has timed out, otherwise 0.
	TimedOutAfter time.Duration
	// Forbidden is a *ForbiddenError if a permission to observe the object is missing and
	// it was not ready before, otherwise nil.
	Forbidden error
	// ObserveError is why the object currently cannot be observed, or nil.
	ObserveError error
}

// String returns the state of the target in one line.
func (r Report) String() string {
	var line strings.Builder
	fmt.Fprintf(&line, "%s: %s", r.Target, r.Status.State)
	if r.Status.Message != "" {
		line.WriteString(": " + r.Status.Message)
	}
	if r.Replaced {
		line.WriteString(" (replaced by another object with the same name)")
	}
	if r.ObserveError != nil {
		fmt.Fprintf(&line, " (currently cannot be observed: %v)", r.ObserveError)
	}
	return line.String()
}

// sameStatus reports whether two reports look the same to a user who follows the
// progress.
func sameStatus(a, b Report) bool {
	return a.Status.State == b.Status.State && a.Status.Reason == b.Status.Reason &&
		a.Status.Message == b.Status.Message && a.Deleted == b.Deleted && a.Replaced == b.Replaced
}
