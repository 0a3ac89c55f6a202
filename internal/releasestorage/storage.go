// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package releasestorage provides Helm's release storage, which keeps what other versions of
// Helm store. A release that Helm 4 has stored contains fields that Helm 3's type
// release.Release does not have, such as apply_method. Helm 3 loses them when it updates the
// status of the release; this storage keeps them. Releases without such fields are stored as
// by Helm 3.
package releasestorage

import (
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/internal/placeholder"
)

// Options says where releases are stored, and how to connect.
type Options struct {
	// Namespace is the namespace of the releases; empty means all namespaces.
	Namespace string
	// Connect returns a client for the cluster. It is called whenever the storage is used.
	Connect func() (kubernetes.Interface, error)
	// ConnectionString is the connection string for the SQL driver.
	ConnectionString string
	// Log is called with a format and arguments, like fmt.Printf.
	Log func(string, ...any)
}

// PreserveUnknownFields returns a storage that stores releases in the same place as helm, which
// Helm has created, and that keeps the fields of other versions of Helm. It returns helm if its
// driver loses nothing, because it does not encode releases.
func PreserveUnknownFields(helm *storage.Storage, opts Options) *storage.Storage {
	switch d := helm.Driver.(type) {
	case *driver.Secrets:
		secrets := driver.NewSecrets(newSecretClient(opts.Connect, opts.Namespace))
		secrets.Log = opts.Log
		return storage.Init(&secretsDriver{secrets})
	case *driver.ConfigMaps:
		configMaps := driver.NewConfigMaps(newConfigMapClient(opts.Connect, opts.Namespace))
		configMaps.Log = opts.Log
		return storage.Init(configMaps)
	case *driver.SQL:
		return storage.Init(&sqlDriver{SQL: d, connectionString: opts.ConnectionString, fields: newFieldCache()})
	default:
		return helm
	}
}

// secretsDriver is Helm's storage driver for Secrets, but rejects releases that another driver
// stores.
type secretsDriver struct{ *driver.Secrets }

// helmDriver is the value of HELM_DRIVER for Helm's storage driver for Secrets.
const helmDriver = "secret"

// Get implements driver.Queryor. If another driver stores the release, the error is a
// *placeholder.DriverError.
func (d *secretsDriver) Get(key string) (*release.Release, error) {
	rel, err := d.Secrets.Get(key)
	if err == nil {
		err = placeholder.Check(rel, helmDriver)
	}
	if err != nil {
		return nil, err
	}
	return rel, nil
}

// Query implements driver.Queryor. Its errors are like those of Get.
func (d *secretsDriver) Query(labels map[string]string) ([]*release.Release, error) {
	list, err := d.Secrets.Query(labels)
	if err != nil {
		return nil, err
	}
	for _, rel := range list {
		if err := placeholder.Check(rel, helmDriver); err != nil {
			return nil, err
		}
	}
	return list, nil
}
