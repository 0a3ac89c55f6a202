// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/hookrunner"
)

// taken is a revision whose operation died before its hooks had come to their end.
type taken struct {
	// ledger writes the revision, and status is what it was left as: failed, if it was
	// taken over before by an operation that has not brought them to their end.
	ledger *ledger
	status release.Status
}

// hookSet are hooks that run at one event.
type hookSet struct {
	event release.HookEvent
	hooks []*release.Hook
}

// hooks are those that may have been begun, and are not known to have come to their end:
// of the operation that died, and before them what others before it have left.
func (t *taken) hooks() []hookSet {
	var own, left []hookSet
	isOwn := map[*release.Hook]bool{}
	for _, event := range eventsOf(t.status) {
		hooks := hookrunner.ForEvent(t.ledger.rel.Hooks, event)
		if len(hooks) > 0 {
			own = append(own, hookSet{event, hooks})
		}
		for _, h := range hooks {
			isOwn[h] = true
		}
	}
	for _, h := range t.ledger.rel.Hooks {
		if isLeft(h) && !isOwn[h] {
			left = append(left, hookSet{h.Events[0], []*release.Hook{h}})
		}
	}
	return append(left, own...)
}

// isRunning reports whether a hook was begun, and what became of it is not stored.
func isRunning(h *release.Hook) bool { return h.LastRun.Phase == release.HookPhaseRunning }

// isLeft reports whether a hook was running when its operation died. Tests harm nobody.
func isLeft(h *release.Hook) bool {
	return isRunning(h) && len(h.Events) > 0 && !slices.Contains(h.Events, release.HookTest)
}

// eventsOf are the events whose hooks run while a revision has a status.
func eventsOf(status release.Status) []release.HookEvent {
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

// settleAll brings to their end the hooks that operations had begun and then died, and
// stores what became of them. Those of the next revision wait for it.
func (op *operation) settleAll(ctx context.Context, list []*taken, o hookOptions) error {
	for _, t := range list {
		err := op.settle(ctx, t, o)
		t.ledger.try(t.ledger.store(nil))
		if err != nil {
			return err
		}
	}
	return nil
}

// settle brings to their end the hooks that an operation had begun and then died: those
// that still run are waited for, as they may be migrations, and all are cleaned up by their
// policies, as it would have done. What became of them is noted.
func (op *operation) settle(ctx context.Context, t *taken, o hookOptions) error {
	if !op.cluster.Direct() {
		return nil
	}
	for _, set := range t.hooks() {
		r, end, err := op.newHookRun(ctx, t.ledger, set.event, o)
		if err != nil {
			return err
		}
		for _, h := range set.hooks {
			if err = r.settle(ctx, h); err != nil {
				break
			}
		}
		end()
		if err != nil {
			return fmt.Errorf("the hooks of revision %d, whose operation was interrupted: %w", t.ledger.rel.Version, err)
		}
	}
	return nil
}

// settle brings one hook to its end, if it is there.
func (r *hookRun) settle(ctx context.Context, h *release.Hook) error {
	o, err := r.present(ctx, h)
	if err != nil || o == nil {
		return err
	}
	running := isRunning(h)
	if running {
		r.events.warn(fmt.Sprintf("hook %s (%s) was running when its operation died: it is waited for", hookrunner.Title(h), h.Path))
	}
	failure := r.wait(ctx, h)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	var failed *hookFailure
	if errors.As(failure, &failed) && !failed.isFinal() {
		return fmt.Errorf("hook %s (%s) still runs: wait for its end, or delete it: %w", hookrunner.Title(h), h.Path, failed.resources)
	}
	log, policy := release.HookOutputOnSucceeded, release.HookSucceeded
	if failure != nil {
		log, policy = release.HookOutputOnFailed, release.HookFailed
	}
	if running {
		r.completed(h, failure)
		if err := r.Logs(ctx, h, log); err != nil {
			r.Warn(h, err)
		}
	}
	if !r.deletes(h, policy) {
		return nil
	}
	return r.delete(ctx, h, o.list)
}

// present are the objects of a hook that are in the cluster, which are followed to their
// end; nil if there are none, or it cannot be told.
func (r *hookRun) present(ctx context.Context, h *release.Hook) (*hookObjects, error) {
	list, err := r.build(h)
	if err != nil {
		return nil, nil //nolint:nilerr // the server never had it
	}
	list = list.Filter(func(info *kubeInfo) bool { return info.Name != "" })
	live, err := r.cluster.Live(ctx, list)
	if err != nil {
		return nil, err
	}
	o := &hookObjects{}
	for _, info := range list {
		if object := live[info]; object != nil {
			info.Object = object
			o.list = append(o.list, info)
		}
	}
	if len(o.list) == 0 {
		return nil, nil
	}
	r.expect(o)
	if o.group != nil {
		o.trouble = applied(o.group, o.runToEnd())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.objects[h] = o
	return o, nil
}
