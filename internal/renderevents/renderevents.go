// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package renderevents emits the lifecycle events of rendering a chart: chart-loaded, pre-render and
// post-render (docs/reference.md, "Lifecycle events").
package renderevents

import (
	"context"
	"fmt"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/valuesschema"
)

// Chart is a chart that is rendered, after Helm has processed its dependencies.
type Chart struct {
	Chart *chart.Chart
	// Values are the values of the user.
	Values map[string]any
	// Release contains what templates read from .Release.
	Release chartutil.ReleaseOptions
	// Emitter contains the handlers; nil if there are none.
	Emitter *lifecycle.Emitter
	// SkipSchemaValidation says that values are not validated.
	SkipSchemaValidation bool
}

// EmitLoaded emits the event chart-loaded.
func (c Chart) EmitLoaded(ctx context.Context) error {
	return lifecycle.Emit(ctx, c.Emitter, lifecycle.ChartLoaded, &lifecycle.Request{Chart: c.Chart})
}

// RenderValues returns the values for the templates, which handlers of the event pre-render can change.
// The result is validated afterwards. If it is invalid, RenderValues returns it together with the error. The
// error is a *lifecycle.Error if a handler has failed.
func (c Chart) RenderValues(ctx context.Context, caps *chartutil.Capabilities) (chartutil.Values, error) {
	// Helm's message names only the chart, not its place in the tree, and paths in its own
	// values. It remains as it is for charts whose schemas are all JSON.
	ownMessage := valuesschema.Used(c.Chart)
	changes := lifecycle.Has(c.Emitter, lifecycle.PreRender)
	values, err := chartutil.ToRenderValuesWithSchemaValidation(c.Chart, c.Values, c.Release, caps, c.SkipSchemaValidation || ownMessage || changes)
	if err == nil && changes {
		r := c.request(values)
		err = lifecycle.Emit(ctx, c.Emitter, lifecycle.PreRender, r)
		values["Values"] = chartutil.Values(r.Values)
	}
	if err != nil || c.SkipSchemaValidation {
		return values, err
	}
	switch chartValues := ValuesOf(values); {
	case ownMessage:
		err = valuesschema.Validate(c.Chart, chartValues)
	case changes:
		if err = chartutil.ValidateAgainstSchema(c.Chart, chartValues); err != nil {
			err = fmt.Errorf("values don't meet the specifications of the schema(s) in the following chart(s):\n%w", err)
		}
	}
	return values, err
}

// ChangeManifest returns a function that emits the event post-render, or nil if there are no handlers.
// values are the result of RenderValues.
func (c Chart) ChangeManifest(ctx context.Context, values chartutil.Values) func(*lifecycle.Manifest) error {
	if !lifecycle.Has(c.Emitter, lifecycle.PostRender) {
		return nil
	}
	return func(m *lifecycle.Manifest) error {
		r := c.request(values)
		r.Manifest = m
		return lifecycle.Emit(ctx, c.Emitter, lifecycle.PostRender, r)
	}
}

func (c Chart) request(renderValues chartutil.Values) *lifecycle.Request {
	return &lifecycle.Request{Name: c.Release.Name, Namespace: c.Release.Namespace, Chart: c.Chart, Values: ValuesOf(renderValues)}
}

// ValuesOf returns what templates see as .Values.
func ValuesOf(renderValues chartutil.Values) chartutil.Values {
	values, _ := renderValues["Values"].(chartutil.Values)
	return values
}
