// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/ordered-helm/helm/internal/similar"
)

// CheckKeys returns a *ValueError for each annotation of a resource whose key looks like
// that of a sequencing annotation (see Keys) but is not, or belongs in Chart.yaml. If such
// keys were ignored, the order would not be the one that the author wants.
func CheckKeys(annotations map[string]any) error { return checkKeys(annotations, KeyProblem) }

// CheckChartKeys is like CheckKeys, for the annotations in Chart.yaml (see ChartKeys).
func CheckChartKeys(annotations map[string]any) error {
	return checkKeys(annotations, ChartKeyProblem)
}

// CheckChartFields is like CheckKeys, for the fields at the top level of Chart.yaml.
func CheckChartFields(fields map[string]any) error { return checkKeys(fields, ChartFieldProblem) }

// CheckDependencyFields is like CheckKeys, for the fields of an entry under "dependencies" in
// Chart.yaml.
func CheckDependencyFields(fields map[string]any) error {
	return checkKeys(fields, DependencyFieldProblem)
}

func checkKeys(values map[string]any, problemOf func(key string) (string, ErrorKind)) error {
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if reason, kind := problemOf(key); reason != "" {
			problems = append(problems, &ValueError{Key: key, Value: values[key], Reason: reason, Kind: kind})
		}
	}
	return errors.Join(problems...)
}

// KeyProblem explains what is wrong with the key of an annotation of a resource. reason is
// the text for the user, and kind classifies it. reason is empty if key is the key of a
// sequencing annotation, or if it does not resemble one.
func KeyProblem(key string) (reason string, kind ErrorKind) {
	lower := strings.ToLower(strings.ReplaceAll(key, "_", "-"))
	if !strings.Contains(lower, "helm.sh/") || IsSequencingKey(key) {
		return "", UnknownKey
	}
	switch meant := nearestKey(key, []string{DependsOnSubcharts, DependsOnSubchartsCanonical, HookScope}); meant {
	case "":
	case key:
		return "has no effect in a template: move it into Chart.yaml", Misplaced
	default:
		return fmt.Sprintf("has no effect in a template: use %s in Chart.yaml", suggestedKey(meant)), Misplaced
	}
	meant := suggestedKey(nearestKey(key, append(Keys(), dependsOnLayersProposed, dependsOnResourceGroupsProposed, dependsOnExternalProposed)))
	isDependency := strings.HasPrefix(lower, "depends-on.helm.sh/") || strings.HasPrefix(lower, "helm.sh/depend")
	if isDependency && meant == DeployOn { // which is similar to such keys by chance
		meant = ""
	}
	switch {
	case isDependency:
		dependencies := []string{DependsOnLayers, DependsOnResourceGroups, DependsOnExternal}
		meant = cmp.Or(meant, similar.Nearest(lower, dependencies), DependsOnLayers)
	case strings.HasPrefix(lower, "helm.sh/readiness-"):
		meant = cmp.Or(meant, similar.Nearest(lower, Keys()), ReadinessSuccess)
	case meant == "":
		return "", UnknownKey
	}
	return didYouMean(meant), UnknownKey
}

// ChartKeyProblem is like KeyProblem, for an annotation in Chart.yaml.
func ChartKeyProblem(key string) (reason string, kind ErrorKind) {
	lower := strings.ToLower(strings.ReplaceAll(key, "_", "-"))
	switch {
	case !strings.Contains(lower, "helm.sh/") || slices.Contains(ChartKeys(), key):
		return "", UnknownKey
	case IsSequencingKey(key):
		return "has no effect in Chart.yaml: move it to the metadata of a resource in a template", Misplaced
	}
	meant := suggestedKey(nearestKey(key, ChartKeys()))
	if strings.HasPrefix(lower, "depends-on.helm.sh/") || strings.HasPrefix(lower, "helm.sh/depends-on") {
		meant = cmp.Or(meant, DependsOnSubchartsCanonical)
	}
	if meant == "" {
		return "", UnknownKey
	}
	return didYouMean(meant), UnknownKey
}

// CheckSequencing returns a *ValueError if annotations, those in Chart.yaml, contain an
// invalid value of Sequencing. An empty value is valid and has no effect.
func CheckSequencing(annotations map[string]any) error {
	switch v := annotations[Sequencing]; v {
	case SequencingEnabled, SequencingDisabled, "", nil:
		return nil
	default:
		return newValueError(Sequencing, v, `must be "enabled" or "disabled"`)
	}
}

// Fields of Chart.yaml that only Ordered Helm knows.
const (
	// HookModeField says whether hooks of the chart that have the same weight run in parallel.
	HookModeField = "runHooksInParallel"
	// HookScopeField says when the hooks of the chart run (see HookScope). It can also stand in an entry
	// under "dependencies", for the subchart.
	HookScopeField = "hookScope"
	// DependsOnField, in an entry under "dependencies", lists the siblings that must be ready
	// before the subchart.
	DependsOnField = "depends-on"
)

// ChartFieldProblem is like KeyProblem, for a field at the top level of Chart.yaml.
func ChartFieldProblem(field string) (reason string, kind ErrorKind) {
	switch {
	case isAlmost(field, DependsOnField):
		return fmt.Sprintf("has no effect here: move it to an entry of dependencies, as %s, or use the annotation %s",
			DependsOnField, DependsOnSubchartsCanonical), Misplaced
	case field != HookModeField && isAlmost(field, HookModeField):
		return didYouMean(HookModeField), UnknownKey
	case field != HookScopeField && isAlmost(field, HookScopeField):
		return didYouMean(HookScopeField), UnknownKey
	}
	return "", UnknownKey
}

// DependencyFieldProblem is like KeyProblem, for a field of an entry under "dependencies" in
// Chart.yaml.
func DependencyFieldProblem(field string) (reason string, kind ErrorKind) {
	for _, known := range []string{DependsOnField, HookScopeField} {
		if field != known && isAlmost(field, known) {
			return didYouMean(known), UnknownKey
		}
	}
	return "", UnknownKey
}

func didYouMean(key string) string { return fmt.Sprintf("unknown key: did you mean %s?", key) }

// suggestedKey returns the form of key, which can be empty, that messages suggest: the one
// with a single slash.
func suggestedKey(key string) string {
	return CanonicalChartKey(CanonicalKey(key))
}

// nearestKey returns the key in known that key almost equals, or "" if there is none.
func nearestKey(key string, known []string) string {
	if slices.Contains(known, key) {
		return key
	}
	if i := slices.IndexFunc(known, func(k string) bool { return isAlmost(key, k) }); i >= 0 {
		return known[i]
	}
	return ""
}

// isAlmost reports whether key is probably meant to be known: without separators and in lower
// case, they differ in at most one character, or in two if the name is long. Two neighboring
// characters in the wrong order count as one difference.
func isAlmost(key, known string) bool {
	const longName = 8
	limit := 1
	if name := known[strings.LastIndexByte(known, '/')+1:]; len(name) >= longName {
		limit = 2
	}
	key, known = withoutSeparators(key), withoutSeparators(known)
	return max(len(key)-len(known), len(known)-len(key)) <= limit && similar.Distance(key, known) <= limit
}

func withoutSeparators(key string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("-_./", r) {
			return -1
		}
		return unicode.ToLower(r)
	}, key)
}
