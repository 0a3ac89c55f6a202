// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package releasequery contains the actions of Helm that read stored releases, such as Get and History. They read only
// what each of them needs, if the storage driver can read parts of releases.
package releasequery

import (
	"context"
	"reflect"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/history"
)

// Get reads a stored release (helm get). It is like Helm's Get, but to find the latest revision,
// it reads no other one, if the storage driver is "crd" or "chunked-secret".
type Get struct {
	*helmaction.Get
	cfg *helmaction.Configuration
}

// NewGet returns a Get with Helm's defaults.
func NewGet(cfg *helmaction.Configuration) *Get { return &Get{Get: helmaction.NewGet(cfg), cfg: cfg} }

// Run is like RunWithContext with a context that is never canceled.
func (g *Get) Run(name string) (*release.Release, error) {
	return g.RunWithContext(context.Background(), name) //nolint:forbidigo // the signature is Helm's
}

// RunWithContext returns the revision in the field Version of the release with the given name, or
// the latest revision if Version is 0.
func (g *Get) RunWithContext(ctx context.Context, name string) (*release.Release, error) {
	return withFields(helmaction.NewGet(readsNewestAlone(ctx, g.cfg)), g.Get).Run(name)
}

// GetMetadata reads the metadata of a stored release (helm get metadata). It is like Helm's
// GetMetadata, and reads the latest revision as Get does.
type GetMetadata struct {
	*helmaction.GetMetadata
	cfg *helmaction.Configuration
}

// NewGetMetadata returns a GetMetadata with Helm's defaults.
func NewGetMetadata(cfg *helmaction.Configuration) *GetMetadata {
	return &GetMetadata{GetMetadata: helmaction.NewGetMetadata(cfg), cfg: cfg}
}

// Run is like RunWithContext with a context that is never canceled.
func (g *GetMetadata) Run(name string) (*helmaction.Metadata, error) {
	return g.RunWithContext(context.Background(), name) //nolint:forbidigo // the signature is Helm's
}

// RunWithContext returns the metadata of the revision that Get.RunWithContext would return.
func (g *GetMetadata) RunWithContext(ctx context.Context, name string) (*helmaction.Metadata, error) {
	return withFields(helmaction.NewGetMetadata(readsNewestAlone(ctx, g.cfg)), g.GetMetadata).Run(name)
}

// GetValues reads the values of a stored release (helm get values). It is like Helm's GetValues,
// and reads the latest revision as Get does.
type GetValues struct {
	*helmaction.GetValues
	cfg *helmaction.Configuration
}

// NewGetValues returns a GetValues with Helm's defaults.
func NewGetValues(cfg *helmaction.Configuration) *GetValues {
	return &GetValues{GetValues: helmaction.NewGetValues(cfg), cfg: cfg}
}

// Run is like RunWithContext with a context that is never canceled.
func (g *GetValues) Run(name string) (map[string]any, error) {
	return g.RunWithContext(context.Background(), name) //nolint:forbidigo // the signature is Helm's
}

// RunWithContext returns the values of the revision that Get.RunWithContext would return.
func (g *GetValues) RunWithContext(ctx context.Context, name string) (map[string]any, error) {
	return withFields(helmaction.NewGetValues(readsNewestAlone(ctx, g.cfg)), g.GetValues).Run(name)
}

// Status reads a stored release and, if ShowResources is set, its objects in the cluster (helm
// status). It is like Helm's Status, and reads the latest revision as Get does.
type Status struct {
	*helmaction.Status
	cfg *helmaction.Configuration
}

// NewStatus returns a Status with Helm's defaults.
func NewStatus(cfg *helmaction.Configuration) *Status {
	return &Status{Status: helmaction.NewStatus(cfg), cfg: cfg}
}

// Run is like RunWithContext with a context that is never canceled.
func (s *Status) Run(name string) (*release.Release, error) {
	return s.RunWithContext(context.Background(), name) //nolint:forbidigo // the signature is Helm's
}

// RunWithContext returns the revision that Get.RunWithContext would return.
func (s *Status) RunWithContext(ctx context.Context, name string) (*release.Release, error) {
	return withFields(helmaction.NewStatus(readsNewestAlone(ctx, s.cfg)), s.Status).Run(name)
}

// readsNewestAlone returns a copy of cfg for actions of Helm that read one revision of a release:
// to read the latest one, they read no other revision, if the storage driver allows it.
func readsNewestAlone(ctx context.Context, cfg *helmaction.Configuration) *helmaction.Configuration {
	alone := *cfg
	alone.Releases = history.ReadsNewestAlone(ctx, cfg.Releases)
	return &alone
}

// withFields sets the exported fields of to, a new action of Helm, to those of from. It returns to.
func withFields[T any](to, from *T) *T {
	target, source := reflect.ValueOf(to).Elem(), reflect.ValueOf(from).Elem()
	for i := range target.NumField() {
		if target.Type().Field(i).IsExported() {
			target.Field(i).Set(source.Field(i))
		}
	}
	return to
}
