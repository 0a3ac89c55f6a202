// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"time"

	"helm.sh/helm/v3/pkg/kube"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/watcher"
)

// UntilOperationEnds is a value of DeletedOptions.Timeout. It means that the wait has no
// timeout of its own and ends with its context.
const UntilOperationEnds = time.Duration(-1)

// DeletedOptions are the options of Waiter.Deleted.
type DeletedOptions struct {
	// Timeout limits the wait, or is UntilOperationEnds.
	Timeout time.Duration
	// OnChange is called with each new state of an object; it can be nil.
	OnChange func(context.Context, watcher.Report)
}

// Deleted implements Waiter.
func (w *watching) Deleted(ctx context.Context, list kube.ResourceList, o DeletedOptions) error {
	return w.deleted(ctx, list, o, nil)
}

// deleted is Deleted with the tracker that observes the objects. If tracker is nil, deleted
// creates one if it is needed, and closes it.
func (w *watching) deleted(ctx context.Context, list kube.ResourceList, o DeletedOptions, tracker *watcher.Watcher) error {
	live, err := w.cluster.Live(ctx, list)
	if err != nil || len(live) == 0 {
		return err
	}
	if tracker == nil {
		if tracker, err = newTracker(ctx, w.cluster, func(watcher.Notice) {}); err != nil {
			return err
		}
		defer tracker.Close()
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
	_, err = tracker.WaitDeleted(ctx, targets, onChange)
	return err
}
