// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"runtime/debug"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
)

// setVersions sets, in c, the version of Helm and the version of Kubernetes for which charts are
// rendered without a cluster, as "make build" does with the linker. It takes them from the
// modules that the program was built from, so that "go install" builds the same program. info can
// be nil.
func setVersions(c *chartutil.Capabilities, info *debug.BuildInfo) {
	if info == nil {
		return
	}
	for _, module := range info.Deps {
		switch module.Path {
		case "helm.sh/helm/v3":
			c.HelmVersion.Version = module.Version
		case "k8s.io/client-go":
			// client-go v0.37.1 is for Kubernetes 1.37.
			if parts := strings.Split(module.Version, "."); len(parts) > 2 && parts[0] == "v0" {
				c.KubeVersion = chartutil.KubeVersion{Version: fmt.Sprintf("v1.%s.0", parts[1]), Major: "1", Minor: parts[1]}
			}
		}
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			c.HelmVersion.GitCommit = setting.Value
		case "vcs.modified":
			c.HelmVersion.GitTreeState = map[string]string{"true": "dirty", "false": "clean"}[setting.Value]
		}
	}
}
