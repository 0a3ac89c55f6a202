// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"slices"

	"helm.sh/helm/v3/pkg/kube"

	"github.com/ordered-helm/helm/internal/object"
)

// recreateNodePods deletes the pods of the workloads of a node, so that their controllers
// create new pods, and returns the deleted pods. list has the objects as they were returned
// when they were written. As in Helm, a failure to delete pods does not fail the operation.
func (a *Applier) recreateNodePods(ctx context.Context, list kube.ResourceList) ([]object.PodRef, error) {
	workloads := slices.DeleteFunc(list, func(info *object.Info) bool { return object.IsKind(info, "Service") })
	pods := a.deletePods(ctx, workloads)
	if len(pods) == 0 {
		return nil, context.Cause(ctx)
	}
	return pods, nil
}

// recreatePods deletes the pods that workloads and Services select, as Helm does. It does
// not wait until they are gone.
func (a *Applier) recreatePods(ctx context.Context, list kube.ResourceList) error {
	a.deletePods(ctx, list)
	return context.Cause(ctx)
}

// deletePods deletes the pods that the objects of list select, adds the objects to
// restarted, and returns the deleted pods. It only logs an error.
func (a *Applier) deletePods(ctx context.Context, list kube.ResourceList) []object.PodRef {
	a.mu.Lock()
	a.hasWritten = true
	a.mu.Unlock()
	pods, err := a.config.Writer.DeletePods(ctx, list)
	if err != nil {
		a.config.Log("%s", err.Error())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, info := range list {
		a.restarted[object.IDOf(info)] = info
	}
	return pods
}

// Restarted returns the state of an object before the operation deleted the pods that it
// selects; nil if the operation has not done so.
func (a *Applier) Restarted(info *object.Info) *object.Info {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.restarted[object.IDOf(info)]
}
