// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	"helm.sh/helm/v3/pkg/kube"
)

// DelegateWait makes the Kubernetes client wait until objects are ready. It is used without
// a cluster.
func (c *Client) DelegateWait(list kube.ResourceList, timeout time.Duration, jobs bool) error {
	if jobs {
		return c.kube.WaitWithJobs(list, timeout)
	}
	return c.kube.Wait(list, timeout)
}

// DelegateWaitDeleted makes the Kubernetes client wait until objects are gone. It is used
// without a cluster.
func (c *Client) DelegateWaitDeleted(list kube.ResourceList, timeout time.Duration) error {
	if client, ok := c.kube.(kube.InterfaceExt); ok {
		return client.WaitForDelete(list, timeout)
	}
	return nil
}

// DelegateWaitCompleted makes the Kubernetes client wait until a hook has completed. It is
// used without a cluster.
func (c *Client) DelegateWaitCompleted(list kube.ResourceList, timeout time.Duration) error {
	return c.kube.WatchUntilReady(list, timeout)
}
