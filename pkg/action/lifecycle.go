// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/render"
)

// eventsOf returns what emits the events of an operation on rel. values are those that its templates saw;
// if they are nil, they are computed from the chart and the values of the release.
func eventsOf(e *lifecycle.Emitter, rel *release.Release, values map[string]any) *lifecycle.Operation {
	if e == nil {
		return nil
	}
	return lifecycle.NewOperation(e, func() (*lifecycle.Request, error) {
		if values == nil && rel.Chart != nil {
			var err error
			if values, err = chartutil.CoalesceValues(rel.Chart, rel.Config); err != nil {
				return nil, err
			}
		}
		return &lifecycle.Request{
			Name: rel.Name, Namespace: rel.Namespace, Chart: rel.Chart, Values: values, Manifest: render.LifecycleManifest(rel.Manifest),
		}, nil
	})
}
