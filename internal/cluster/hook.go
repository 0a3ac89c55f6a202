// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-multierror"
	"helm.sh/helm/v3/pkg/kube"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/resource"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// WaitCompleted waits until the Jobs and Pods among the objects of a hook have
// completed; other kinds it does not wait for. One that somebody deletes
// meanwhile counts as completed, as in Helm. A timeout of 0 is none.
func (c *Client) WaitCompleted(ctx context.Context, list kube.ResourceList, timeout time.Duration) error {
	if c.getter == nil {
		return c.kube.WatchUntilReady(list, timeout)
	}
	ctx, cancel := watchtools.ContextWithOptionalTimeout(ctx, timeout)
	defer cancel()
	errs := make([]error, len(list))
	var running sync.WaitGroup
	for i, info := range list {
		switch info.Mapping.GroupVersionKind.GroupKind().String() {
		case "Job.batch", "Pod":
			running.Go(func() { errs[i] = waitCompleted(ctx, info) })
		}
	}
	running.Wait()
	var all *multierror.Error // what Helm returns, to the letter
	for _, err := range errs {
		if err != nil {
			all = multierror.Append(all, err)
		}
	}
	return all.ErrorOrNil()
}

func waitCompleted(ctx context.Context, info *resource.Info) error {
	byName := fields.OneTermEqualSelector("metadata.name", info.Name)
	lw := cache.NewListWatchFromClient(info.Client, info.Mapping.Resource.Resource, info.Namespace, byName)
	_, err := watchtools.UntilWithSync(ctx, lw, &unstructured.Unstructured{}, nil, func(e watch.Event) (bool, error) {
		object, ok := e.Object.(*unstructured.Unstructured)
		switch {
		case e.Type == watch.Deleted:
			return true, nil
		case !ok:
			return false, nil
		case info.Mapping.GroupVersionKind.Kind == "Job":
			return jobCompleted(object)
		}
		return podCompleted(object)
	})
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	return err
}

func jobCompleted(job *unstructured.Unstructured) (bool, error) {
	conditions, _, _ := unstructured.NestedSlice(job.Object, "status", "conditions")
	for _, item := range conditions {
		c, _ := item.(map[string]any)
		if c["status"] != "True" {
			continue
		}
		switch c["type"] {
		case "Complete":
			return true, nil
		case "Failed":
			return true, fmt.Errorf("job %s failed: %v", job.GetName(), c["reason"])
		}
	}
	return false, nil
}

func podCompleted(pod *unstructured.Unstructured) (bool, error) {
	phase, _, _ := unstructured.NestedString(pod.Object, "status", "phase")
	switch corev1.PodPhase(phase) {
	case corev1.PodSucceeded:
		return true, nil
	case corev1.PodFailed:
		return true, fmt.Errorf("pod %s failed", pod.GetName())
	}
	return false, nil
}
