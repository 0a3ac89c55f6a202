// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	"helm.sh/helm/v3/pkg/kube"
)

// DelegateWait calls the method of the Kubernetes client that waits until objects are
// ready. jobs says whether to wait for Jobs. It is used if there is no cluster to watch.
func (c *Client) DelegateWait(list kube.ResourceList, timeout time.Duration, jobs bool) error {
	if jobs {
		return c.kube.WaitWithJobs(list, timeout)
	}
	return c.kube.Wait(list, timeout)
}

// DelegateWaitDeleted calls the method of the Kubernetes client that waits until objects
// are gone, if it has one. It is used if there is no cluster to watch.
func (c *Client) DelegateWaitDeleted(list kube.ResourceList, timeout time.Duration) error {
	if client, ok := c.kube.(kube.InterfaceExt); ok {
		return client.WaitForDelete(list, timeout)
	}
	return nil
}

// DelegateWaitCompleted calls the method of the Kubernetes client that waits until the
// objects of a hook have completed. It is used if there is no cluster to watch.
func (c *Client) DelegateWaitCompleted(list kube.ResourceList, timeout time.Duration) error {
	return c.kube.WatchUntilReady(list, timeout)
}
