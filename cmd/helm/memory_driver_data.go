// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	kubefake "helm.sh/helm/v3/pkg/kube/fake"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"
	"sigs.k8s.io/yaml"
)

// loadMemoryReleases prepares a.config for the storage driver "memory". It stores the
// releases from the YAML files that $HELM_MEMORY_DRIVER_DATA lists, separated as in $PATH.
// As this driver needs no cluster, it replaces the Kubernetes client with one that does
// nothing.
func (a *app) loadMemoryReleases() error {
	memory, ok := a.config.Releases.Driver.(*driver.Memory)
	if !ok {
		return nil
	}
	a.config.KubeClient = &kubefake.PrintingKubeClient{Out: io.Discard, LogOutput: io.Discard}

	for _, path := range filepath.SplitList(os.Getenv("HELM_MEMORY_DRIVER_DATA")) {
		if err := a.loadMemoryFile(path); err != nil {
			return fmt.Errorf("HELM_MEMORY_DRIVER_DATA: %w", err)
		}
	}
	// Storing a release has switched the driver to the namespace of that release.
	memory.SetNamespace(a.settings.Namespace())
	return nil
}

func (a *app) loadMemoryFile(path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var releases []*release.Release
	if err := yaml.Unmarshal(data, &releases); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, rel := range releases {
		if err := a.config.Releases.Create(rel); err != nil {
			return fmt.Errorf("%s: release %q: %w", path, rel.Name, err)
		}
	}
	return nil
}
