// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/pkg/hookrunner"
)

// taken is a revision that was taken over from an operation that died.
type taken struct {
	// ledger writes the revision, and status is what it was left as.
	ledger *ledger
	status release.Status
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

// settle brings to their end the hooks that an operation had begun and then died: those
// that still run are waited for, as they may be migrations, and all are cleaned up by their
// policies, as it would have done. What became of them is noted.
func (op *operation) settle(ctx context.Context, t *taken, o hookOptions) error {
	if t == nil || !op.cluster.Direct() {
		return nil
	}
	for _, event := range eventsOf(t.status) {
		hooks := hookrunner.ForEvent(t.ledger.rel.Hooks, event)
		if len(hooks) == 0 {
			continue
		}
		r, end, err := op.newHookRun(ctx, t.ledger, event, o)
		if err != nil {
			return err
		}
		for _, h := range hooks {
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
	running := h.LastRun.Phase == release.HookPhaseRunning
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
