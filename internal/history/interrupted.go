// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookrunner"
)

// Interrupted is a stored revision whose operation terminated unexpectedly before its hooks
// had completed. The next operation must recover these hooks before it runs its own: wait
// for those that still run, and clean up all of them.
type Interrupted struct {
	// Writer writes the revision.
	Writer *Writer
	// Status is the status in which the terminated operation left the revision. It is
	// failed if another operation has already taken over the revision but did not recover
	// the hooks.
	Status release.Status
}

// EventHooks has the hooks to recover for one hook event, such as pre-install.
type EventHooks struct {
	Event release.HookEvent
	Hooks []*release.Hook
}

// Hooks returns the hooks that may have been started but are not known to have completed:
// first those of operations that terminated even earlier, and then those of the operation
// that left the revision in Status.
func (i *Interrupted) Hooks() []EventHooks {
	var own, older []EventHooks
	isOwn := map[*release.Hook]bool{}
	for _, event := range hookEventsDuring(i.Status) {
		hooks := hookrunner.ForEvent(i.Writer.Release().Hooks, event)
		if len(hooks) > 0 {
			own = append(own, EventHooks{event, hooks})
		}
		for _, h := range hooks {
			isOwn[h] = true
		}
	}
	for _, h := range i.Writer.Release().Hooks {
		if IsUnfinished(h) && !isOwn[h] {
			older = append(older, EventHooks{h.Events[0], []*release.Hook{h}})
		}
	}
	return append(older, own...)
}

// IsRunning reports whether h was started but its result is not stored.
func IsRunning(h *release.Hook) bool { return h.LastRun.Phase == release.HookPhaseRunning }

// IsUnfinished reports whether a hook was running when its operation terminated
// unexpectedly. Tests do not count, because they change nothing.
func IsUnfinished(h *release.Hook) bool {
	return IsRunning(h) && len(h.Events) > 0 && !slices.Contains(h.Events, release.HookTest)
}

// hookEventsDuring returns the hook events whose hooks run while a revision has the given status.
func hookEventsDuring(status release.Status) []release.HookEvent {
	switch status {
	case release.StatusPendingInstall:
		return []release.HookEvent{release.HookPreInstall, release.HookPostInstall}
	case release.StatusPendingUpgrade:
		return []release.HookEvent{release.HookPreUpgrade, release.HookPostUpgrade}
	case release.StatusPendingRollback:
		return []release.HookEvent{release.HookPreRollback, release.HookPostRollback}
	case release.StatusUninstalling:
		return []release.HookEvent{release.HookPreDelete, release.HookPostDelete}
	}
	return nil
}
