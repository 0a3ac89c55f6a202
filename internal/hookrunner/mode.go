// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookrunner

import "helm.sh/helm/v3/pkg/release"

// Mode says how the hooks of a chart with equal weight run. It is the value of
// runHooksInParallel in its Chart.yaml (docs/reference.md, "Hooks").
type Mode string

const (
	// Sequential runs them one after the other, as Helm does. The empty Mode means the
	// same.
	Sequential Mode = "false"
	// Parallel runs them in parallel.
	Parallel Mode = "true"
	// OtherChartsOnly runs them one after the other, in parallel with the hooks of other
	// charts.
	OtherChartsOnly Mode = "otherChartsOnly"
)

// IsParallel reports whether the hooks can run in parallel with any other hooks.
func (m Mode) IsParallel() bool { return m == Parallel || m == OtherChartsOnly }

// Modes has the modes of the charts of a release. The zero value means Helm's order.
type Modes struct {
	// Namespace is the namespace of the release. It applies to hooks that do not declare a
	// namespace.
	Namespace string
	// ChartOf returns the path of the chart of a hook. It can be nil if ByChart is empty.
	ChartOf func(*release.Hook) string
	// ByChart has the modes of charts by their paths. The default is Sequential.
	ByChart map[string]Mode
}

// Mode returns the mode of a hook, and the path of its chart. The path is empty if all
// charts have Helm's order.
func (m Modes) Mode(h *release.Hook) (mode Mode, chart string) {
	if len(m.ByChart) == 0 {
		return Sequential, ""
	}
	chart = m.ChartOf(h)
	if mode = m.ByChart[chart]; mode == "" {
		mode = Sequential
	}
	return mode, chart
}
