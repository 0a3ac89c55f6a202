// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hookorder

import (
	"slices"

	"helm.sh/helm/v3/pkg/release"
)

// Hook events that Helm 3 does not have (docs/reference.md, "Older annotations").
const (
	// EventCRDInstall is the event of hooks that create CustomResourceDefinitions. They
	// run before any other object of the release is checked or changed.
	EventCRDInstall release.HookEvent = "crd-install"
	// EventTestFailure is the event of a test that passes if its hook fails.
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
// the event twice is returned twice, as in Helm. For the event test, the result includes
// the hooks with EventTestFailure.
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

// IsExpectedToFail reports whether a hook is a test that passes only if the hook fails:
// one with EventTestFailure.
func IsExpectedToFail(h *release.Hook) bool { return slices.Contains(h.Events, EventTestFailure) }
