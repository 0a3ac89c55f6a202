// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ordered-helm/helm/internal/cluster"
)

// whyNotCreated says why what is in the cluster is not what an operation created;
// an empty text if it is. Where the server did not answer, the marks tell.
func (r *rollout) whyNotCreated(info *kubeInfo, live *unstructured.Unstructured) string {
	switch uid := cluster.UID(info); {
	case uid != "" && uid != live.GetUID():
		return "another object has taken its name"
	case uid == "" && checkOwner(live, r.name, r.namespace) != nil:
		return "it does not bear the marks of the release"
	}
	return ""
}

// surelyCreated leaves out of what may have been created what is there and was not,
// as far as only a look can tell: of the rest the server knows which one it was.
// Clients of another make are not asked for more than Helm asks.
func (r *rollout) surelyCreated(ctx context.Context, c *cluster.Client, created kube.ResourceList) (kube.ResourceList, error) {
	if !c.Direct() {
		return created, nil
	}
	live, err := c.Live(ctx, created.Filter(func(info *kubeInfo) bool { return cluster.UID(info) == "" }))
	if err != nil {
		return nil, err
	}
	return created.Filter(func(info *kubeInfo) bool {
		return live[info] == nil || r.whyNotCreated(info, live[info]) == ""
	}), nil
}
