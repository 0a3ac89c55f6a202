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
	// ReadPlaceholders makes the storage return the placeholders of other storage drivers, and of migrations, instead of
	// an error.
	ReadPlaceholders bool
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
		return opts.checked(secrets, "secret")
	case *driver.ConfigMaps:
		configMaps := driver.NewConfigMaps(newConfigMapClient(opts.Connect, opts.Namespace))
		configMaps.Log = opts.Log
		return opts.checked(configMaps, "configmap")
	case *driver.SQL:
		return opts.checked(&sqlDriver{SQL: d, connectionString: opts.ConnectionString, fields: newFieldCache()}, "sql")
	default:
		return helm
	}
}

// checked returns a storage that rejects releases which another driver stores. name is the value of HELM_DRIVER for d.
func (o Options) checked(d driver.Driver, name string) *storage.Storage {
	if o.ReadPlaceholders {
		return storage.Init(d)
	}
	return storage.Init(&checkedDriver{d, name})
}

// checkedDriver is a storage driver that rejects releases which another driver stores, or which are being moved to
// another one.
type checkedDriver struct {
	driver.Driver
	name string
}

// Get implements driver.Queryor. Its error can be one of those of placeholder.Check.
func (d *checkedDriver) Get(key string) (*release.Release, error) {
	rel, err := d.Driver.Get(key)
	if err == nil {
		err = placeholder.Check(rel, d.name)
	}
	if err != nil {
		return nil, err
	}
	return rel, nil
}

// Query implements driver.Queryor. Its errors are like those of Get.
func (d *checkedDriver) Query(labels map[string]string) ([]*release.Release, error) {
	list, err := d.Driver.Query(labels)
	if err != nil {
		return nil, err
	}
	for _, rel := range list {
		if err := placeholder.Check(rel, d.name); err != nil {
			return nil, err
		}
	}
	return list, nil
}
