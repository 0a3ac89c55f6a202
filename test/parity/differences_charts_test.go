// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import (
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/chartserver"
	"github.com/ordered-helm/helm/test/ociregistry"
)

// exitCodes is a rule that keeps only the command lines and their exit codes.
var exitCodes = rule{
	name: "all but exit codes",
	why:  "what one of the programs did, the other did not get to",
	apply: func(s string) string {
		var kept strings.Builder
		for line := range strings.Lines(s) {
			if strings.HasPrefix(line, "$ ") || strings.HasPrefix(line, "exit code ") {
				kept.WriteString(line)
			}
		}
		return kept.String()
	},
}

// TestChartDifferences checks the intentional differences from stock Helm in the commands for
// charts. docs/differences.md explains them.
func TestChartDifferences(t *testing.T) {
	t.Parallel()
	server := chartserver.Start(t, publishCharts(t, "charts/tiny", "charts/plain"), chartserver.Options{})
	charts := "oci://" + ociregistry.Start(t, ociregistry.Options{}).Host() + "/charts"
	table := []scenario{
		{name: "fields that Helm does not know", steps: []step{
			helm("package charts/wide").ok(),
			helm("show chart charts/wide").ok(),
			needs([3]string{"wide", "0.1.0", "file://../wide"}),
			helm("dependency update charts/needy").ok(),
		}, differs: []string{
			`+ runHooksInParallel: true`, // show
			// This line is from the archive in the chart needy.
			`+ runHooksInParallel: true`,
			`+ team:`,
			`+   name: shop`,
			// This line is from wide-0.1.0.tgz.
			`+ runHooksInParallel: true`,
			`+ team:`,
			`+   name: shop`,
		}},
		{name: "an apiVersion that does not exist", steps: []step{
			writeFile{"charts/tiny/Chart.yaml", "apiVersion: v9\nname: tiny\nversion: 0.1.0\n"},
			helm("lint charts/tiny"),
		}, differs: []string{
			`- [ERROR] Chart.yaml: apiVersion 'v9' is not valid. The value must be either "v1" or "v2"`,
			`+ [ERROR] Chart.yaml: apiVersion 'v9' is not valid. The value must be "v1", "v2" or "v3"`,
		}},
		{name: "several dependencies in a repository that nobody added", steps: []step{
			needs([3]string{"tiny", "1.0.0", server.URL}, [3]string{"plain", "0.3.1", server.URL}),
			helm("dependency update charts/needy").ok(),
		}, differs: []string{
			`- ...Successfully got an update from the "` + server.URL + `" chart repository`,
		}},
	}
	runLocal(t, table, cachedNames)
	runScenarios(t, []scenario{{
		name: "upgrade that fetches from a registry", unchecked: true, rules: []rule{exitCodes}, steps: []step{
			writeBytes{"tiny-1.0.0.tgz", chartArchive(t, "tiny", "1.0.0")},
			helm("push tiny-1.0.0.tgz " + charts + " --plain-http").ok(),
			stockHelm("install web charts/tiny").ok(),
			needs([3]string{"tiny", "1.0.0", charts}),
			helm("upgrade web charts/needy --dependency-update --plain-http"),
		}, differs: []string{`- exit code 1`, `+ exit code 0`},
	}})
}
