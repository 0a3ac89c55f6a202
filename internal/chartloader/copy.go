// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartloader

import (
	"slices"

	"helm.sh/helm/v3/pkg/chart"
)

// Copy copies a chart with its subcharts. Helm changes the metadata, the dependencies and
// the values of a chart when it processes its dependencies: these are copied deeply. The
// files of the charts are shared.
func Copy(ch *chart.Chart) *chart.Chart {
	if ch == nil {
		return nil
	}
	own := *ch
	own.Metadata, own.Values = copyMetadata(ch.Metadata), CopyValues(ch.Values)
	var subcharts []*chart.Chart
	for _, sub := range ch.Dependencies() {
		subcharts = append(subcharts, Copy(sub))
	}
	own.SetDependencies(subcharts...)
	return &own
}

func copyMetadata(m *chart.Metadata) *chart.Metadata {
	if m == nil {
		return nil
	}
	own := *m
	own.Dependencies = slices.Clone(m.Dependencies)
	for i, d := range own.Dependencies {
		if d != nil {
			dependency := *d
			dependency.ImportValues = slices.Clone(d.ImportValues)
			own.Dependencies[i] = &dependency
		}
	}
	return &own
}

// CopyValues copies values with all tables and lists in them.
func CopyValues(values map[string]any) map[string]any {
	own, _ := copyValue(values).(map[string]any)
	return own
}

func copyValue(value any) any {
	switch value := value.(type) {
	case map[string]any:
		if value == nil {
			return value
		}
		own := make(map[string]any, len(value))
		for key, v := range value {
			own[key] = copyValue(v)
		}
		return own
	case []any:
		own := slices.Clone(value)
		for i, v := range own {
			own[i] = copyValue(v)
		}
		return own
	}
	return value
}
