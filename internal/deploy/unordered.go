// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"context"

	"helm.sh/helm/v3/pkg/kube"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ordered-helm/helm/internal/apply"
	"github.com/ordered-helm/helm/internal/failure"
	"github.com/ordered-helm/helm/internal/history"
	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/objectwriter"
	"github.com/ordered-helm/helm/internal/operation"
	"github.com/ordered-helm/helm/internal/wait"
)

// unorderedStrategy deploys a revision as Helm does: it applies all objects, deletes the
// obsolete ones, and then waits if Options.Wait is set.
type unorderedStrategy struct {
	run     *Run
	applier *apply.Applier
	all     kube.ResourceList
	// result describes what apply has written.
	result apply.Result
}

// newUnordered returns an unorderedStrategy, and builds the objects of the manifest.
func newUnordered(r *Run) (*unorderedStrategy, error) {
	list, err := r.op.Cluster.Build([]byte(r.Release().Manifest), r.options.Validate)
	if err != nil {
		return nil, err
	}
	return &unorderedStrategy{run: r, applier: r.newApplier(nil, nil), all: list}, object.SetOwner(list, r.owner())
}

func (u *unorderedStrategy) objects() objectsToApply {
	return objectsToApply{applier: u.applier, all: u.all}
}

func (u *unorderedStrategy) built() kube.ResourceList { return u.all }

func (u *unorderedStrategy) resetProgress() error { return nil }

func (u *unorderedStrategy) check(context.Context) error { return nil }

func (u *unorderedStrategy) announce() {}

func (u *unorderedStrategy) steps() []step {
	steps := []step{{Applying, u.apply}, {Pruning, u.prune}}
	if u.run.options.Wait {
		steps = append(steps, step{Waiting, u.wait})
	}
	return steps
}

func (u *unorderedStrategy) apply(ctx context.Context) (err error) {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	u.result, err = u.applier.ApplyAll(ctx, u.all)
	return err
}

func (u *unorderedStrategy) prune(ctx context.Context) error {
	if p := u.pruner(); p != nil && !u.result.Pruned {
		return u.run.prune(ctx, p, u.all)
	}
	return nil
}

func (u *unorderedStrategy) wait(ctx context.Context) error {
	r := u.run
	return r.op.Waiter.WaitReady(ctx, u.result.States.All(u.all), wait.WaitReadyOptions{
		Timeout: r.options.Timeout, Jobs: r.options.Jobs, Namespace: r.Release().Namespace, Restarted: u.applier.Restarted,
	})
}

func (u *unorderedStrategy) cause(ctx context.Context, err error) error {
	return failure.PreferContextCause(ctx, err)
}

func (u *unorderedStrategy) deleteCreated(ctx context.Context, cleanup *operation.Operation, created kube.ResourceList, _ error) error {
	created, err := u.applier.ConfirmCreated(ctx, cleanup.Cluster, created)
	if err != nil {
		return err
	}
	_, errs := cleanup.Writer.Delete(ctx, created, objectwriter.DeleteOptions{Propagation: metav1.DeletePropagationBackground})
	return deletionError(errs)
}

func (u *unorderedStrategy) dryRun(ctx context.Context) ([]objectwriter.DryRunResult, error) {
	return u.applier.DryRunAll(ctx, u.all)
}

// nodes returns a single node, whose ID is the name of the chart.
func (u *unorderedStrategy) nodes() []NodeObjects {
	return []NodeObjects{{Node: u.nodeID(), List: u.all}}
}

func (u *unorderedStrategy) nodeID() string { return history.ChartName(u.run.Release()) }

func (u *unorderedStrategy) pruner() pruner {
	switch {
	case u.run.inventory == nil:
		return nil
	case u.run.options.PruneInReverse:
		return &orderedPruner{run: u.run, timeout: u.run.options.Timeout}
	}
	return &unorderedPruner{run: u.run, node: u.nodeID()}
}

func (u *unorderedStrategy) close() {}
