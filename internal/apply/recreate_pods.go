// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"slices"

	"helm.sh/helm/v3/pkg/kube"

	"github.com/ordered-helm/helm/internal/object"
)

// recreateNodePods deletes the pods of the workloads in list, so that the controllers
// create new ones. It returns the deleted pods. list contains objects of a node in the
// states that the server returned when they were written. As in Helm, the operation does
// not fail if pods cannot be deleted.
func (a *Applier) recreateNodePods(ctx context.Context, list kube.ResourceList) ([]object.PodRef, error) {
	workloads := slices.DeleteFunc(list, func(info *object.Info) bool { return object.IsKind(info, "Service") })
	pods := a.deletePods(ctx, workloads)
	if len(pods) == 0 {
		return nil, context.Cause(ctx)
	}
	return pods, nil
}

// recreatePods deletes the pods that the workloads and Services in list select, as Helm
// does. It does not wait until the pods are gone.
func (a *Applier) recreatePods(ctx context.Context, list kube.ResourceList) error {
	a.deletePods(ctx, list)
	return context.Cause(ctx)
}

// deletePods deletes the pods that the objects in list select, and returns them. It adds the
// objects to restarted. An error is only logged.
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

// Restarted returns the state that an object had before the operation deleted its pods, or
// nil if the operation has not deleted them.
func (a *Applier) Restarted(info *object.Info) *object.Info {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.restarted[object.IDOf(info)]
}
