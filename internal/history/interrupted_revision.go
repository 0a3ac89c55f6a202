// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookorder"
)

// InterruptedRevision is a stored revision whose operation terminated unexpectedly, perhaps
// while its hooks were running. Before the next operation runs its own hooks, it must wait
// for the hooks that are still running, and clean up all hooks of the revision.
type InterruptedRevision struct {
	// Writer stores the revision.
	Writer *Writer
	// Status is the status in which the terminated operation left the revision. It is failed
	// if another operation has already recorded that the revision failed, but has not
	// handled its hooks.
	Status release.Status
}

// UnfinishedHooks contains those hooks of one event, such as pre-install, that must be
// recovered.
type UnfinishedHooks struct {
	Event release.HookEvent
	Hooks []*release.Hook
}

// Hooks returns the hooks that may have been started but are not known to have completed:
// first those that even earlier operations left unfinished, then those that run while a
// revision has Status.
func (i *InterruptedRevision) Hooks() []UnfinishedHooks {
	var own, older []UnfinishedHooks
	isOwn := map[*release.Hook]bool{}
	for _, event := range hookEventsDuring(i.Status) {
		hooks := hookorder.ForEvent(i.Writer.Release().Hooks, event)
		if len(hooks) > 0 {
			own = append(own, UnfinishedHooks{event, hooks})
		}
		for _, h := range hooks {
			isOwn[h] = true
		}
	}
	for _, h := range i.Writer.Release().Hooks {
		if IsUnfinished(h) && !isOwn[h] {
			older = append(older, UnfinishedHooks{h.Events[0], []*release.Hook{h}})
		}
	}
	return append(older, own...)
}

// IsRunning reports whether the revision says that the hook h is running, because its result
// has not been stored.
func IsRunning(h *release.Hook) bool { return h.LastRun.Phase == release.HookPhaseRunning }

// IsUnfinished reports whether the hook h was running when its operation terminated, so that
// it must be recovered. It returns false for tests, because they change nothing.
func IsUnfinished(h *release.Hook) bool {
	return IsRunning(h) && len(h.Events) > 0 && !slices.Contains(h.Events, release.HookTest)
}

// hookEventsDuring returns the events of the hooks that run while a revision has the given
// status.
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
