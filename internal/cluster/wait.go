// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	"helm.sh/helm/v3/pkg/kube"
)

// DelegateWait has Helm's client play that it waits, where there is no cluster.
func (c *Client) DelegateWait(list kube.ResourceList, timeout time.Duration, jobs bool) error {
	if jobs {
		return c.kube.WaitWithJobs(list, timeout)
	}
	return c.kube.Wait(list, timeout)
}

// DelegateWaitDeleted has Helm's client play that it waits until objects are gone,
// where there is no cluster.
func (c *Client) DelegateWaitDeleted(list kube.ResourceList, timeout time.Duration) error {
	if kc, ok := c.kube.(kube.InterfaceExt); ok {
		return kc.WaitForDelete(list, timeout)
	}
	return nil
}
