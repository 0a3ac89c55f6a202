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
	"github.com/ordered-helm/helm/internal/waitlimit"
)

// Target describes an object to wait for, and how to wait for it.
type Target struct {
	GVR schema.GroupVersionResource
	GVK schema.GroupVersionKind
	// Namespace is empty for cluster-scoped objects.
	Namespace string
	Name      string
	// UID is used only by WaitDeleted, which waits until no object with this UID exists. If
	// it is empty, WaitDeleted uses the UID that the object has when it is first read.
	UID types.UID
	// Limit, if not nil, limits how long TargetGroup.Wait waits for the object to become
	// ready.
	Limit waitlimit.Limit
	// Evaluate decides whether the object is ready. If nil, Watcher.Evaluate does.
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

// Report describes the current state of one target to a caller of TargetGroup.Wait.
type Report struct {
	Target Target
	// Object is the last observed version of the object, without managedFields, or nil if
	// none was observed. It is shared, and must not be changed.
	Object *unstructured.Unstructured
	Status readiness.Status
	// Since is when the object changed to Status.State.
	Since time.Time
	// Deleted is true if the object did not exist at the last observation.
	Deleted bool
	// Replaced is true if the object was deleted during the wait and another object with
	// the same name was created. Object and Status are then those of the new object.
	Replaced bool
	// Unobserved is the total time of the wait during which the object could be neither
	// watched nor read, because the API server could not be reached.
	Unobserved time.Duration
	// TimedOut is Limit.Err of the target if its limit ended the wait for it, otherwise nil.
	TimedOut error
	// Forbidden is a *ForbiddenError if the result of the target is not known because a
	// permission to watch or read the object is missing, otherwise nil.
	Forbidden error
	// ObserveError says why the object currently can be neither watched nor read, or is nil.
	ObserveError error
}

// String returns the target and its state, in one line.
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

// sameStatus reports whether two reports look the same to a user. If so, TargetGroup.Wait does
// not call its function onChange for the second one.
func sameStatus(a, b Report) bool {
	return a.Status.State == b.Status.State && a.Status.Reason == b.Status.Reason &&
		a.Status.Message == b.Status.Message && a.Deleted == b.Deleted && a.Replaced == b.Replaced
}
