// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"fmt"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/client-go/discovery"
)

// capabilities returns the version of the cluster and the API versions that it supports. It
// sends requests only in the first call for a Configuration.
func capabilities(cfg *helmaction.Configuration) (*chartutil.Capabilities, error) {
	if cfg.Capabilities != nil {
		return cfg.Capabilities, nil
	}
	dc, err := cfg.RESTClientGetter.ToDiscoveryClient()
	if err != nil {
		return nil, fmt.Errorf("could not get Kubernetes discovery client: %w", err)
	}
	dc.Invalidate() // the cache on disk may be outdated
	version, err := dc.ServerVersion()
	if err != nil {
		return nil, fmt.Errorf("could not get server version from Kubernetes: %w", err)
	}
	apis, err := helmaction.GetVersionSet(dc)
	if err != nil {
		if !discovery.IsGroupDiscoveryFailedError(err) {
			return nil, fmt.Errorf("could not get apiVersions from Kubernetes: %w", err)
		}
		cfg.Log("WARNING: The Kubernetes server has an orphaned API service. Server reports: %s", err)
		cfg.Log("WARNING: To fix this, kubectl delete apiservice <service-name>")
	}
	cfg.Capabilities = &chartutil.Capabilities{
		APIVersions: apis,
		KubeVersion: chartutil.KubeVersion{
			Version: version.GitVersion, Major: version.Major, Minor: version.Minor,
		},
		HelmVersion: chartutil.DefaultCapabilities.HelmVersion,
	}
	return cfg.Capabilities, nil
}
