// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package drift finds out in which fields the objects of a release differ in the cluster from what
// its revision declares, and who has changed them (docs/reference.md, "helm drift"). It sends
// one list request for each kind and namespace, or reads each object where that is forbidden. It changes nothing.
package drift

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ordered-helm/helm/internal/text"
)

// Report says in which objects a release differs from its revision. Its JSON encoding is part of
// the output of "helm drift -o json".
type Report struct {
	Release   string `json:"release"`
	Namespace string `json:"namespace"`
	Revision  int    `json:"revision,omitempty"`
	// Drifted says whether any object has the state Changed or Missing.
	Drifted bool `json:"drifted"`
	// Objects contains the objects that have not the state Unchanged, in the order of the revision.
	Objects []Object `json:"objects"`
	// Unchanged is the number of objects that are as declared, except for what is ignored. It
	// includes Jobs that no longer exist because of ttlSecondsAfterFinished.
	Unchanged int `json:"unchanged"`
	// Error says why the release could not be compared; it is empty if it was.
	Error string `json:"error,omitempty"`
}

// State says how an object stands.
type State string

const (
	// Unchanged means that the object is as declared.
	Unchanged State = "unchanged"
	// Changed means that the object differs from its declaration.
	Changed State = "changed"
	// Missing means that the object does not exist.
	Missing State = "missing"
	// Unknown means that the object could not be read or compared.
	Unknown State = "unknown"
)

// Object is an object of a release that is not as declared.
type Object struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Namespace is empty for a cluster-scoped object.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	State     State  `json:"state"`
	// Fields are the fields that differ, in the order of their paths, if the state is Changed.
	Fields []Field `json:"fields,omitempty"`
	// Note is additional information for the user; it can be empty.
	Note string `json:"note,omitempty"`
	// Error says why the object is Unknown, and what to do about it.
	Error string `json:"error,omitempty"`
}

// Field is a field that differs. The contents of Secrets are masked in all values.
type Field struct {
	// Path is the path of the field, such as spec.template.spec.containers[name=app].image.
	Path string `json:"path"`
	// Declared and Live are the values in the declaration and in the cluster. A value is nil if
	// there is no such field.
	Declared any `json:"declared,omitempty"`
	Live     any `json:"live,omitempty"`
	// Manager is the field manager that has set the field last, and Time when it has last changed
	// the object. They are not set if the server does not know this.
	Manager string     `json:"manager,omitempty"`
	Time    *time.Time `json:"time,omitempty"`
}

// String returns the kind and name of the object, as in "Deployment/shop".
func (o Object) String() string { return o.Kind + "/" + o.Name }

// Cause names the fields of the object that differ and the managers that have set them, as in
// "spec.replicas, set by kubectl-edit"; "missing" for an object that does not exist.
func (o Object) Cause() string {
	const maxNamed = 3
	var paths, managers []string
	for _, f := range o.Fields {
		paths = append(paths, f.Path)
		if f.Manager != "" && !slices.Contains(managers, f.Manager) {
			managers = append(managers, f.Manager)
		}
	}
	cause := cmp.Or(text.List(paths, maxNamed), string(o.State))
	if len(managers) > 0 {
		slices.Sort(managers)
		cause += ", set by " + strings.Join(managers, " and ")
	}
	return cause
}

// Count returns the number of objects with the given state.
func (r *Report) Count(state State) int {
	n := 0
	for _, o := range r.Objects {
		if o.State == state {
			n++
		}
	}
	return n
}

// Summary names the objects that are not as declared, and what differs, in one line.
func (r *Report) Summary() string {
	var parts []string
	for _, o := range r.Objects {
		parts = append(parts, fmt.Sprintf("%s (%s)", o, o.Cause()))
	}
	return strings.Join(parts, ", ")
}
