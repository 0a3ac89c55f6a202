// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"time"

	"helm.sh/helm/v3/pkg/kube"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/watcher"
	"github.com/ordered-helm/helm/internal/watcher/notice"
)

// UntilOperationEnds as WaitDeletedOptions.Timeout means that only the context limits the
// wait.
const UntilOperationEnds = time.Duration(-1)

// WaitDeletedOptions are the options of Waiter.WaitDeleted.
type WaitDeletedOptions struct {
	// Timeout limits the wait, or is UntilOperationEnds.
	Timeout time.Duration
	// OnChange, if not nil, is called whenever the state of an object changes.
	OnChange func(context.Context, watcher.Report)
}

// WaitDeleted implements Waiter.
func (w *watchingWaiter) WaitDeleted(ctx context.Context, list kube.ResourceList, o WaitDeletedOptions) error {
	return w.waitDeleted(ctx, list, o, nil)
}

// waitDeleted is WaitDeleted with a given Watcher. If objectWatcher is nil and any object
// still exists, waitDeleted creates a Watcher for this call only.
func (w *watchingWaiter) waitDeleted(ctx context.Context, list kube.ResourceList, o WaitDeletedOptions, objectWatcher *watcher.Watcher) error {
	live, err := w.cluster.Live(ctx, list)
	if err != nil || len(live) == 0 {
		return err
	}
	if objectWatcher == nil {
		if objectWatcher, err = newWatcher(ctx, w.cluster, func(notice.Notice) {}); err != nil {
			return err
		}
		defer objectWatcher.Close()
	}
	if o.Timeout != UntilOperationEnds {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	var targets []watcher.Target
	for _, info := range list {
		if live[info] != nil {
			targets = append(targets, targetOf(info, object.UID(info)))
		}
	}
	var onChange func(watcher.Report)
	if o.OnChange != nil {
		onChange = func(report watcher.Report) { o.OnChange(ctx, report) }
	}
	_, err = objectWatcher.WaitDeleted(ctx, targets, onChange)
	return err
}
