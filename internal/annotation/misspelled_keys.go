// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/ordered-helm/helm/internal/similar"
)

// CheckKeys returns a *ValueError for each key that looks like a misspelled sequencing
// annotation (see Keys). If such keys were ignored, the order would not be the one that
// the author wants.
func CheckKeys(annotations map[string]any) error {
	var problems []error
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		if IsSequencingKey(key) || !strings.Contains(key, "helm.sh/") {
			continue
		}
		if reason, kind := misspelledKey(key); reason != "" {
			problems = append(problems, &ValueError{Key: key, Value: annotations[key], Reason: reason, Kind: kind})
		}
	}
	return errors.Join(problems...)
}

// misspelledKey explains what is wrong with a key that is not that of a sequencing
// annotation. reason is the text for the user, and kind classifies it. If the key does
// not resemble a sequencing annotation, reason is empty.
func misspelledKey(key string) (reason string, kind ErrorKind) {
	if key == DependsOnSubcharts || key == DependsOnSubchartsCanonical {
		return "has no effect in a template: move it into Chart.yaml", Misplaced
	}
	written := strings.ReplaceAll(strings.ToLower(key), "_", "-")
	meant := similar.Nearest(written, Keys())
	switch {
	case strings.HasPrefix(written, "depends-on.helm.sh/") || strings.HasPrefix(written, "helm.sh/depend"):
		meant = cmp.Or(meant, DependsOnLayers)
	case strings.HasPrefix(written, "helm.sh/readiness-"):
		meant = cmp.Or(meant, ReadinessSuccess)
	case meant == "" || similar.Distance(written, meant) > 1:
		return "", UnknownKey
	}
	return "unknown key: did you mean " + meant + "?", UnknownKey
}
