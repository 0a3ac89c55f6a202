// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"time"

	"helm.sh/helm/v3/pkg/kube"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/cli-runtime/pkg/resource"
)

// pollInterval is how often Helm looks.
const pollInterval = 2 * time.Second

// WaitDeleted waits until all objects are gone, no longer than timeout.
func (c *Client) WaitDeleted(ctx context.Context, list kube.ResourceList, timeout time.Duration) error {
	if c.getter == nil {
		if kc, ok := c.kube.(kube.InterfaceExt); ok {
			return kc.WaitForDelete(list, timeout)
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return wait.PollUntilContextCancel(ctx, pollInterval, true, func(context.Context) (bool, error) {
		for _, info := range list {
			if _, err := resource.NewHelper(info.Client, info.Mapping).Get(info.Namespace, info.Name); err == nil || !apierrors.IsNotFound(err) {
				return false, err
			}
		}
		return true, nil
	})
}

// PlayWait has Helm's client play that it waits, where there is no cluster.
func (c *Client) PlayWait(list kube.ResourceList, timeout time.Duration, jobs bool) error {
	if jobs {
		return c.kube.WaitWithJobs(list, timeout)
	}
	return c.kube.Wait(list, timeout)
}
