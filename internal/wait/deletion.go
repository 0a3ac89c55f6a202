// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package wait

import (
	"context"
	"time"

	"helm.sh/helm/v3/pkg/kube"

	"github.com/ordered-helm/helm/internal/cluster"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/watcher"
)

// UntilOperationEnds is a value of Deletion.Timeout. It means that the wait has no timeout
// of its own and ends with its context.
const UntilOperationEnds = time.Duration(-1)

// Deletion configures a wait until deleted objects no longer exist in the cluster.
type Deletion struct {
	Cluster *cluster.Client
	// Tracker observes the objects. If it is nil, Run creates a tracker and closes it.
	Tracker *watcher.Watcher
	// Timeout limits the wait, or is UntilOperationEnds.
	Timeout time.Duration
	// OnChange is called with each new state of an object; it can be nil.
	OnChange func(context.Context, watcher.Report)
}

// Run returns when all objects are gone. If the list has the UID of an object, another
// object with the same name does not count. The error names the objects that still exist,
// and says why.
func (d *Deletion) Run(ctx context.Context, list kube.ResourceList) error {
	if !d.Cluster.HasCluster() {
		return d.Cluster.DelegateWaitDeleted(list, d.Timeout)
	}
	live, err := d.Cluster.Live(ctx, list)
	if err != nil || len(live) == 0 {
		return err
	}
	tracker := d.Tracker
	if tracker == nil {
		if tracker, err = NewTracker(ctx, d.Cluster, func(watcher.Notice) {}); err != nil {
			return err
		}
		defer tracker.Close()
	}
	if d.Timeout != UntilOperationEnds {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d.Timeout)
		defer cancel()
	}
	var targets []watcher.Target
	for _, info := range list {
		if live[info] != nil {
			targets = append(targets, TargetOf(info, object.UID(info)))
		}
	}
	var onChange func(watcher.Report)
	if d.OnChange != nil {
		onChange = func(report watcher.Report) { d.OnChange(ctx, report) }
	}
	_, err = tracker.WaitDeleted(ctx, targets, onChange)
	return err
}
