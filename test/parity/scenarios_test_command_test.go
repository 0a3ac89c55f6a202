// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import "testing"

// TestTests compares tests of releases.
func TestTests(t *testing.T) {
	t.Parallel()
	runScenarios(t, []scenario{
		{name: "releases that cannot be tested", steps: []step{
			helm("test"), helm("test web"), helm("test Not_A_Name"), helm("test web other"), helm("test web --timeout soon"),
			helm("install web charts/tiny"), helm("test web"), helm("test web --logs"), helm("test web --hide-notes"),
			helm("uninstall web --keep-history"), helm("test web"),
		}},
		{name: "all that pass", unchecked: true, steps: []step{
			helm("install web charts/tested"), helm("test web"), helm("test web"), helm("status web"), helm("status web -o json"),
			helm("test web --hide-notes --timeout 30s"), helm("get hooks web"), helm("history web"), helm("uninstall web"),
		}},
		{name: "one that fails", unchecked: true, steps: []step{
			helm("install web charts/tested --set fail={login}"), helm("test web"), helm("status web"), helm("test web"),
			helm("upgrade web charts/tested"), helm("test web"), helm("history web"), helm("rollback web 1"), helm("test web"), helm("status web"),
		}},
		{name: "the last that fails", unchecked: true, steps: []step{
			helm("install web charts/tested --set fail={late},policy=hook-succeeded"), helm("test web"), helm("status web"), helm("test web"),
		}},
		{name: "deleted when failed", unchecked: true, steps: []step{
			helm("install web charts/tested --set fail={late},policy=hook-failed"), helm("test web"), helm("test web"), helm("get hooks web"),
		}},
		{name: "in time or not", unchecked: true, steps: []step{
			helm("install web charts/silent"), helm("test web --timeout 2s"), helm("install none charts/hooks --no-hooks"), helm("test none --timeout 1ns"),
		}},
		{name: "without a cluster", noCluster: true, steps: []step{helm("test web")}},
	})
}

// TestFilteredTests compares filtered tests. Stock Helm then stores hooks in another order,
// so each is the last step of a scenario.
func TestFilteredTests(t *testing.T) {
	t.Parallel()
	var scenarios []scenario
	for _, tt := range []struct {
		name, values string
		test         helmRun
	}{
		{"one", "fail={login}", helm("test web --filter name=web-late")},
		{"one that fails", "fail={login}", helm("test web --filter name=web-login")},
		{"none", "fail={login}", helm("test web --filter name=none")},
		{"by what is no name", "fail={login}", helm("test web --filter label=x")},
		{"all but one", "fail={login}", helm("test web --filter", "! name=web-login")},
		{"two", "fail={login}", helm("test web --filter name=web-early,name=web-login")},
		{"in and out", "fail={login}", helm("test web --filter name=web-early,name=web-late --filter !name=web-early,!name=web-smoke")},
		{"logs of two", "fail={}", helm("test web --logs --filter name=web-smoke,name=web-late")},
		{"logs of pods", "fail={}", helm("test web --logs --hide-notes --filter !name=web-batch --filter !name=web-settings")},
		{"logs of none", "fail={}", helm("test web --logs --filter name=nothing")},
		{"logs that are deleted", "policy=hook-succeeded", helm("test web --logs --filter name=web-smoke")},
	} {
		scenarios = append(scenarios, scenario{
			name: tt.name, unchecked: true, rules: []rule{storedHooks},
			steps: []step{helm("install web charts/tested --set " + tt.values), tt.test},
		})
	}
	runScenarios(t, scenarios)
}
