// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"context"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/lifecycle"
)

// List lists releases (helm list). It has every field of Helm's List, with the same meaning.
type List struct {
	*helmaction.List

	// Lifecycle contains handlers of the events pre-list and post-list; nil if there are none
	// (docs/reference.md, "Lifecycle events").
	Lifecycle *lifecycle.Emitter
}

// NewList returns a List with Helm's defaults.
func NewList(cfg *Configuration) *List { return &List{List: helmaction.NewList(cfg)} }

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
	found, err := l.List.Run()
	if err != nil {
		return found, err
	}
	r.Releases = found
	return found, lifecycle.Emit(ctx, l.Lifecycle, lifecycle.PostList, r)
}
