// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"fmt"
	"strings"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// IgnoredError reports declarations of the root chart that have no effect, so that the chart
// would not be deployed in the order that its author wants.
type IgnoredError struct {
	// Reasons say for each declaration why it is ignored, and how to change that. The last one
	// can be advice to the user of the chart.
	Reasons []string
}

func (e *IgnoredError) Error() string { return strings.Join(e.Reasons, "\n") }

// isAboutIgnored reports whether w is about a declaration that has no effect.
func isAboutIgnored(w sequencer.Warning) bool {
	return w.Kind == sequencer.WarningNotSequenced || w.Kind == sequencer.WarningUnknownKey
}

// checkIgnored returns the warnings about declarations that have no effect: one for each
// subchart. Those of the root chart are an *IgnoredError if the order of this chart is needed and
// AllowIgnored is not set, otherwise another warning.
func (p *Planner) checkIgnored(warnings []sequencer.Warning) ([]string, error) {
	var charts []string
	reasons := map[string][]string{}
	for _, w := range warnings {
		if !isAboutIgnored(w) {
			continue
		}
		if reasons[w.Chart] == nil {
			charts = append(charts, w.Chart)
		}
		reasons[w.Chart] = append(reasons[w.Chart], w.String())
	}
	root := p.Root.Name
	switch {
	case reasons[root] == nil || p.options.AllowIgnored:
	case p.options.Ordered:
		return nil, &IgnoredError{append(reasons[root], "to deploy the chart without an order, omit --wait=ordered")}
	case p.Root.Sequenced:
		return nil, &IgnoredError{reasons[root]}
	}
	var messages []string
	for _, chart := range charts {
		messages = append(messages, summarize(chart, reasons[chart]))
	}
	return messages, nil
}

// summarize returns one message for all the reasons why declarations of a chart are ignored.
func summarize(chart string, reasons []string) string {
	const maxReasons = 5
	if len(reasons) == 1 {
		return reasons[0]
	}
	text := fmt.Sprintf("chart %s has %d declarations that are ignored: %s",
		chart, len(reasons), strings.Join(reasons[:min(len(reasons), maxReasons)], "; "))
	if more := len(reasons) - maxReasons; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
