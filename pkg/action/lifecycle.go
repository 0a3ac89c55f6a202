// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/render"
)

// eventsOf returns what emits the events of an operation on rel. newValues returns the values that its
// templates see.
func eventsOf(e *lifecycle.Emitter, rel *release.Release, newValues func() (map[string]any, error)) *lifecycle.Operation {
	if e == nil {
		return nil
	}
	return lifecycle.NewOperation(e, func() (*lifecycle.Request, error) {
		values, err := newValues()
		if err != nil {
			return nil, err
		}
		return &lifecycle.Request{
			Name: rel.Name, Namespace: rel.Namespace, Chart: rel.Chart, Values: values, Manifest: render.LifecycleManifest(rel.Manifest),
		}, nil
	})
}
