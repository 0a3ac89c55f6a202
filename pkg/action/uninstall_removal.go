// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/deploy"
	"github.com/ordered-helm/helm/internal/event"
	"github.com/ordered-helm/helm/internal/lease"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/orderrecord"
	"github.com/ordered-helm/helm/internal/prune"
	"github.com/ordered-helm/helm/internal/sequencer"
	"github.com/ordered-helm/helm/internal/text"
	"github.com/ordered-helm/helm/internal/wait"
)

// removal deletes the objects of a release. It has two implementations: orderedRemoval
// deletes them in reverse order, and helmRemoval all at the same time, as Helm does. All
// differences between the two are in these methods.
type removal interface {
	// prepare finds out which objects will be deleted. It changes nothing in the cluster.
	prepare(ctx context.Context) error
	// execute deletes the objects that prepare found.
	execute(ctx context.Context) error
	// hookCause converts the error of failed hooks to the error of the uninstall, and
	// failure does the same with an error of execute.
	hookCause(ctx context.Context, err error) error
	failure(ctx context.Context, err error) error
	// deleted returns the objects that execute deleted. waitTimeout returns how long the
	// uninstall then waits until these objects no longer exist.
	deleted() kube.ResourceList
	waitTimeout() time.Duration
	// kept returns a text that lists the objects that are not deleted because of their
	// resource policy.
	kept() string
	// restores reports whether the uninstall restores the previous record of the release if
	// it fails before it has deleted anything.
	restores() bool
}

func newRemoval(r *uninstallRun, ordered bool) removal {
	if ordered {
		return &orderedRemoval{run: r}
	}
	return &helmRemoval{run: r}
}

// orderedRemoval deletes objects in the reverse of the order in which they were deployed.
type orderedRemoval struct {
	run      *uninstallRun
	graph    *prune.Graph
	keptList strings.Builder
}

func (o *orderedRemoval) prepare(ctx context.Context) error {
	inv := o.run.inventory
	if err := inv.ReadPlans(ctx, o.run.op.Cluster, false); err != nil {
		return fmt.Errorf("uninstall: %w: use --wait=false to delete everything at once", err)
	}
	policies := inv.Policies()
	o.listKept(policies)
	o.graph = &prune.Graph{
		Cluster: o.run.op.Cluster, Writer: o.run.op.Writer, Waiter: o.run.op.Waiter, Events: o.run.op.Events, Namespace: o.run.rel.Namespace, Propagation: o.run.action.propagation(),
		Timeout: o.run.action.ReadinessTimeout, InfoOf: inv.InfoOf, Progress: o.run.writer.Progress,
		Removal: sequencer.PlanRemoval(inv.Plans(), func(res *sequencer.PlannedResource) (sequencer.ID, bool) {
			id, exists := inv.IDOf(res)
			return id, exists && !object.Keeps(policies[id]) && !o.run.action.spared[id]
		}),
		WhyKeep: func(live *unstructured.Unstructured) string { return inv.WhyKeep(live, policies, true) },
	}
	return o.recordProgress()
}

// listKept adds the objects that are kept because of their resource policy to keptList.
func (o *orderedRemoval) listKept(policies map[sequencer.ID]string) {
	listed := map[sequencer.ID]bool{}
	for _, plan := range slices.Backward(o.run.inventory.Plans()) {
		for _, n := range plan.Nodes {
			for _, res := range n.Resources {
				id, exists := o.run.inventory.IDOf(res)
				if exists && object.Keeps(policies[id]) && !listed[id] {
					listed[id] = true
					fmt.Fprintf(&o.keptList, "[%s] %s\n", res.ID.Kind, res.ID.Name)
				}
			}
		}
	}
}

// recordProgress makes the writer store from now on which nodes are already deleted.
func (o *orderedRemoval) recordProgress() error {
	rec, err := orderrecord.Read(o.run.rel)
	if err != nil {
		return err
	}
	if err := o.run.writer.SetStoredRecord(rec); err != nil {
		return err
	}
	return o.run.writer.Progress.ExpectNodes(o.graph.Nodes(), true)
}

func (o *orderedRemoval) execute(ctx context.Context) error {
	o.run.op.Events.Emit(Event{
		Type: EventPlanned, Message: fmt.Sprintf("uninstalling release %s: %s, in reverse order", o.run.rel.Name, o.graph.Extent()),
		Nodes: event.RemovedNodes(o.graph.Removal),
	})
	err := o.graph.Run(ctx)
	return errors.Join(err, o.run.writer.Progress.Finish(err == nil))
}

func (o *orderedRemoval) hookCause(_ context.Context, err error) error { return err }

func (o *orderedRemoval) failure(_ context.Context, err error) error {
	return fmt.Errorf("failed to delete release: %s: %w", o.run.rel.Name, err)
}

func (o *orderedRemoval) deleted() kube.ResourceList { return o.graph.Deleted() }

func (o *orderedRemoval) waitTimeout() time.Duration { return wait.UntilOperationEnds }

func (o *orderedRemoval) kept() string { return o.keptList.String() }

func (o *orderedRemoval) restores() bool { return false }

// helmRemoval deletes all objects at the same time, as Helm does.
type helmRemoval struct {
	run *uninstallRun
	// files contains the documents of the manifest that will be deleted, in Helm's
	// uninstall order.
	files    []releaseutil.Manifest
	list     kube.ResourceList
	keptList strings.Builder
}

func (h *helmRemoval) prepare(context.Context) error {
	if rec, err := orderrecord.Read(h.run.rel); err == nil {
		if err := h.run.writer.SetStoredRecord(lease.WithoutLease(rec)); err != nil {
			return err
		}
	}
	_, files, err := releaseutil.SortManifests(releaseutil.SplitManifests(h.run.rel.Manifest), nil, releaseutil.UninstallOrder)
	if err != nil {
		h.run.op.Log("uninstall: Failed to delete release: %s", h.run.op.Events.RedactError(err))
		return fmt.Errorf("failed to delete release: %s", h.run.rel.Name)
	}
	for _, f := range files {
		if f.Head.Metadata != nil && object.Keeps(f.Head.Metadata.Annotations[kube.ResourcePolicyAnno]) {
			fmt.Fprintf(&h.keptList, "[%s] %s\n", f.Head.Kind, f.Head.Metadata.Name)
		} else {
			h.files = append(h.files, f)
		}
	}
	return nil
}

func (h *helmRemoval) execute(ctx context.Context) error {
	var manifest strings.Builder
	for _, f := range h.files {
		manifest.WriteString("\n---\n" + f.Content)
	}
	list, err := h.run.op.Cluster.Build([]byte(manifest.String()), false)
	if err != nil {
		return fmt.Errorf("unable to build kubernetes objects for delete: %w", err)
	}
	for _, info := range h.withLeftovers(ctx, list) {
		if len(h.run.action.spared) == 0 || !h.run.action.spared[object.IDOf(info)] {
			h.list = append(h.list, info)
		}
	}
	_, errs := h.run.op.Writer.Delete(ctx, h.list, h.run.action.propagation())
	return errors.Join(errs...)
}

// withLeftovers returns the objects in list and, if a revision of the release was deployed
// in order, those that earlier revisions may have left. It then omits objects that do not
// exist or do not belong to the release. If it cannot read the objects, it warns and
// returns list.
func (h *helmRemoval) withLeftovers(ctx context.Context, list kube.ResourceList) kube.ResourceList {
	inv := h.run.inventory
	if !inv.IsOrdered() || h.run.op.Delegates() {
		return list
	}
	err := inv.ReadPlans(ctx, h.run.op.Cluster, true)
	all := slices.Clone(list)
	for _, info := range inv.Objects() {
		if !inv.IsOfBase(object.IDOf(info)) {
			all = append(all, info)
		}
	}
	live, unreadable := h.run.op.Cluster.Live(ctx, all)
	if err := errors.Join(err, unreadable); err != nil {
		h.run.op.Events.Warnf("resources that earlier revisions may have left are not deleted: %v", err)
		return list
	}
	policies := inv.Policies()
	return slices.DeleteFunc(all, func(info *object.Info) bool {
		if live[info] == nil {
			return true
		}
		why := inv.WhyKeep(live[info], policies, true)
		if why != "" {
			h.run.op.Events.Warnf("%s is not deleted: %s", object.Describe(info), why)
		}
		return why != ""
	})
}

func (h *helmRemoval) hookCause(ctx context.Context, err error) error { return deploy.Cause(ctx, err) }

func (h *helmRemoval) failure(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	// Helm's message does not contain the cause.
	h.run.op.Events.Warnf("release %s could not be deleted completely: %s", h.run.rel.Name, text.OneLine(err.Error()))
	return fmt.Errorf("failed to delete release: %s", h.run.rel.Name)
}

func (h *helmRemoval) deleted() kube.ResourceList { return h.list }

func (h *helmRemoval) waitTimeout() time.Duration { return h.run.action.Timeout }

func (h *helmRemoval) kept() string { return h.keptList.String() }

func (h *helmRemoval) restores() bool { return true }
