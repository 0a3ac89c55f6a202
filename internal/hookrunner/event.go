// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookrunner

import (
	"slices"

	"helm.sh/helm/v3/pkg/release"
)

// Events that Helm 3 does not have (docs/reference.md, "Older annotations").
const (
	// EventCRDInstall occurs before anything else of a release is checked or changed.
	EventCRDInstall release.HookEvent = "crd-install"
	// EventTestFailure marks a test that is expected to fail.
	EventTestFailure release.HookEvent = "test-failure"
)

// HelmEvents returns the events of Helm 3, in the order in which they can occur.
func HelmEvents() []release.HookEvent {
	return []release.HookEvent{
		release.HookPreInstall, release.HookPostInstall, release.HookPreUpgrade, release.HookPostUpgrade,
		release.HookPreRollback, release.HookPostRollback, release.HookPreDelete, release.HookPostDelete,
		release.HookTest,
	}
}

// ForEvent returns the hooks that run at an event, in the given order. A hook that lists
// the event twice is returned twice, as in Helm. The test event includes tests that are
// expected to fail.
func ForEvent(hooks []*release.Hook, event release.HookEvent) []*release.Hook {
	var selected []*release.Hook
	for _, h := range hooks {
		for _, e := range h.Events {
			if e == event || e == EventTestFailure && event == release.HookTest {
				selected = append(selected, h)
			}
		}
	}
	return selected
}

// IsExpectedToFail reports whether a hook is a test that passes only if it fails: its
// annotation has the event test-failure.
func IsExpectedToFail(h *release.Hook) bool { return slices.Contains(h.Events, EventTestFailure) }
