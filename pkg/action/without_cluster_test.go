// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package action

import (
	"errors"
	"io"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	kubefake "helm.sh/helm/v3/pkg/kube/fake"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
)

// TestOrderedInstallWithoutCluster installs with a Kubernetes client that is not Helm's and
// has no cluster to watch. The wait for objects is delegated to this client.
func TestOrderedInstallWithoutCluster(t *testing.T) {
	notReady := errors.New("it is not ready")
	for name, layers := range map[string]string{
		"a node that others depend on": "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: b, annotations: {helm.sh/layer: b, depends-on.helm.sh/layers: a}}\n",
		"a leaf":                       "",
	} {
		t.Run(name, func(t *testing.T) {
			cfg := &Configuration{
				Releases: storage.Init(driver.NewMemory()), Capabilities: chartutil.DefaultCapabilities, Log: t.Logf,
				KubeClient: &kubefake.FailingKubeClient{PrintingKubeClient: kubefake.PrintingKubeClient{Out: io.Discard}, WaitError: notReady},
			}
			install := NewInstall(cfg)
			install.ReleaseName, install.Namespace, install.WaitStrategy = "rel", "default", WaitStrategyOrdered
			rel, err := install.RunWithContext(t.Context(), &chart.Chart{
				Metadata: &chart.Metadata{APIVersion: "v3", Name: "app", Version: "0.1.0"},
				Templates: []*chart.File{{Name: "templates/all.yaml", Data: []byte(
					"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, annotations: {helm.sh/layer: a}}\n" + layers)}},
			}, nil)
			if !errors.Is(err, notReady) || rel == nil || rel.Info.Status != release.StatusFailed {
				t.Errorf("got %v, %v", rel, err)
			}
		})
	}
}
