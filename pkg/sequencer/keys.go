// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"cmp"
	"strings"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/similar"
)

// checkKeys refuses keys that look like ours but are none: passed over, they
// would leave the order other than it was meant.
func checkKeys(annotations map[string]any) error {
	bad, reason, problem := "", "", annotation.UnknownKey
	for key := range annotations {
		if annotation.IsOurs(key) || !strings.Contains(key, "helm.sh/") || bad != "" && bad < key {
			continue
		}
		if r, p := mistaken(key); r != "" {
			bad, reason, problem = key, r, p
		}
	}
	if bad == "" {
		return nil
	}
	return &annotation.ValueError{Key: bad, Value: annotations[bad], Reason: reason, Problem: problem}
}

// mistaken says what is wrong with a key that is not ours; nothing if it is
// somebody else's.
func mistaken(key string) (reason string, problem annotation.Problem) {
	const unknown = "this key is not known: did you mean "
	switch {
	case key == annotation.DependsOnSubcharts || key == annotation.DependsOnSubchartsLegal:
		return "has no meaning in a template: write it into Chart.yaml", annotation.Misplaced
	case strings.HasPrefix(key, "depends-on.helm.sh/") || strings.HasPrefix(key, "helm.sh/depends-on"):
		return unknown + cmp.Or(similar.Nearest(key, annotation.Keys()), annotation.DependsOnLayers) + "?", annotation.UnknownKey
	}
	for _, ours := range annotation.Keys() {
		if similar.Distance(strings.ToLower(key), ours) <= 1 {
			return unknown + ours + "?", annotation.UnknownKey
		}
	}
	return "", annotation.UnknownKey
}
