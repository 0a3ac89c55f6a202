// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import "testing"

// TestUnusualHooks compares charts with unusual hooks: events that are listed twice, and CRDs.
func TestUnusualHooks(t *testing.T) {
	t.Parallel()
	runScenarios(t, []scenario{
		{name: "events that are listed twice", unchecked: true, steps: []step{
			helm("install web charts/doubled").ok(), helm("get hooks web"), helm("status web -o json"),
			helm("upgrade web charts/doubled").ok(), helm("get hooks web"), helm("uninstall web").ok(),
			deleteObject(objectPath("configmaps", "web-twice")), helm("install web charts/doubled --set policy=hook-succeeded"), helm("uninstall web"),
			helm("install web charts/doubled --set policy=hook-failed"), helm("status web"), helm("uninstall web"),
		}},
		{name: "definitions that are hooks", unchecked: true, steps: []step{
			helm("install web charts/doubled --set definition=true").ok(),
			helm("upgrade web charts/doubled --set definition=true"), helm("history web"), helm("status web -o yaml"),
			helm("upgrade web charts/doubled --set definition=false").ok(), helm("uninstall web").ok(),
			helm("install web charts/doubled --set definition=true"), helm("list -a"), helm("uninstall web"),
		}},
	})
}
