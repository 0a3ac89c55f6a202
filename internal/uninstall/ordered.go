// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package uninstall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/inventory"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/prune"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/wait"
)

// ordered deletes objects in the reverse of the order in which they were deployed. The
// record of the release says which nodes are already deleted.
type ordered struct {
	op        *operation.Operation
	writer    *history.Writer
	inventory *inventory.Inventory
	options   Options
	graph     *prune.Graph
}

func (o *ordered) prepare(ctx context.Context) (kept string, err error) {
	inv := o.inventory
	if err := inv.ReadPlans(ctx, o.op.Cluster, false); err != nil {
		return "", fmt.Errorf("uninstall: %w: use --wait=false to delete everything at once", err)
	}
	policies := inv.Policies()
	o.graph = &prune.Graph{
		Cluster: o.op.Cluster, Writer: o.op.Writer, Waiter: o.op.Waiter, Events: o.op.Events, Namespace: o.writer.Release().Namespace,
		Propagation: propagation(o.options.Propagation, o.op.Log), Timeout: o.options.ReadinessTimeout, InfoOf: inv.InfoOf, Progress: o.writer.Progress,
		Removal: sequencer.PlanRemoval(inv.Plans(), func(res *sequencer.PlannedResource) (sequencer.ID, bool) {
			id, exists := inv.IDOf(res)
			return id, exists && !object.Keeps(policies[id]) && !o.options.Spared[id]
		}),
		WhyKeep: func(live *unstructured.Unstructured) string { return inv.WhyKeep(live, policies, true) },
	}
	return o.listKept(policies), o.recordProgress()
}

// listKept lists the objects that are kept because of their resource policy.
func (o *ordered) listKept(policies map[sequencer.ID]string) string {
	var list strings.Builder
	listed := map[sequencer.ID]bool{}
	for _, plan := range slices.Backward(o.inventory.Plans()) {
		for _, n := range plan.Nodes {
			for _, res := range n.Resources {
				id, exists := o.inventory.IDOf(res)
				if exists && object.Keeps(policies[id]) && !listed[id] {
					listed[id] = true
					fmt.Fprintf(&list, "[%s] %s\n", res.ID.Kind, res.ID.Name)
				}
			}
		}
	}
	return list.String()
}

// recordProgress makes the writer store from now on which nodes are already deleted.
func (o *ordered) recordProgress() error {
	rec, err := orderrecord.Read(o.writer.Release())
	if err != nil {
		return err
	}
	if err := o.writer.SetStoredRecord(rec); err != nil {
		return err
	}
	return o.writer.Progress.ExpectNodes(o.graph.Nodes(), true)
}

func (o *ordered) deleteObjects(ctx context.Context) (kube.ResourceList, error) {
	o.op.Events.Emit(event.Event{
		Type: event.Planned, Message: fmt.Sprintf("uninstalling release %s: %s, in reverse order", o.writer.Release().Name, o.graph.Extent()),
		Nodes: event.RemovedNodes(o.graph.Removal),
	})
	err := o.graph.Run(ctx)
	return o.graph.Deleted(), errors.Join(err, o.writer.Progress.Finish(err == nil))
}

func (o *ordered) hookError(_ context.Context, err error) error { return err }

func (o *ordered) deletionError(_ context.Context, err error) error {
	return fmt.Errorf("failed to delete release: %s: %w", o.writer.Release().Name, err)
}

func (o *ordered) waitTimeout() time.Duration { return wait.UntilOperationEnds }

func (o *ordered) restoresRecord() bool { return false }
