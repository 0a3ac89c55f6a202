// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookorder"
)

func TestForEvent(t *testing.T) {
	const pre, post, test = release.HookPreInstall, release.HookPostInstall, release.HookTest
	tests := []struct {
		name  string
		hooks []*release.Hook
		event release.HookEvent
		want  string
	}{
		{"none", nil, pre, ""},
		{"only those of the event", []*release.Hook{hook("a", 0, pre), hook("b", 0, post), hook("c", 0)}, pre, "a"},
		{"in the order given", []*release.Hook{hook("b", 5, pre), hook("c", 0, pre), hook("a", 0, pre)}, pre, "b c a"},
		{"an event listed twice", []*release.Hook{hook("b", 0, pre, post, pre), hook("a", 0, pre)}, pre, "b b a"},
		{"several events", []*release.Hook{hook("a", 0, post, pre)}, pre, "a"},
		{"tests that are to fail are tests", []*release.Hook{hook("a", 0, test), hook("b", 0, hookorder.EventTestFailure), hook("c", 0, pre)}, test, "a b"},
		{"and nothing else", []*release.Hook{hook("b", 0, hookorder.EventTestFailure)}, pre, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			given := names(tt.hooks)
			if got := names(hookorder.ForEvent(tt.hooks, tt.event)); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if names(tt.hooks) != given {
				t.Error("the hooks that were given are in another order")
			}
		})
	}
}

func TestIsToFail(t *testing.T) {
	for events, want := range map[release.HookEvent]bool{hookorder.EventTestFailure: true, release.HookTest: false, "": false} {
		if got := hookorder.IsExpectedToFail(hook("a", 0, release.HookPreInstall, events)); got != want {
			t.Errorf("%q: %v, want %v", events, got, want)
		}
	}
}

// TestPlans checks that there is one plan for each event with hooks, in the order in which
// the events occur.
func TestPlans(t *testing.T) {
	plan := func(m hookorder.ChartModes, hooks ...*release.Hook) string {
		var lines []string
		for _, p := range hookorder.Plans(hooks, m, nil) {
			lines = append(lines, fmt.Sprintf("%s: %s of %q", p.Event, printed(p.Buckets), p.Chart(p.Buckets[0].Hooks()[0])))
		}
		return strings.Join(lines, "\n")
	}
	all := []*release.Hook{
		hook("t", 0, hookorder.EventTestFailure), hook("d", 0, release.HookPostDelete, release.HookPreDelete),
		hook("r", 0, release.HookPostRollback, release.HookPreRollback), hook("u", 0, release.HookPostUpgrade, release.HookPreUpgrade),
		hook("i", 0, release.HookPostInstall, release.HookPreInstall), hook("j", 0, release.HookPreInstall),
		hook("c", 0, hookorder.EventCRDInstall),
	}
	want := `crd-install: weight 0: Job/c of "shop"
pre-install: weight 0: {Job/i, Job/j} of "shop"
post-install: weight 0: Job/i of "shop"
pre-upgrade: weight 0: Job/u of "shop"
post-upgrade: weight 0: Job/u of "shop"
pre-rollback: weight 0: Job/r of "shop"
post-rollback: weight 0: Job/r of "shop"
pre-delete: weight 0: Job/d of "shop"
post-delete: weight 0: Job/d of "shop"
test: weight 0: Job/t of "shop"`
	if got := plan(modes("shop=true"), all...); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := plan(hookorder.ChartModes{}, all[5]); got != `pre-install: weight 0: Job/j of ""` {
		t.Errorf("got %s", got)
	}
	if got := plan(hookorder.ChartModes{}); got != "" {
		t.Errorf("got %s", got)
	}
}

// TestPlansOfScopes checks that the hooks of a chart have plans of their own for the events that have a scope.
func TestPlansOfScopes(t *testing.T) {
	t.Parallel()
	hook := func(chart string, events ...release.HookEvent) *release.Hook {
		return &release.Hook{Kind: "Job", Name: "j", Path: chart, Events: events}
	}
	hooks := []*release.Hook{
		hook("shop/db/proxy", release.HookPreInstall), hook("shop/db", release.HookPreInstall, release.HookTest, hookorder.EventCRDInstall),
		hook("shop", release.HookPreInstall), hook("shop/mail", release.HookPostDelete),
	}
	scopes := map[string]string{"shop/db": "shop/db", "shop/db/proxy": "shop/db", "shop/mail": "shop/mail"}
	modes := hookorder.ChartModes{ChartOf: func(h *release.Hook) string { return h.Path }}
	var got []string
	for _, p := range hookorder.Plans(hooks, modes, func(chart string) string { return scopes[chart] }) {
		var charts []string
		for _, b := range p.Buckets {
			for _, h := range b.Hooks() {
				charts = append(charts, h.Path)
			}
		}
		slices.Sort(charts)
		got = append(got, fmt.Sprintf("%s of %q: %v", p.Event, p.Scope, charts))
	}
	want := []string{
		`crd-install of "": [shop/db]`, `pre-install of "": [shop]`, `test of "": [shop/db]`,
		`pre-install of "shop/db": [shop/db shop/db/proxy]`, `post-delete of "shop/mail": [shop/mail]`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
