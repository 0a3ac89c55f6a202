// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/cli-runtime/pkg/resource"
)

// CreateHook creates the objects of a hook, one after the other. Each becomes what
// the server made of it. One that is there already is an error.
func (c *Client) CreateHook(ctx context.Context, list kube.ResourceList) error {
	if !c.Direct() {
		return c.Create(ctx, list)
	}
	client, err := c.Dynamic()
	if err != nil {
		return err
	}
	w := &writer{client: client, log: c.log, manager: fieldManager()}
	for _, info := range list {
		taken, err := w.post(ctx, &change{info: info})
		if err != nil {
			return err
		}
		if err := info.Refresh(taken, true); err != nil {
			return err
		}
	}
	return nil
}

// RunsToEnd reports whether an object is a Job or a Pod: what is waited for if it
// is a hook.
func RunsToEnd(info *resource.Info) bool {
	switch info.Mapping.GroupVersionKind.GroupKind().String() {
	case "Job.batch", "Pod":
		return true
	}
	return false
}

// PlayWaitCompleted has Helm's client play that it waits until a hook has
// completed, where there is no cluster.
func (c *Client) PlayWaitCompleted(list kube.ResourceList, timeout time.Duration) error {
	return c.kube.WatchUntilReady(list, timeout)
}
