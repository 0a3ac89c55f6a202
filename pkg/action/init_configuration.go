// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"os"
	"sync"

	"helm.sh/helm/v3/pkg/kube"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/kubernetes"

	"github.com/ordered-helm/helm/internal/releasestorage"
)

// InitConfiguration prepares cfg for a cluster, like Helm's method Configuration.Init, which
// has the same parameters. In addition, updates of stored releases keep the fields of other
// versions of Helm ("The order record" in docs/reference.md). It sends no requests, unless
// helmDriver, the value of HELM_DRIVER, is "sql". It returns an error if helmDriver is unknown,
// or if the SQL database cannot be reached.
func InitConfiguration(cfg *Configuration, getter genericclioptions.RESTClientGetter, namespace, helmDriver string, log DebugLog) error {
	if err := cfg.Init(getter, namespace, helmDriver, log); err != nil {
		return err
	}
	cfg.Releases = releasestorage.PreserveUnknownFields(cfg.Releases, releasestorage.Options{
		Namespace: namespace,
		Connect: sync.OnceValues(func() (kubernetes.Interface, error) {
			return kube.New(getter).Factory.KubernetesClientSet()
		}),
		ConnectionString: os.Getenv("HELM_DRIVER_SQL_CONNECTION_STRING"),
		Log:              log,
	})
	return nil
}
