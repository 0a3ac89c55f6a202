// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/render"
	"github.com/ordered-helm/helm/internal/renderevents"
)

// Recorded is what Render has returned, such that it can be stored: with it, another Planner for the same chart
// returns the same without rendering the chart (docs/reference.md, "Saved plans").
type Recorded struct {
	Hooks    []*release.Hook `json:"hooks"`
	Manifest string          `json:"manifest"`
	Notes    string          `json:"notes,omitempty"`
	// Charts are as in render.Result.
	Charts []string `json:"charts,omitempty"`
	// Values are the values that the templates have seen.
	Values map[string]any `json:"values,omitempty"`
}

// Recorded returns what can be stored of r.
func (r *Rendered) Recorded() *Recorded {
	return &Recorded{Hooks: r.Hooks, Manifest: r.Manifest, Notes: r.Notes, Charts: r.Charts, Values: r.Values}
}

// rendered is the inverse of Recorded, without the plan.
func (r *Recorded) rendered() *Rendered {
	return &Rendered{Result: render.Restore(r.Hooks, r.Manifest, r.Notes, r.Charts), Values: r.Values}
}

// render renders the chart, unless what it returned before is recorded.
func (p *Planner) render(ctx context.Context) (*Rendered, error) {
	if p.options.Recorded != nil {
		return p.options.Recorded.rendered(), nil
	}
	chartOptions, err := p.chartOptions(ctx)
	if err != nil {
		return nil, err
	}
	result, err := render.Chart(p.Chart, chartOptions)
	if err != nil {
		err = &RenderError{err}
	}
	return &Rendered{Result: result, Values: renderevents.ValuesOf(chartOptions.Values)}, err
}
