// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooktext_test

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/hooktext"
	"github.com/ordered-helm/helm/internal/testutil/golden"
)

// hooksOf parses hooks of the form "chart Kind/name weight event,event".
func formatHooks(texts ...string) []*release.Hook {
	weights := map[string]int{"-5": -5, "0": 0, "7": 7}
	var all []*release.Hook
	for _, text := range texts {
		f := strings.Fields(text)
		kind, name, _ := strings.Cut(f[1], "/")
		h := &release.Hook{Kind: kind, Name: name, Path: f[0], Weight: weights[f[2]]}
		for event := range strings.SplitSeq(f[3], ",") {
			h.Events = append(h.Events, release.HookEvent(event))
		}
		all = append(all, h)
	}
	return all
}

func TestWrite(t *testing.T) {
	modes := hookorder.ChartModes{
		ChartOf: func(h *release.Hook) string { return h.Path },
		ByChart: map[string]hookorder.Mode{"shop": hookorder.Parallel, "shop/db": hookorder.OtherChartsOnly},
	}
	tests := map[string][]*release.Hook{
		"hooks-none": nil,
		"hooks-sequential": formatHooks("shop/old Job/b 0 pre-install", "shop/old Job/a 0 pre-install",
			"shop/old Job/first -5 pre-install", "shop/old ConfigMap/last 7 pre-install"),
		"hooks-parallel": formatHooks("shop Job/b 0 pre-install,pre-upgrade", "shop Job/a 0 pre-install,pre-upgrade",
			"shop ServiceAccount/runner 0 pre-install,pre-upgrade", "shop Secret/token 0 pre-install,pre-upgrade",
			"shop/db Job/schema-1 0 pre-install,pre-upgrade", "shop/db Job/schema-2 0 pre-install,pre-upgrade",
			"shop/old Job/legacy 0 pre-install,pre-upgrade", "shop/old Job/late 7 pre-upgrade"),
		"hooks-events": formatHooks("shop CustomResourceDefinition/things 0 crd-install", "shop Pod/smoke 0 test", "shop Pod/fails 0 test-failure",
			"shop Job/bye 0 post-delete,pre-delete", "shop/db Job/one 0 post-rollback"),
	}
	for name, hooks := range tests {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			if err := hooktext.Write(&got, hookorder.Plans(hooks, modes, nil)); err != nil {
				t.Fatal(err)
			}
			golden.Assert(t, got.String(), name+".txt")
		})
	}
}
