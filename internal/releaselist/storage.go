// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package releaselist reads stored releases for a list of them. It decodes only what such a list
// shows, and uses all processors, while Helm's storage drivers decode one complete release after
// the other. It sends the same requests as Helm's drivers, and finds the same releases.
package releaselist

import (
	"context"
	"slices"

	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/internal/chunkedsecret"
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
	if d, reads := helm.Driver.(headReader); reads {
		return storage.Init(&listDriver{Driver: helm.Driver, list: func(filter func(*release.Release) bool) ([]*release.Release, error) {
			heads, err := d.Heads(ctx, "")
			return slices.DeleteFunc(heads, func(rel *release.Release) bool { return !filter(rel) }), err
		}})
	}
	switch helm.Name() {
	case driver.SecretsDriverName, chunkedsecret.DriverName:
		read = readSecrets
	case driver.ConfigMapsDriverName:
		read = readConfigMaps
	default:
		return helm
	}
	return storage.Init(&listDriver{Driver: helm.Driver, list: func(filter func(*release.Release) bool) ([]*release.Release, error) {
		stored, err := read(ctx, opts)
		if err != nil {
			return nil, err
		}
		return decodeAll(stored, filter, opts.Log), nil
	}})
}

// headReader is a storage driver that can read releases without hooks, manifests and values. An empty name means
// all releases.
type headReader interface {
	Heads(ctx context.Context, name string) ([]*release.Release, error)
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
