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
	"github.com/ordered-helm/helm/internal/removal"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/wait"
)

// ordered is the strategy that deletes objects in the reverse order of deployment. It stores
// in the release which nodes are already deleted.
type ordered struct {
	op        *operation.Operation
	writer    *history.Writer
	inventory *inventory.Inventory
	options   Options
	deletion  *prune.OrderedDeletion
	// runHooks runs the hooks of a step of the deployment graph.
	runHooks func(context.Context, *sequencer.Step) error
}

func (o *ordered) prepare(ctx context.Context) (kept string, err error) {
	inv := o.inventory
	inv.PlanBaseFor(history.PlanOptions{Operation: sequencer.Uninstall, DisableHooks: o.options.DisableHooks})
	if err := inv.ReadPlans(ctx, o.op.Cluster, false); err != nil {
		return "", fmt.Errorf("uninstall: %w: use --wait=false to delete everything without ordering", err)
	}
	policies := inv.Policies()
	o.deletion = &prune.OrderedDeletion{
		Cluster: o.op.Cluster, Writer: o.op.Writer, Waiter: o.op.Waiter, Events: o.op.Events, Namespace: o.writer.Release().Namespace,
		Propagation: propagation(o.options.Propagation, o.op.Log), Timeout: o.options.ReadinessTimeout, InfoOf: inv.InfoOf, Progress: o.writer.Progress,
		Removal: removal.OrderOf(inv.Plans(), func(res *sequencer.PlannedResource) (sequencer.ID, bool) {
			id, exists := inv.IDOf(res)
			return id, exists && !object.PolicyKeeps(policies[id]) && !o.options.Spared[id]
		}),
		WhyKeep: func(live *unstructured.Unstructured) string { return inv.WhyKeep(live, policies, true) },
		RunStep: o.runHooks,
	}
	return o.listKept(policies), o.recordProgress()
}

// listKept lists the objects that are kept because of the annotation helm.sh/resource-policy,
// one per line.
func (o *ordered) listKept(policies map[sequencer.ID]string) string {
	var list strings.Builder
	listed := map[sequencer.ID]bool{}
	for _, plan := range slices.Backward(o.inventory.Plans()) {
		for _, n := range plan.Nodes {
			for _, res := range n.Resources {
				id, exists := o.inventory.IDOf(res)
				if exists && object.PolicyKeeps(policies[id]) && !listed[id] {
					listed[id] = true
					fmt.Fprintf(&list, "[%s] %s\n", res.ID.Kind, res.ID.Name)
				}
			}
		}
	}
	return list.String()
}

// recordProgress makes the writer store in the release, from now on, which nodes are deleted.
func (o *ordered) recordProgress() error {
	rec, err := orderrecord.Read(o.writer.Release())
	if err != nil {
		return err
	}
	if err := o.writer.SetStoredRecord(rec); err != nil {
		return err
	}
	return o.writer.Progress.Reset(o.deletion.NodeCount(), true)
}

func (o *ordered) deleteObjects(ctx context.Context) (kube.ResourceList, error) {
	o.op.Events.Emit(event.Event{
		Type: event.Planned, Message: fmt.Sprintf("uninstalling release %s: %s, in reverse order", o.writer.Release().Name, o.deletion.Extent()),
		Nodes: event.RemovedNodes(o.deletion.Removal),
	})
	err := o.deletion.Run(ctx)
	return o.deletion.Deleted(), errors.Join(err, o.writer.Progress.Finish(err == nil))
}

func (o *ordered) hookError(_ context.Context, err error) error { return err }

func (o *ordered) deletionError(_ context.Context, err error) error {
	return fmt.Errorf("failed to delete release: %s: %w", o.writer.Release().Name, err)
}

func (o *ordered) waitTimeout() time.Duration { return wait.UntilOperationEnds }

func (o *ordered) restoresRelease() bool { return false }

func (o *ordered) plan() *sequencer.Plan { return o.inventory.BasePlan() }
