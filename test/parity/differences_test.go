// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import "testing"

// TestDifferences holds what differs from stock on purpose: these lines, and no
// others. docs/differences.md says why.
func TestDifferences(t *testing.T) {
	runScenarios(t, []scenario{
		{name: "unknown storage driver", noCluster: true, env: []string{"HELM_DRIVER=papyrus"},
			steps: []step{helm("list")}, differs: []string{
				"- x",
			}},
		{name: "memory driver without data", noCluster: true, env: []string{"HELM_DRIVER=memory"},
			steps: []step{helm("list")}, differs: []string{
				"- x",
			}},
		{name: "memory driver with a file that is not there", noCluster: true, env: []string{"HELM_DRIVER=memory", "HELM_MEMORY_DRIVER_DATA=none"},
			steps: []step{helm("list")}, differs: []string{
				"- x",
			}},
		{name: "broken registry configuration", noCluster: true,
			steps: []step{write{"bad.json", "{"}, helm("version --registry-config bad.json")}, differs: []string{
				"- x",
			}},
		{name: "incubator repository alone", noCluster: true,
			steps: []step{
				write{"repositories.yaml", "apiVersion: v1\nrepositories:\n- name: incubator\n  url: https://kubernetes-charts-incubator.storage.googleapis.com\n"},
				helm("template web charts/tiny --repository-config repositories.yaml"),
			}, differs: []string{
				"- x",
			}},
		{name: "wait spelled wrong", noCluster: true,
			steps: []step{helm("template web charts/tiny --wait=yes"), helm("uninstall web --wait=")}, differs: []string{
				"- x",
			}},
		{name: "output folder that is a file", noCluster: true,
			steps: []step{helm("template web charts/plain --output-dir values/first.yaml")}, differs: []string{
				"- x",
			}},
		{name: "resource policy delete",
			steps: []step{
				stockHelm("install web charts/keep --set policy=delete"),
				helm("uninstall web"),
				present(objectPath("configmaps", "web-other")),
				remove(objectPath("configmaps", "web-other")),
			}, differs: []string{
				"- x",
			}},
		{name: "resource policy that nobody knows",
			steps: []step{
				stockHelm("install web charts/keep --set policy=retain"),
				helm("uninstall web"),
				present(objectPath("configmaps", "web-other")),
			}, differs: []string{
				"- x",
			}},
		{name: "interrupted with a generated name",
			steps: []step{
				helm("install charts/never --generate-name --wait --timeout 60s").interrupted(sigterm, objectPath("configmaps", "never-")),
			}, differs: []string{
				"- x",
			}},
	})
}
