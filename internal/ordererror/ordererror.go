// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package ordererror defines the errors about the order that charts declare.
package ordererror

import (
	"fmt"
	"strings"

	"github.com/ordered-helm/helm/internal/objectid"
	"github.com/ordered-helm/helm/internal/text"
)

// ResourceError says which resource, in which file, the error Err is about.
type ResourceError struct {
	File string
	ID   objectid.ID
	Err  error
}

func (e *ResourceError) Error() string {
	return fmt.Sprintf("%s: %s: %v", e.File, e.ID, e.Err)
}

func (e *ResourceError) Unwrap() error { return e.Err }

// DuplicateError reports that two documents define the same object. First and Second are
// the paths of their templates.
type DuplicateError struct {
	ID            objectid.ID
	First, Second string
}

func (e *DuplicateError) Error() string {
	where := "in " + e.First + " and " + e.Second
	if e.First == e.Second {
		where = "both times in " + e.First
	}
	return fmt.Sprintf("%s in namespace %q is defined twice, %s: rename (e.g. with fullnameOverride) or remove one",
		e.ID, e.ID.Namespace, where)
}

// UnknownSubchartError reports that a Chart.yaml refers to a subchart that does not exist.
type UnknownSubchartError struct {
	// File is the Chart.yaml, and Key is the key in it whose value contains Name. Key has
	// the same form as Reason.Key.
	File, Key string
	Name      string
	// Dependency is the name of the entry under "dependencies" whose depends-on contains
	// Name. It is empty if an annotation contains Name.
	Dependency string
	// Nearest is the valid name that is most similar to Name. It is empty if none is similar.
	Nearest string
	// Known lists all valid names.
	Known []string
}

func (e *UnknownSubchartError) Error() string {
	const maxKnown = 50
	hint := "; the chart has no dependencies"
	switch {
	case e.Nearest != "":
		hint = fmt.Sprintf(": did you mean %q?", e.Nearest)
	case len(e.Known) > 0:
		hint = "; known subcharts: " + text.List(e.Known, maxKnown)
	}
	return fmt.Sprintf("%s: %s refers to unknown subchart %q%s", e.File, e.Key, e.Name, hint)
}

// dependencyKeyPrefix is the beginning of the key for an entry under "dependencies" in a
// Chart.yaml. The name of the entry follows.
const dependencyKeyPrefix = "depends-on of dependency "

// DependencyKey returns the key, in Reason.Key of package sequencer, for the depends-on of the
// entry under "dependencies" with this name.
func DependencyKey(name string) string { return dependencyKeyPrefix + name }

// DependencyOfKey returns the name for which DependencyKey returns key, or "" if key is that of
// an annotation.
func DependencyOfKey(key string) string {
	name, is := strings.CutPrefix(key, dependencyKeyPrefix)
	if !is {
		return ""
	}
	return name
}

// ConflictError reports that two declarations about one chart or resource contradict each other.
type ConflictError struct {
	// Subject is the chart or resource, for example "chart shop/database".
	Subject       string
	First, Second Declaration
}

// Declaration is a value that a file declares.
type Declaration struct{ File, Key, Value string }

func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s: %s: %q conflicts with %s: %q in %s, for %s: remove one of them",
		e.First.File, e.First.Key, e.First.Value, e.Second.Key, e.Second.Value, e.Second.File, e.Subject)
}

// ExternalError reports that an external dependency is invalid.
type ExternalError struct {
	// File and Key are the place of the declaration, and Resource is the resource that it is about; empty if
	// it is about a chart.
	File, Resource, Key string
	// Value is the declared dependency.
	Value string
	Err   error
}

func (e *ExternalError) Error() string {
	where := e.File
	if e.Resource != "" {
		where += ": " + e.Resource
	}
	return fmt.Sprintf("%s: %s: %q: %v", where, e.Key, e.Value, e.Err)
}

func (e *ExternalError) Unwrap() error { return e.Err }

// OwnObjectError reports that an external dependency is an object of the release itself.
type OwnObjectError struct {
	// File is the template of the object.
	File string
}

func (e *OwnObjectError) Error() string {
	return fmt.Sprintf("is part of the same release (%s): use layers instead (helm.sh/layer and depends-on.helm.sh/layers)", e.File)
}

// CycleError reports that charts or layers depend on each other in a cycle.
type CycleError struct {
	// Edges lists the dependencies in the cycle. The To of each is the From of the next,
	// and the To of the last is the From of the first.
	Edges []CycleEdge
}

// CycleEdge is one dependency in a cycle: Key in File declares that From depends on To.
type CycleEdge struct {
	From, To, File, Key string
	// Chart is the path of the chart that depends on another one, or whose layers depend on each other.
	Chart string
}

// Dependency returns the name of the entry under "dependencies" whose depends-on declares
// the edge. It is empty if an annotation declares the edge.
func (e CycleEdge) Dependency() string { return DependencyOfKey(e.Key) }

// isOfRule reports whether a rule of an order file declares the edge. Its file then does not say which chart it is about.
func (e CycleEdge) isOfRule() bool {
	return strings.HasPrefix(e.Key, "charts[") || strings.HasPrefix(e.Key, "resources[")
}

func (e *CycleError) Error() string {
	var b strings.Builder
	b.WriteString("dependency cycle:")
	for _, edge := range e.Edges {
		place := edge.File + ": " + edge.Key
		if edge.isOfRule() {
			place += ", for chart " + edge.Chart
		}
		fmt.Fprintf(&b, "\n  %s depends on %s (%s)", edge.From, edge.To, place)
	}
	if len(e.Edges) == 1 {
		b.WriteString("\nremove the dependency on itself")
	} else {
		b.WriteString("\nremove one of these dependencies")
	}
	return b.String()
}
