// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"time"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/cli-runtime/pkg/resource"
)

// RunsToEnd reports whether an object is a Job or a Pod: what is waited for if it
// is a hook.
func RunsToEnd(info *resource.Info) bool {
	switch info.Mapping.GroupVersionKind.GroupKind().String() {
	case "Job.batch", "Pod":
		return true
	}
	return false
}

// DelegateWaitCompleted has Helm's client play that it waits until a hook has
// completed, where there is no cluster.
func (c *Client) DelegateWaitCompleted(list kube.ResourceList, timeout time.Duration) error {
	return c.kube.WatchUntilReady(list, timeout)
}
