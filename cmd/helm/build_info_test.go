// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime/debug"
	"testing"

	"helm.sh/helm/v3/pkg/chartutil"
)

// TestSetVersions checks which versions a program assumes that was built without the Makefile.
func TestSetVersions(t *testing.T) {
	modules := []*debug.Module{{Path: "helm.sh/helm/v3", Version: "v3.22.1"}, {Path: "k8s.io/client-go", Version: "v0.37.2"}, {Path: "k8s.io/api", Version: "v0.36.0"}}
	for _, tt := range []struct {
		name string
		info *debug.BuildInfo
		want string // the versions of Helm and Kubernetes, the commit and its state
	}{
		{"go install", &debug.BuildInfo{Deps: modules}, "v3.22.1 v1.37.0 1 37  "},
		{"go build in a repository", &debug.BuildInfo{Deps: modules, Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "0a1b"}, {Key: "vcs.modified", Value: "true"}}},
			"v3.22.1 v1.37.0 1 37 0a1b dirty"},
		{"an unknown version", &debug.BuildInfo{Deps: []*debug.Module{{Path: "k8s.io/client-go", Version: "(devel)"}}}, "v3 v1.20.0 1 20  "},
		{"no information", nil, "v3 v1.20.0 1 20  "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &chartutil.Capabilities{KubeVersion: chartutil.KubeVersion{Version: "v1.20.0", Major: "1", Minor: "20"}}
			c.HelmVersion.Version = "v3"
			setVersions(c, tt.info)
			k, h := c.KubeVersion, c.HelmVersion
			if got := h.Version + " " + k.Version + " " + k.Major + " " + k.Minor + " " + h.GitCommit + " " + h.GitTreeState; got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
