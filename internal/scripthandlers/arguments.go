// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package scripthandlers

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/ordered-helm/helm/internal/field"
)

// metadata returns what scripts see of their chart: the fields of Chart.yaml, and path, the path of the
// chart in the tree of charts.
func (s *state) metadata() map[string]any {
	fields := map[string]any{}
	if text, err := json.Marshal(s.chart.Chart.Metadata); err == nil {
		_ = json.Unmarshal(text, &fields) // it was encoded just now
	}
	fields["path"] = s.chart.Path
	return fields
}

// namesBelowRoot converts the path of a chart, such as shop/charts/db, to the names of the charts below
// the outermost one.
func namesBelowRoot(path string) []string { return strings.Split(path, "/charts/")[1:] }

// valuesAt returns the values of the subchart with a path, as its templates see them.
func valuesAt(values map[string]any, path []string) map[string]any {
	if own := field.Map(values, path...); own != nil {
		return own
	}
	return map[string]any{}
}

// withValuesAt returns a copy of values in which those of the subchart with a path are replaced.
func withValuesAt(values map[string]any, path []string, replacement map[string]any) map[string]any {
	if len(path) == 0 {
		return replacement
	}
	changed := maps.Clone(values)
	if changed == nil {
		changed = map[string]any{}
	}
	changed[path[0]] = withValuesAt(field.Map(values, path[0]), path[1:], replacement)
	return changed
}
