// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package initialorder_test

import (
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/initialorder"
	"github.com/ordered-helm/helm/internal/orderfile"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/testutil/golden"
	"github.com/ordered-helm/helm/internal/testutil/plans"
)

func shop(t *testing.T) (*sequencer.Plan, []hookorder.Plan) {
	t.Helper()
	root := plans.V2("shop", plans.V2("db", plans.V2("backup")), plans.V2("true"), plans.V2("web"))
	plan := plans.Build(t, root, plans.Resources("shop/db StatefulSet/release-name-db", "shop/db Service/db", "shop/web Deployment/release-name",
		"shop/true Deployment/y", "shop ConfigMap/settings"))
	hook := func(chart string, events ...release.HookEvent) *release.Hook {
		return &release.Hook{Kind: "Job", Name: "j", Path: chart, Events: events}
	}
	hooks := hookorder.Plans([]*release.Hook{hook("shop/db", release.HookPreInstall, release.HookPostUpgrade), hook("shop/db", release.HookPreInstall), hook("shop", release.HookTest)},
		hookorder.ChartModes{ChartOf: func(h *release.Hook) string { return h.Path }}, nil)
	return plan, hooks
}

// TestWrite checks the file as it is written, and that it is an order file that changes nothing.
func TestWrite(t *testing.T) {
	t.Parallel()
	plan, hooks := shop(t)
	var out strings.Builder
	if err := initialorder.Write(&out, initialorder.Options{Plan: plan, Hooks: hooks, Release: "release-name"}); err != nil {
		t.Fatal(err)
	}
	golden.Assert(t, out.String(), "order.yaml")
	f, err := orderfile.Parse("order.yaml", "shop", []byte(out.String()))
	if err != nil || len(f.Charts)+len(f.Resources) > 0 {
		t.Errorf("got %+v, %v, want a file without rules", f, err)
	}
}

// TestRules checks that all rules are valid, and match the charts and resources for which they were written.
func TestRules(t *testing.T) {
	t.Parallel()
	plan, hooks := shop(t)
	var out strings.Builder
	if err := initialorder.Write(&out, initialorder.Options{Plan: plan, Hooks: hooks, Release: "release-name"}); err != nil {
		t.Fatal(err)
	}
	uncommented := strings.NewReplacer("\n#- ", "\n- ", "\n#  ", "\n  ").Replace(out.String())
	f, err := orderfile.Parse("order.yaml", "shop", []byte(uncommented))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Charts) != 5 || len(f.Resources) != 3 {
		t.Errorf("%d rules for charts and %d for resources, want 5 and 3", len(f.Charts), len(f.Resources))
	}
	root := plans.V2("shop", plans.V2("db", plans.V2("backup")), plans.V2("true"), plans.V2("web"))
	ordered, err := sequencer.Build(sequencer.Input{
		Root: root, Namespace: "default", OrderFiles: orderfile.NewSet([]*orderfile.File{f}),
		Resources: plans.Resources("shop/db StatefulSet/my-db", "shop/db Service/db", "shop/web Deployment/my", "shop/true Deployment/y", "shop ConfigMap/settings"),
	})
	if err != nil {
		t.Fatal(err)
	}
	plans.ExpectWarnings(t, ordered)
	for _, c := range ordered.Charts {
		if want := map[string]string{"shop": "", "shop/db": "shop/db", "shop/db/backup": "shop/db"}[c.Path]; want != "" && c.HookScope != want {
			t.Errorf("the scope of the hooks of %s is %q, want %q", c.Path, c.HookScope, want)
		}
	}
}
