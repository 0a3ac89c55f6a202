// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package recreation deletes objects that cannot be changed in place, and creates them again
// (docs/reference.md, "Objects that cannot be changed in place"). Before that, it stores a copy of each object,
// from which the object can be created again as it was.
package recreation

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/kind"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// Rules say which objects the user allows to be recreated.
type Rules []rule

// rule is a pattern KIND/NAME. Both parts can contain wildcards.
type rule struct {
	// text is the pattern as it was given. kind is in lower case.
	text, kind, name string
}

// ParseRules reads patterns KIND/NAME. It returns an error if a pattern is malformed, or names a kind that is never
// recreated.
func ParseRules(patterns []string) (Rules, error) {
	var rules Rules
	var problems []error
	for _, text := range patterns {
		r, err := parseRule(text)
		rules, problems = append(rules, r), append(problems, err)
	}
	return rules, errors.Join(problems...)
}

// Validate returns the error of ParseRules.
func Validate(patterns []string) error {
	_, err := ParseRules(patterns)
	return err
}

func parseRule(text string) (rule, error) {
	kindName, name, found := strings.Cut(text, "/")
	r := rule{text: text, kind: strings.ToLower(kindName), name: name}
	_, kindErr := path.Match(r.kind, "")
	_, nameErr := path.Match(name, "")
	if !found || kindName == "" || name == "" || strings.Contains(name, "/") || kindErr != nil || nameErr != nil {
		return r, fmt.Errorf("cannot recreate %q: must be KIND/NAME, such as StatefulSet/db or 'Job/migrate-*'", text)
	}
	for _, never := range kind.NeverRecreated() {
		if strings.EqualFold(kindName, never) {
			return r, fmt.Errorf("cannot recreate %q: a %s is never recreated, because more than the object itself would be lost", text, never)
		}
	}
	return r, nil
}

func (r rule) hasWildcard() bool { return strings.ContainsAny(r.text, `*?[\`) }

func (r rule) matches(id sequencer.ID) bool {
	kindMatches, _ := path.Match(r.kind, strings.ToLower(id.Kind)) // parseRule has checked the patterns
	nameMatches, _ := path.Match(r.name, id.Name)
	return kindMatches && nameMatches
}

// Allow reports whether an object may be recreated.
func (rules Rules) Allow(id sequencer.ID) bool {
	return !kind.IsNeverRecreated(id.Group, id.Kind) && slices.ContainsFunc(rules, func(r rule) bool { return r.matches(id) })
}

// CheckUse returns an error if a pattern without wildcards matches none of the objects, and a warning for each other
// pattern that matches none.
func (rules Rules) CheckUse(objects []sequencer.ID) (warnings []string, err error) {
	var problems []error
	for _, r := range rules {
		switch used := slices.ContainsFunc(objects, r.matches); {
		case used:
		case r.hasWildcard():
			warnings = append(warnings, fmt.Sprintf("%q matches no object of the release, so it recreates none", r.text))
		default:
			problems = append(problems, fmt.Errorf("cannot recreate %q: the release has no such object", r.text))
		}
	}
	return warnings, errors.Join(problems...)
}
