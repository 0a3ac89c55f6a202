// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package storagedriver opens the storage drivers that HELM_DRIVER selects (docs/reference.md, "Storage drivers").
package storagedriver

import (
	"os"
	"sync"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/storage"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/internal/chunkedsecret"
	"github.com/ordered-helm/helm/internal/crdstorage"
	"github.com/ordered-helm/helm/internal/releasestorage"
)

// Names of the storage drivers that keep releases when the process ends, as the values of HELM_DRIVER.
const (
	Secret        = "secret"
	ConfigMap     = "configmap"
	SQL           = "sql"
	CRD           = crdstorage.DriverName
	ChunkedSecret = chunkedsecret.DriverName
)

// Names returns the names above, sorted.
func Names() []string { return []string{ChunkedSecret, ConfigMap, CRD, Secret, SQL} }

// Normalize returns the name above that a value of HELM_DRIVER means; another value is returned as it is.
func Normalize(value string) string {
	switch value {
	case "", "secrets":
		return Secret
	case "configmaps":
		return ConfigMap
	}
	return value
}

// Options says which driver to open, and how.
type Options struct {
	// Driver is the value of HELM_DRIVER.
	Driver string
	Getter genericclioptions.RESTClientGetter
	// Namespace is the namespace of the releases; empty means all namespaces.
	Namespace string
	// Migration says that releases are moved to the driver or from it, so that it returns placeholders instead of errors.
	Migration bool
	// Log is called with a format and arguments, like fmt.Printf.
	Log func(string, ...any)
}

// Init initializes cfg like Helm's method Configuration.Init, but with all storage drivers. It sends no requests, unless
// the driver is sql.
func Init(cfg *helmaction.Configuration, o Options) error {
	name := o.Driver
	if name == ChunkedSecret || name == CRD {
		name = Secret // Helm does not know the driver; its storage is replaced below
	}
	if err := cfg.Init(o.Getter, o.Namespace, name, o.Log); err != nil {
		return err
	}
	releases := releasestorage.Options{
		Namespace: o.Namespace, ConnectionString: os.Getenv("HELM_DRIVER_SQL_CONNECTION_STRING"), ReadPlaceholders: o.Migration, Log: o.Log,
		Connect: sync.OnceValues(func() (kubernetes.Interface, error) {
			return kube.New(o.Getter).Factory.KubernetesClientSet()
		}),
	}
	switch o.Driver {
	case CRD:
		cfg.Releases = storage.Init(openObjects(o))
	case ChunkedSecret:
		cfg.Releases = storage.Init(chunkedsecret.New(releases))
	default:
		cfg.Releases = releasestorage.PreserveUnknownFields(cfg.Releases, releases)
	}
	return nil
}

// openObjects returns the storage driver that stores releases as objects.
func openObjects(o Options) *crdstorage.Driver {
	return crdstorage.New(crdstorage.Options{
		Namespace: o.Namespace,
		Connect: func() (kubernetes.Interface, dynamic.Interface, error) {
			factory := kube.New(o.Getter).Factory
			client, err := factory.KubernetesClientSet()
			if err != nil {
				return nil, nil, err
			}
			objects, err := factory.DynamicClient()
			return client, objects, err
		},
		Migration:   o.Migration,
		OwnsObjects: os.Getenv("HELM_OWNER_REFERENCES") != "false",
		Log:         o.Log,
	})
}
