// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartloader

import (
	"maps"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
)

// Copy copies a chart with its subcharts, so that Helm can process the dependencies of the
// copy without changing ch. Processing changes the metadata, the dependencies and the
// values: these are copied deeply. The files of the charts are shared.
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

// CopyValues returns a deep copy of values.
func CopyValues(values map[string]any) map[string]any {
	own, _ := copyValue(values).(map[string]any)
	return own
}

func copyValue(value any) any {
	switch value := value.(type) {
	case map[string]any:
		own := maps.Clone(value) // nil stays nil
		for key, v := range own {
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
