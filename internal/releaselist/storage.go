// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package releaselist reads stored releases for a list of them. It decodes only what such a list
// shows, and uses all processors, while Helm's storage drivers decode one complete release after
// the other. It sends the same requests as Helm's drivers, and finds the same releases.
package releaselist

import (
	"context"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/internal/chunkedsecret"
	"github.com/ordered-helm/helm/internal/releaseparts"
)

// Options says where releases are stored, and how to connect.
type Options struct {
	// Namespace is the namespace of the releases; empty means all namespaces.
	Namespace string
	// Connect returns a client for the cluster. It is called when releases are listed.
	Connect func() (kubernetes.Interface, error)
	// Log is called with a format and arguments, like fmt.Printf.
	Log func(string, ...any)
}

// NewStorage returns a storage that lists the same releases as helm, but faster. The listed
// releases have no hooks, manifests and values, and their charts have nothing but metadata.
// Requests end with ctx. All other methods are those of helm. If the driver of helm stores
// releases neither in Secrets nor in ConfigMaps, and cannot read parts of them, NewStorage
// returns helm.
func NewStorage(ctx context.Context, helm *storage.Storage, opts Options) *storage.Storage {
	var read readFunc
	switch helm.Name() {
	case driver.SecretsDriverName, chunkedsecret.DriverName:
		read = readSecrets
	case driver.ConfigMapsDriverName:
		read = readConfigMaps
	default:
		return WithoutPayload(ctx, helm)
	}
	return storage.Init(&listDriver{Driver: helm.Driver, list: func(filter func(*release.Release) bool) ([]*release.Release, error) {
		stored, err := read(ctx, opts)
		if err != nil {
			return nil, err
		}
		return decodeAll(stored, filter, opts.Log), nil
	}})
}

// revisionReader is a storage driver that can read revisions without hooks, manifests and values. An empty name
// means all releases.
type revisionReader interface {
	Revisions(ctx context.Context, name string) ([]releaseparts.Revision, error)
}

// WithoutPayload returns a storage that lists releases as that of NewStorage does, if the driver of helm can read
// parts of releases. Otherwise, it returns helm.
func WithoutPayload(ctx context.Context, helm *storage.Storage) *storage.Storage {
	d, reads := helm.Driver.(revisionReader)
	if !reads || helm.Name() == chunkedsecret.DriverName { // its revisionReader cannot read all releases
		return helm
	}
	return storage.Init(&listDriver{Driver: helm.Driver, list: func(filter func(*release.Release) bool) ([]*release.Release, error) {
		return listRevisions(ctx, d, filter)
	}})
}

// listRevisions returns the revisions of all releases that the filter accepts.
func listRevisions(ctx context.Context, d revisionReader, filter func(*release.Release) bool) ([]*release.Release, error) {
	revisions, err := d.Revisions(ctx, "")
	var accepted []*release.Release
	for _, r := range revisions {
		if filter(r.Release) {
			accepted = append(accepted, r.Release)
		}
	}
	return accepted, err
}

// listDriver is one of Helm's storage drivers with another method List.
type listDriver struct {
	driver.Driver
	list func(filter func(*release.Release) bool) ([]*release.Release, error)
}

// List implements driver.Queryor.
func (d *listDriver) List(filter func(*release.Release) bool) ([]*release.Release, error) {
	return d.list(filter)
}
