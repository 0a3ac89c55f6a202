// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package objectwriter

import (
	"context"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/internal/object"
	"github.com/ordered-helm/helm/internal/ownerreferences"
)

func (w *requestWriter) Disown(ctx context.Context, release types.UID, list kube.ResourceList) error {
	if release == "" || len(list) == 0 {
		return nil
	}
	client, err := w.cluster.Metadata()
	if err != nil {
		return err
	}
	objects := make([]ownerreferences.Object, len(list))
	for i, info := range list {
		objects[i] = ownerreferences.Object{Resource: info.Mapping.Resource, Namespace: object.Namespace(info), Name: info.Name}
	}
	return ownerreferences.Remove(ctx, client, release, objects)
}

func (w *delegatingWriter) Disown(context.Context, types.UID, kube.ResourceList) error { return nil }
