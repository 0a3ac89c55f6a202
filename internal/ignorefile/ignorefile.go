// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package ignorefile reads files with rules about differences that are ignored (docs/reference.md,
// "Rules for ignoring drift"), and applies these rules. It knows nothing about clusters.
package ignorefile

import (
	"fmt"
	"sync/atomic"

	"github.com/ordered-helm/helm/internal/fielddiff"
	"github.com/ordered-helm/helm/internal/orderfile"
)

// These limits keep the time short in which a file is read and applied.
const (
	// MaxSize is the maximum size of a file, in bytes.
	MaxSize = 1 << 20
	// MaxRules is the maximum number of rules in a file.
	MaxRules = 1000
)

// File contains the rules of a file. A nil File has no rules.
type File struct {
	name  string
	rules []*rule
}

// rule says which differences are ignored.
type rule struct {
	// line is the line where the rule begins, and index its index in the file.
	line, index int
	match       match
	fields      []fielddiff.Pattern
	managers    []orderfile.NamePattern
	// matched reports whether the rule has matched an object.
	matched atomic.Bool
}

// match says to which objects a rule applies. Fields that are empty match everything.
type match struct {
	kind, group     string
	name, namespace orderfile.NamePattern
	labels          map[string]string
}

// Object is what rules need to know about an object.
type Object struct {
	Group, Kind, Namespace, Name string
	Labels                       map[string]string
}

// Rules are the rules of a file that apply to an object.
type Rules []*rule

// For returns the rules that apply to an object.
func (f *File) For(o Object) Rules {
	if f == nil {
		return nil
	}
	var rules Rules
	for _, r := range f.rules {
		if r.match.matches(o) {
			r.matched.Store(true)
			rules = append(rules, r)
		}
	}
	return rules
}

func (m *match) matches(o Object) bool {
	if m.kind != "" && m.kind != o.Kind || m.group != "" && m.group != o.Group {
		return false
	}
	if m.name != nil && !m.name.Matches(o.Name) || m.namespace != nil && !m.namespace.Matches(o.Namespace) {
		return false
	}
	for key, value := range m.labels {
		if actual, found := o.Labels[key]; !found || actual != value {
			return false
		}
	}
	return true
}

// IgnoreObject reports whether all differences of the object are ignored, even that it does not
// exist.
func (rules Rules) IgnoreObject() bool {
	for _, r := range rules {
		if r.fields == nil && r.managers == nil {
			return true
		}
	}
	return false
}

// IgnoreField reports whether a difference in the field at path is ignored. manager is the client
// that has set it; empty if it is not known.
func (rules Rules) IgnoreField(path fielddiff.Path, manager string) bool {
	for _, r := range rules {
		if r.hasField(path) && r.hasManager(manager) {
			return true
		}
	}
	return false
}

func (r *rule) hasField(path fielddiff.Path) bool {
	for _, pattern := range r.fields {
		if pattern.Matches(path) {
			return true
		}
	}
	return r.fields == nil
}

func (r *rule) hasManager(manager string) bool {
	for _, pattern := range r.managers {
		if manager != "" && pattern.Matches(manager) {
			return true
		}
	}
	return r.managers == nil
}

// Unmatched returns a message for each rule that has not applied to any object.
func (f *File) Unmatched() []string {
	if f == nil {
		return nil
	}
	var messages []string
	for _, r := range f.rules {
		if !r.matched.Load() {
			messages = append(messages, fmt.Sprintf("%s:%d: ignore[%d] matches no object: correct the rule, or remove it", f.name, r.line, r.index))
		}
	}
	return messages
}

// Error reports a problem in a file.
type Error struct {
	// File is the name of the file, and Line the line of the problem. The first line is 1.
	File string
	Line int
	// Path is the path of the invalid value, such as ignore[1].fields[0]; it can be empty.
	Path string
	// Problem says what is wrong, and how to correct it.
	Problem string
}

func (e *Error) Error() string {
	at := fmt.Sprintf("%s:%d: ", e.File, e.Line)
	if e.Path != "" {
		at += e.Path + ": "
	}
	return at + e.Problem
}
