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

// Target names an object to wait for.
type Target struct {
	GVR schema.GroupVersionResource
	GVK schema.GroupVersionKind
	// Namespace is empty for objects outside namespaces.
	Namespace string
	Name      string
	// UID is the object whose end WaitGone waits for. Without one it is the
	// object that bears the name when WaitGone first looks.
	UID types.UID
	// Timeout is how long it may take to get ready, from Options.Since on; 0 is no
	// limit of its own. Time in which the API could not be reached does not
	// count.
	Timeout time.Duration
	// Evaluate judges the object; nil takes the Tracker's Evaluator.
	Evaluate readiness.Evaluator
}

// String names the object for people: "Deployment shop/web".
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

// Report is what is known about a Target.
type Report struct {
	Target Target
	// Object is the last version seen, without managedFields. It is nil if none
	// was seen, and shared: whoever gets it must not change it.
	Object *unstructured.Unstructured
	Status readiness.Status
	// Since is when the present State was first seen.
	Since time.Time
	// Deleted says that the object was not on the server when last looked at.
	Deleted bool
	// Replaced says that another object took the name while it was waited for;
	// Object and Status are the new one's.
	Replaced bool
	// Unobserved is for how long, since the waiting began, the object could not
	// be observed because the API could not be reached.
	Unobserved time.Duration
	// TimedOutAfter is the time within which it was not ready; 0 while it is not over.
	TimedOutAfter time.Duration
	// Forbidden is why it can be observed in no way, as far as it was not ready
	// before: a *ForbiddenError, or nil.
	Forbidden error
	// ObserveError is why it cannot be observed at this moment, or nil.
	ObserveError error
}

// String says in one line how the target stands.
func (r Report) String() string {
	var line strings.Builder
	fmt.Fprintf(&line, "%s: %s", r.Target, r.Status.State)
	if r.Status.Message != "" {
		line.WriteString(": " + r.Status.Message)
	}
	if r.Replaced {
		line.WriteString(" (another object took its name meanwhile)")
	}
	if r.ObserveError != nil {
		fmt.Fprintf(&line, " (it cannot be observed at the moment: %v)", r.ObserveError)
	}
	return line.String()
}

// sameStatus tells whether two reports read the same to somebody who follows the
// progress.
func sameStatus(a, b Report) bool {
	return a.Status.State == b.Status.State && a.Status.Reason == b.Status.Reason &&
		a.Status.Message == b.Status.Message && a.Deleted == b.Deleted && a.Replaced == b.Replaced
}
