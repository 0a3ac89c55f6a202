// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder

import (
	"testing"

	"helm.sh/helm/v3/pkg/release"
)

func TestIsManaged(t *testing.T) {
	modes := ChartModes{
		ChartOf: func(h *release.Hook) string { return h.Path },
		Managed: map[string]bool{"shop": true, "shop/flat": false},
	}
	const policy = "metadata: {annotations: {helm.sh/hook-policy: "
	for _, tt := range []struct {
		name  string
		modes ChartModes
		hook  release.Hook
		want  bool
	}{
		{"in a chart of the format", modes, release.Hook{Path: "shop"}, true},
		{"in a flat chart", modes, release.Hook{Path: "shop/flat"}, false},
		{"in an unknown chart", modes, release.Hook{Path: "other"}, false},
		{"unmanaged in a chart of the format", modes, release.Hook{Path: "shop", Manifest: policy + "unmanaged}}"}, false},
		{"managed in a flat chart", modes, release.Hook{Path: "shop/flat", Manifest: policy + "managed}}"}, true},
		{"managed in a release without a record", ChartModes{}, release.Hook{Manifest: policy + "managed}}"}, true},
		{"in a release without a record", ChartModes{}, release.Hook{}, false},
		{"invalid", modes, release.Hook{Path: "shop", Manifest: policy + "x}}"}, true},
		{"mentioned elsewhere", modes, release.Hook{Path: "shop/flat", Manifest: "data: {x: 'helm.sh/hook-policy: managed'}"}, false},
		{"not YAML", modes, release.Hook{Path: "shop/flat", Manifest: "helm.sh/hook-policy: managed: ["}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.modes.IsManaged(&tt.hook); got != tt.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
