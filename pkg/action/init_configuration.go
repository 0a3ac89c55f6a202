// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"k8s.io/cli-runtime/pkg/genericclioptions"

	"github.com/ordered-helm/helm/internal/storagedriver"
)

// InitConfiguration prepares cfg for a cluster, like Helm's method Configuration.Init, which
// has the same parameters. In addition to Helm's storage drivers, helmDriver, the value of
// HELM_DRIVER, can be "crd" or "chunked-secret" ("Storage drivers" in docs/reference.md), and
// updates of stored releases keep the fields of other versions of Helm ("The order record"
// there). It sends no requests, unless helmDriver is "sql". It returns an error if helmDriver is
// unknown, or if the SQL database cannot be reached.
func InitConfiguration(cfg *Configuration, getter genericclioptions.RESTClientGetter, namespace, helmDriver string, log DebugLog) error {
	return storagedriver.Init(cfg, storagedriver.Options{Driver: helmDriver, Getter: getter, Namespace: namespace, Log: log})
}
