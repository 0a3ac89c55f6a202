// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/similar"
)

// checkKeys returns an error for each annotation key that looks like a misspelled
// sequencing annotation. If such keys were ignored, the order would not be the one that the
// author wants.
func checkKeys(annotations map[string]any) error {
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if annotation.IsSequencingKey(key) || !strings.Contains(key, "helm.sh/") {
			continue
		}
		if reason, problem := misspelledKey(key); reason != "" {
			problems = append(problems, &annotation.ValueError{Key: key, Value: annotations[key], Reason: reason, Problem: problem})
		}
	}
	return errors.Join(problems...)
}

// misspelledKey explains what is wrong with a key that is not a sequencing annotation.
// reason is the text for the user, and problem classifies it. If the key has nothing to do
// with sequencing, reason is empty.
func misspelledKey(key string) (reason string, problem annotation.Problem) {
	if key == annotation.DependsOnSubcharts || key == annotation.DependsOnSubchartsCanonical {
		return "has no effect in a template: move it into Chart.yaml", annotation.Misplaced
	}
	written := strings.ReplaceAll(strings.ToLower(key), "_", "-")
	meant := similar.Nearest(written, annotation.Keys())
	switch {
	case strings.HasPrefix(written, "depends-on.helm.sh/") || strings.HasPrefix(written, "helm.sh/depend"):
		meant = cmp.Or(meant, annotation.DependsOnLayers)
	case strings.HasPrefix(written, "helm.sh/readiness-"):
		meant = cmp.Or(meant, annotation.ReadinessSuccess)
	case meant == "" || similar.Distance(written, meant) > 1:
		return "", annotation.UnknownKey
	}
	return "unknown key: did you mean " + meant + "?", annotation.UnknownKey
}
