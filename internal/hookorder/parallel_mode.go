// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder

import (
	"cmp"

	"helm.sh/helm/v3/pkg/release"
)

// Mode says whether hooks of a chart that have the same weight run in parallel. It is the
// value of runHooksInParallel in the Chart.yaml of the chart (docs/reference.md, "Hooks").
type Mode string

const (
	// Sequential runs the hooks of the chart sequentially, as Helm does. The empty Mode
	// means the same.
	Sequential Mode = "false"
	// Parallel runs the hooks of the chart in parallel with each other and with those of
	// other charts.
	Parallel Mode = "true"
	// OtherChartsOnly runs the hooks of the chart sequentially, but in parallel with the
	// hooks of other charts.
	OtherChartsOnly Mode = "otherChartsOnly"
)

// IsParallel reports whether the hooks of a chart with this mode can run in parallel with
// any other hooks.
func (m Mode) IsParallel() bool { return m == Parallel || m == OtherChartsOnly }

// ChartModes holds the Mode of each chart of a release. With the zero value, all hooks run in
// Helm's order.
type ChartModes struct {
	// Namespace is the namespace of the release. It applies to hooks that do not declare a
	// namespace.
	Namespace string
	// ChartOf returns the path of the chart that contains a hook. It can be nil if ByChart
	// is empty.
	ChartOf func(*release.Hook) string
	// ByChart maps the paths of charts, as ChartOf returns them, to the modes of the
	// charts. A chart without an entry is Sequential.
	ByChart map[string]Mode
	// Managed reports for the path of each chart whether its hooks are managed, unless a
	// hook declares something else. It is true for charts of the format helm.sh/v3.
	Managed map[string]bool
}

// Mode returns the mode of the chart that contains a hook, and the path of this chart. The
// path is empty if ByChart is empty.
func (m ChartModes) Mode(h *release.Hook) (mode Mode, chart string) {
	if len(m.ByChart) == 0 {
		return Sequential, ""
	}
	chart = m.ChartOf(h)
	return cmp.Or(m.ByChart[chart], Sequential), chart
}
