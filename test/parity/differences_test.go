// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"slices"
	"testing"
)

// TestDifferences checks the intentional differences from stock Helm: exactly the listed lines
// must differ. docs/differences.md explains them.
func TestDifferences(t *testing.T) {
	t.Parallel()
	runScenarios(t, append(slices.Concat(lifecycleDifferences(), repoDifferences(), pluginDifferences(t)), []scenario{
		{name: "unknown storage driver", noCluster: true, env: []string{"HELM_DRIVER=papyrus"},
			steps: []step{helm("list")}, differs: []string{
				`- helm.go:83: unknown driver "papyrus"`,
				`+ Error: unknown driver "papyrus"`,
			}},
		{name: "database that does not answer", noCluster: true,
			env:   []string{"HELM_DRIVER=sql", "HELM_DRIVER_SQL_CONNECTION_STRING=postgres://ada@127.0.0.1:1/releases?sslmode=disable"},
			steps: []step{helm("list")}, differs: []string{
				`- helm.go:83: unable to instantiate SQL driver: dial tcp 127.0.0.1:1: connect: connection refused`,
				`+ Error: unable to instantiate SQL driver: dial tcp 127.0.0.1:1: connect: connection refused`,
			}},
		{name: "memory driver without data", noCluster: true, env: []string{"HELM_DRIVER=memory"},
			steps: []step{helm("list")}, differs: []string{
				`- exit code 1`,
				`+ exit code 0`,
				"+ NAME\tNAMESPACE\tREVISION\tUPDATED\tSTATUS\tCHART\tAPP VERSION",
				`- helm.go:122: Unable to read memory driver dataopen : no such file or directory`,
			}},
		{name: "memory driver with a file that is not there", noCluster: true, env: []string{"HELM_DRIVER=memory", "HELM_MEMORY_DRIVER_DATA=none"},
			steps: []step{helm("list")}, differs: []string{
				`- helm.go:122: Unable to read memory driver dataopen none: no such file or directory`,
				`+ Error: HELM_MEMORY_DRIVER_DATA: open none: no such file or directory`,
			}},
		{name: "broken registry configuration", noCluster: true,
			steps: []step{writeFile{"bad.json", "{"}, helm("version --registry-config bad.json")}, differs: []string{
				`- WARNING: failed to decode config file bad.json: invalid config format: unexpected EOF`,
				`+ Error: failed to decode config file bad.json: invalid config format: unexpected EOF`,
			}},
		{name: "incubator repository alone", noCluster: true,
			steps: []step{
				writeFile{"repositories.yaml", "apiVersion: v1\nrepositories:\n- name: incubator\n  url: https://kubernetes-charts-incubator.storage.googleapis.com\n"},
				helm("template web charts/tiny --repository-config repositories.yaml"),
			}, differs: []string{
				`+ WARNING: "kubernetes-charts-incubator.storage.googleapis.com" is deprecated for "incubator" and will be deleted Nov. 13, 2020.`,
				`+ WARNING: You should switch to "https://charts.helm.sh/incubator" via:`,
				`+ WARNING: helm repo add "incubator" "https://charts.helm.sh/incubator" --force-update`,
			}},
		{name: "wait spelled wrong", noCluster: true,
			steps: []step{helm("template web charts/tiny --wait=yes"), helm("uninstall web --wait=")}, differs: []string{
				`- Error: invalid argument "yes" for "--wait" flag: strconv.ParseBool: parsing "yes": invalid syntax`,
				`+ Error: invalid argument "yes" for "--wait" flag: must be true, false or ordered, not "yes"`,
				`- Error: invalid argument "" for "--wait" flag: strconv.ParseBool: parsing "": invalid syntax`,
				`+ Error: invalid argument "" for "--wait" flag: must be true, false or ordered, not ""`,
			}},
		{name: "output folder that is a file", noCluster: true,
			steps: []step{helm("template web charts/plain --output-dir values/first.yaml")}, differs: []string{
				`- Error: stat values/first.yaml/plain/templates: not a directory`,
				`+ Error: mkdir values/first.yaml: not a directory`,
			}},
		{name: "resource policy delete",
			steps: []step{
				stockHelm("install web charts/keep --set policy=delete"),
				helm("uninstall web"),
				checkObject(objectPath("configmaps", "web-other")),
				deleteObject(objectPath("configmaps", "web-other")),
			}, differs: []string{
				`- GET /api/v1/namespaces/@NAMESPACE@/configmaps/web-other: 200`,
				`+ GET /api/v1/namespaces/@NAMESPACE@/configmaps/web-other: 404`,
			}},
		{name: "resource policy that nobody knows",
			steps: []step{
				stockHelm("install web charts/keep --set policy=retain"),
				helm("uninstall web"),
				checkObject(objectPath("configmaps", "web-other")),
			}, differs: []string{
				`+ [ConfigMap] web-other`,
			}},
		{name: "wait for what never comes", rules: []rule{podNames},
			steps: []step{helm("install web charts/never --wait --timeout 5s"), helm("status web --show-desc")}, differs: []string{
				`- Error: INSTALLATION FAILED: context deadline exceeded`,
				`+ Error: INSTALLATION FAILED: Deployment/web was not ready within 5s: Pod NAMESPACE/web-POD container main: Unhealthy: Readiness probe failed: annotation devcluster/pod is "never"`,
				`+   Deployment/web: Available: 0/1`,
				`+     Pod NAMESPACE/web-POD container main:`,
				`+       | container main of pod NAMESPACE/web-POD`,
				`+     to allow more time, increase --timeout`,
				`- DESCRIPTION: Release "web" failed: context deadline exceeded`,
				`+ DESCRIPTION: Release "web" failed: Deployment/web was not ready within 5s: Pod NAMESPACE/web-POD container main: Unhealthy: Readiness probe failed: annotation devcluster/pod is "never"`,
				`-         "description": "Release \"web\" failed: context deadline exceeded",`,
				`+         "description": "Release \"web\" failed: Deployment/web was not ready within 5s: Pod NAMESPACE/web-POD container main: Unhealthy: Readiness probe failed: annotation devcluster/pod is \"never\"",`,
			}},
		{name: "atomic and what never comes", rules: []rule{podNames},
			steps: []step{helm("install web charts/never --atomic --timeout 5s"), helm("list -a -q")}, differs: []string{
				`- Error: INSTALLATION FAILED: release web failed, and has been uninstalled due to atomic being set: context deadline exceeded`,
				`+ WARNING: --atomic: uninstalling the failed release web; cause of the failure: Deployment/web was not ready within 5s: Pod NAMESPACE/web-POD container main: Unhealthy: Readiness probe failed: annotation devcluster/pod is "never"`,
				`+ Error: INSTALLATION FAILED: release web failed, and has been uninstalled due to atomic being set: Deployment/web was not ready within 5s: Pod NAMESPACE/web-POD container main: Unhealthy: Readiness probe failed: annotation devcluster/pod is "never"`,
				`+   Deployment/web: Available: 0/1`,
				`+     Pod NAMESPACE/web-POD container main:`,
				`+       | container main of pod NAMESPACE/web-POD`,
				`+     to allow more time, increase --timeout`,
			}},
		{name: "hook that fails", hookReasons: true,
			rules: []rule{pattern("pod of a Job", "controllers choose the suffix of its name at random", `(web-prepare)-[a-z0-9]{5}`, "$1-POD")},
			steps: []step{helm("install web charts/hooks --set fail=prepare")}, differs: []string{
				`+   Job/web-prepare (hooks/templates/hooks.yaml) failed: Job has reached the specified backoff limit`,
				`+     Pod NAMESPACE/web-prepare-POD container main: Error: exited with code 1`,
				`+       | log of prepare`,
				`+ hooks skipped (blocked by this failure): ConfigMap/web-aa-first, Secret/web-zz-last`,
			}},
		{name: "interrupted without a name",
			steps: []step{
				helm("install charts/never --name-template made --wait --timeout 60s").interrupted(sigterm, deploymentPath("made")),
			}, differs: []string{
				`- Release charts/never has been cancelled.`,
				`+ Release made has been cancelled.`,
			}},
	}...))
}
