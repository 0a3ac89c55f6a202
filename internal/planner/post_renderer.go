// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"bytes"
	"context"

	"helm.sh/helm/v3/pkg/postrender"
)

// contextPostRenderer is a post-renderer that can be stopped.
type contextPostRenderer interface {
	RunWithContext(ctx context.Context, manifests *bytes.Buffer) (*bytes.Buffer, error)
}

// boundPostRenderer is a post-renderer that stops when the context ends.
type boundPostRenderer func(manifests *bytes.Buffer) (*bytes.Buffer, error)

func (r boundPostRenderer) Run(manifests *bytes.Buffer) (*bytes.Buffer, error) { return r(manifests) }

// withContext returns a post-renderer that stops when ctx ends, if r can be stopped.
func withContext(ctx context.Context, r postrender.PostRenderer) postrender.PostRenderer {
	if c, can := r.(contextPostRenderer); can {
		return boundPostRenderer(func(manifests *bytes.Buffer) (*bytes.Buffer, error) {
			return c.RunWithContext(ctx, manifests)
		})
	}
	return r
}
