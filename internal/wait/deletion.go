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

// UntilOperationEnds is a timeout with which Deletion waits until its context ends.
const UntilOperationEnds = time.Duration(-1)

// Deletion waits until objects are gone.
type Deletion struct {
	Cluster *cluster.Client
	// Tracker is a tracker that the caller also uses elsewhere. If it is nil, Deletion
	// creates its own.
	Tracker *watcher.Watcher
	// Timeout limits the wait, or is UntilOperationEnds.
	Timeout time.Duration
	// OnChange receives the reports on the objects; it can be nil.
	OnChange func(context.Context, watcher.Report)
}

// Run returns when all objects are gone. If the UID of an object is known, an object with
// another UID does not count. The error names the objects that still exist, and says why.
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
