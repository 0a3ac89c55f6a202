// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookrunner

import "helm.sh/helm/v3/pkg/release"

// Mode says how a chart's hooks of equal weight run: what its Chart.yaml calls
// runHooksInParallel (docs/reference.md, "Hooks").
type Mode string

const (
	// Sequential is one after the other, as Helm does. The empty Mode means the
	// same.
	Sequential Mode = "false"
	// Parallel is all together.
	Parallel Mode = "true"
	// OtherChartsOnly is one after the other, beside other charts' hooks.
	OtherChartsOnly Mode = "otherChartsOnly"
)

// IsParallel reports whether hooks of the chart may run beside others at all.
func (m Mode) IsParallel() bool { return m == Parallel || m == OtherChartsOnly }

// Modes says how the hooks of each chart of a release run. Its zero value is
// Helm's way.
type Modes struct {
	// Namespace is the release's: where hooks go that name none.
	Namespace string
	// ChartOf gives the path of the chart that a hook comes from. It may be nil
	// if Of is.
	ChartOf func(*release.Hook) string
	// ByChart are the modes of charts by their paths; one that is missing is
	// Sequential.
	ByChart map[string]Mode
}

// Mode is how a hook runs, with the path of its chart where that matters.
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
