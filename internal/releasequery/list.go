// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package releasequery

import (
	"context"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/lifecycle"
	"github.com/ordered-helm/helm/internal/releaselist"
)

// List lists releases (helm list). It has every field of Helm's List, with the same meaning.
type List struct {
	*helmaction.List

	// MetadataOnly lists the releases without their values, manifests, hooks, notes and files of
	// charts, which are not read then. Only the storage driver "crd" can do so; with others, the
	// field has no effect.
	MetadataOnly bool
	// Lifecycle contains handlers of the events pre-list and post-list; nil if there are none
	// (docs/reference.md, "Lifecycle events").
	Lifecycle *lifecycle.Emitter

	cfg *helmaction.Configuration
}

// NewList returns a List with Helm's defaults.
func NewList(cfg *helmaction.Configuration) *List {
	return &List{List: helmaction.NewList(cfg), cfg: cfg}
}

// Run is like RunWithContext with a context that is never canceled.
func (l *List) Run() ([]*release.Release, error) {
	return l.RunWithContext(context.Background()) //nolint:forbidigo // the signature is Helm's
}

// RunWithContext returns the releases that the fields select. A handler's error is returned instead.
func (l *List) RunWithContext(ctx context.Context) ([]*release.Release, error) {
	r := &lifecycle.Request{}
	if err := lifecycle.Emit(ctx, l.Lifecycle, lifecycle.PreList, r); err != nil {
		return nil, err
	}
	read := l.List.Run
	if l.MetadataOnly {
		read = func() ([]*release.Release, error) { return l.withoutPayload(ctx) }
	}
	found, err := read()
	if err != nil {
		return found, err
	}
	r.Releases = found
	return found, lifecycle.Emit(ctx, l.Lifecycle, lifecycle.PostList, r)
}

func (l *List) withoutPayload(ctx context.Context) ([]*release.Release, error) {
	bare := *l.cfg
	bare.Releases = releaselist.WithoutPayload(ctx, l.cfg.Releases)
	return withFields(helmaction.NewList(&bare), l.List).Run()
}
