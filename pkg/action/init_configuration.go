// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"os"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/storage"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/internal/chunkedsecret"
	"github.com/ordered-helm/helm/internal/crdstorage"
	"github.com/ordered-helm/helm/internal/releasestorage"
)

// InitConfiguration prepares cfg for a cluster, like Helm's method Configuration.Init, which
// has the same parameters. In addition to Helm's storage drivers, helmDriver, the value of
// HELM_DRIVER, can be "crd" or "chunked-secret" ("Storage drivers" in docs/reference.md), and
// updates of stored releases keep the fields of other versions of Helm ("The order record"
// there). It sends no requests, unless helmDriver is "sql". It returns an error if helmDriver is
// unknown, or if the SQL database cannot be reached.
func InitConfiguration(cfg *Configuration, getter genericclioptions.RESTClientGetter, namespace, helmDriver string, log DebugLog) error {
	name := helmDriver
	if name == chunkedsecret.DriverName || name == crdstorage.DriverName {
		name = "secret" // Helm does not know the driver; its storage is replaced below
	}
	if err := cfg.Init(getter, namespace, name, log); err != nil {
		return err
	}
	options := releasestorage.Options{
		Namespace: namespace,
		Connect: sync.OnceValues(func() (kubernetes.Interface, error) {
			return kube.New(getter).Factory.KubernetesClientSet()
		}),
		ConnectionString: os.Getenv("HELM_DRIVER_SQL_CONNECTION_STRING"),
		Log:              log,
	}
	switch helmDriver {
	case crdstorage.DriverName:
		cfg.Releases = storage.Init(newObjectStorage(getter, namespace, log))
	case chunkedsecret.DriverName:
		cfg.Releases = storage.Init(chunkedsecret.New(options))
	default:
		cfg.Releases = releasestorage.PreserveUnknownFields(cfg.Releases, options)
	}
	return nil
}

// newObjectStorage returns the storage driver that stores releases as objects.
func newObjectStorage(getter genericclioptions.RESTClientGetter, namespace string, log DebugLog) *crdstorage.Driver {
	return crdstorage.New(crdstorage.Options{
		Namespace: namespace,
		Connect: func() (kubernetes.Interface, dynamic.Interface, error) {
			factory := kube.New(getter).Factory
			client, err := factory.KubernetesClientSet()
			if err != nil {
				return nil, nil, err
			}
			objects, err := factory.DynamicClient()
			return client, objects, err
		},
		OwnsObjects: os.Getenv("HELM_OWNER_REFERENCES") != "false",
		Log:         log,
	})
}
