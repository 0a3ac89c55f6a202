// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package hooks

import (
	"context"
	"errors"
	"fmt"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/object"
)

// Recover completes the hooks that were running when their operations terminated
// unexpectedly. revisions are the revisions of these operations. Recover waits for hooks
// that are still running, because interrupting them, such as a migration, could do damage.
// Then it deletes the hooks according to their policies, and stores their results. It must
// be called before the next operation runs its own hooks.
func (r *Runner) Recover(ctx context.Context, revisions []*history.InterruptedRevision) error {
	for _, i := range revisions {
		err := r.recoverRevision(ctx, i)
		i.Writer.LogFailure(i.Writer.Write(nil))
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *Runner) recoverRevision(ctx context.Context, i *history.InterruptedRevision) error {
	if r.SkipRecovery {
		return nil
	}
	for _, set := range i.Hooks() {
		run, end, err := r.newEventRun(ctx, i.Writer, set.Event)
		if err != nil {
			return err
		}
		for _, h := range set.Hooks {
			if err = run.recover(ctx, h); err != nil {
				break
			}
		}
		end()
		if err != nil {
			return fmt.Errorf("recover the hooks of revision %d, whose operation was interrupted: %w", i.Writer.Release().Version, err)
		}
	}
	return nil
}

// recover waits for one hook, records its result, and deletes the hook if its policies say
// so. It does nothing if no object of the hook exists in the cluster.
func (r *eventRun) recover(ctx context.Context, h *release.Hook) error {
	o, err := r.findExisting(ctx, h)
	if err != nil || o == nil {
		return err
	}
	running := history.IsRunning(h)
	if running {
		r.Events.Warnf("hook %s (%s) was running when its operation terminated unexpectedly; waiting for it", hookorder.Title(h), h.Path)
	}
	result := r.wait(ctx, h)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	var incomplete *failure.IncompleteHookError
	if errors.As(result, &incomplete) && !incomplete.HasRun() {
		return fmt.Errorf("hook %s (%s) is still running; wait for it to finish or delete it: %w", hookorder.Title(h), h.Path, incomplete.Resources)
	}
	log, policy := release.HookOutputOnSucceeded, release.HookSucceeded
	if result != nil {
		log, policy = release.HookOutputOnFailed, release.HookFailed
	}
	if running {
		r.setResult(h, result)
		if err := r.Logs(ctx, h, log); err != nil {
			r.Warn(h, err)
		}
	}
	if !r.deletes(h, policy) {
		return nil
	}
	return r.delete(ctx, h, o.list)
}

// findExisting returns those objects of a hook that exist in the cluster, and starts to
// watch those that run to completion. It returns nil if no object exists, or if the manifest
// is invalid.
func (r *eventRun) findExisting(ctx context.Context, h *release.Hook) (*hookObjects, error) {
	list, err := r.build(h, true)
	if err != nil {
		return nil, nil //nolint:nilerr // such a hook was never created
	}
	list = list.Filter(func(info *object.Info) bool { return info.Name != "" })
	live, err := r.Cluster.Live(ctx, list)
	if err != nil {
		return nil, err
	}
	o := &hookObjects{}
	for _, info := range list {
		if found := live[info]; found != nil {
			o.list = append(o.list, object.WithState(info, found))
		}
	}
	if len(o.list) == 0 {
		return nil, nil
	}
	o.completion = r.hookWaiter.Expect(o.list)
	o.watchErr = o.completion.Created(o.list)
	r.setObjects(h, o)
	return o, nil
}
