// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/pkg/action"
)

func TestParallelHooks(t *testing.T) {
	for text, want := range map[string]int{"": 0, "0": 0, "1": 1, "20": 20, "+3": 3, "-1": -1, "two": -1, "1.5": -1, "0x10": -1, "99999999999999999999": -1} {
		t.Run(text, func(t *testing.T) {
			t.Setenv(parallelHooksEnv, text)
			got, err := maxParallelHooks()
			if want >= 0 && (got != want || err != nil) {
				t.Errorf("got %d, %v", got, err)
			}
			if want < 0 && (err == nil || err.Error() != `$HELM_MAX_PARALLEL_HOOKS: "`+text+`" is not a valid number of parallel hooks: use an integer, or 0 for no limit`) {
				t.Errorf("got %d, %v", got, err)
			}
		})
	}
}

// TestParallelHooksOfCommands checks that every command that runs hooks rejects an invalid
// HELM_MAX_PARALLEL_HOOKS before it does anything else.
func TestParallelHooksOfCommands(t *testing.T) {
	dir := writeChart(t, map[string]string{"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n"})
	for _, args := range [][]string{
		{"install", "x", dir}, {"upgrade", "x", dir}, {"upgrade", "--install", "x", dir}, {"rollback", "x", "1"}, {"uninstall", "x"}, {"test", "x"},
	} {
		t.Run(strings.Join(args[:min(len(args), 2)], " "), func(t *testing.T) {
			t.Setenv(parallelHooksEnv, "many")
			got := runHelm(t, args...)
			if got.code == 0 || !strings.Contains(got.stderr, `$HELM_MAX_PARALLEL_HOOKS: "many" is not a valid number of parallel hooks`) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func testsOf(names string) *release.Release {
	rel := &release.Release{Name: "rel"}
	for _, name := range strings.Fields(names) {
		rel.Hooks = append(rel.Hooks, &release.Hook{Name: name, Events: []release.HookEvent{release.HookTest}})
	}
	return rel
}

// TestFilters checks which tests the filters select, and how the hooks are then printed.
func TestFilters(t *testing.T) {
	for _, c := range []struct {
		name    string
		filters []string
		picked  string
		printed string
	}{
		{"none", nil, "a b c d", "a b c d"},
		{"one", []string{"name=b"}, "b", "a c d b"},
		{"two", []string{"name=c", "name=a"}, "a c", "b d a c"},
		{"not one", []string{"!name=b"}, "a c d", "b a c d"},
		{"not one, with space", []string{"! name=b"}, "a c d", "b a c d"},
		{"some, and not one of them", []string{"name=a", "name=b", "!name=a"}, "b", "a c d b"},
		{"one that is not there", []string{"name=x"}, "", "a b c d"},
		{"no name", []string{"name="}, "", "a b c d"},
		{"what is no filter by name is passed over", []string{"kind=Job", "a", "!a", "", "!  name=a", "NAME=a"}, "a b c d", "a b c d"},
		{"an equals sign in the name", []string{"name=a=b"}, "", "a b c d"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := &testActionInput{client: action.NewReleaseTesting(&action.Configuration{}), filters: c.filters}
			in.readFilters()
			rel := testsOf("a b c d")
			var picked []string
			for _, h := range rel.Hooks {
				if in.client.Picks(h) {
					picked = append(picked, h.Name)
				}
			}
			if got := strings.Join(picked, " "); got != c.picked {
				t.Errorf("picked %q, want %q", got, c.picked)
			}
			given := slices.Clone(rel.Hooks)
			var printed []string
			for _, h := range in.sortedForPrinting(rel).Hooks {
				printed = append(printed, h.Name)
			}
			if got := strings.Join(printed, " "); got != c.printed {
				t.Errorf("printed %q, want %q", got, c.printed)
			}
			if !slices.Equal(rel.Hooks, given) {
				t.Error("the release has changed")
			}
		})
	}
}

func TestIsTest(t *testing.T) {
	for event, want := range map[release.HookEvent]bool{
		release.HookTest: true, hookorder.EventTestFailure: true, release.HookPreInstall: false, hookorder.EventCRDInstall: false,
	} {
		if isTest(&release.Hook{Events: []release.HookEvent{event}}) != want {
			t.Errorf("%s: %v", event, !want)
		}
	}
}
