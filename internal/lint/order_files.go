// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"strings"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/lint/rule"
	"github.com/ordered-helm/helm/internal/lint/source"
	"github.com/ordered-helm/helm/internal/ordererror"
	"github.com/ordered-helm/helm/internal/sequencer"
)

// addUnmatchedRule adds a finding about a rule that matches nothing. If the templates could not be rendered, nothing
// is known about rules for resources.
func (i *chartInspection) addUnmatchedRule(w sequencer.Warning) {
	if strings.HasPrefix(w.Key, "resources") && i.rendering.Templates == nil {
		return
	}
	i.add(rule.UnmatchedOrderRule, i.declaredAt(w.File, w.Key), w.Key+" matches nothing: the rule is ignored")
}

// addConflict adds a finding about two declarations that contradict each other, at the first of them.
func (i *chartInspection) addConflict(e *ordererror.ConflictError) {
	first, second := e.First, e.Second
	i.add(rule.ConflictingSpellings, i.declaredAt(first.File, first.Key), fmt.Sprintf("%s: %q conflicts with %s: %q in %s, for %s: remove one of them",
		first.Key, first.Value, second.Key, second.Value, i.declaredAt(second.File, second.Key).File, e.Subject))
}

// declaredAt returns the position of a declaration in a Chart.yaml or an order file. key is its key as in
// chartorder.Reason.Key. If the line is unknown, or the file is a template, the position has only the file.
func (i *chartInspection) declaredAt(file, key string) source.Position {
	if at, is := i.orderFiles.Position(file, key); is {
		return at
	}
	f := i.filesOfChart(file)
	if f == nil {
		return i.filePosition(file)
	}
	field, dependency, inDependency := strings.Cut(key, " of dependency ")
	switch {
	case inDependency:
		return f.DependencyField(dependency, field)
	case key == annotation.HookScopeField && f.Field(key).Line > 0:
		return f.Field(key)
	case key == annotation.HookScopeField:
		return f.Field("annotations", annotation.HookScope)
	}
	return f.Field("annotations", key)
}

// isOrderFile reports whether file, a name that package sequencer uses, is an order file.
func (i *chartInspection) isOrderFile(file string) bool {
	_, is := i.orderFiles.Position(file, "")
	return is
}
