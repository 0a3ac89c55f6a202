// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package sequencer

import (
	"cmp"
	"strings"

	"github.com/ordered-helm/helm/internal/annotation"
)

// checkKeys refuses keys that look like ours but are none: passed over, they
// would leave the order other than it was meant.
func checkKeys(annotations map[string]any) error {
	bad, reason := "", ""
	for key := range annotations {
		if annotation.IsOurs(key) || !strings.Contains(key, "helm.sh/") || bad != "" && bad < key {
			continue
		}
		if r := mistaken(key); r != "" {
			bad, reason = key, r
		}
	}
	if bad == "" {
		return nil
	}
	return &annotation.ValueError{Key: bad, Value: annotations[bad], Reason: reason}
}

// mistaken says what is wrong with a key that is not ours; nothing if it is
// somebody else's.
func mistaken(key string) string {
	const unknown = "this key is not known: did you mean "
	switch {
	case key == annotation.DependsOnSubcharts || key == annotation.DependsOnSubchartsLegal:
		return "has no meaning in a template: write it into Chart.yaml"
	case strings.HasPrefix(key, "depends-on.helm.sh/") || strings.HasPrefix(key, "helm.sh/depends-on"):
		return unknown + cmp.Or(nearest(key, annotation.Keys()), annotation.DependsOnLayers) + "?"
	}
	for _, ours := range annotation.Keys() {
		if distance(strings.ToLower(key), ours) <= 1 {
			return unknown + ours + "?"
		}
	}
	return ""
}
