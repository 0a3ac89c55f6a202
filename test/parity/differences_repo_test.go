// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package parity

import "net/http"

// repoDifferences returns the intentional differences from stock Helm in commands for
// repositories, searches, completion and new charts.
func repoDifferences() []scenario {
	ordered := []step{
		makeDir("ordered/templates"),
		writeFile{"ordered/Chart.yaml", "apiVersion: v3\nname: ordered\nversion: 1.0.0\nrunHooksInParallel: true\nannotations:\n  helm.sh/depends-on/subcharts: [db]\n  other: dropped\n"},
		writeFile{"ordered/templates/config.yaml", "name: <CHARTNAME>\n"},
	}
	return []scenario{
		{name: "index of charts with lists", noCluster: true,
			steps: steps(ordered, []step{packChart{"ordered", "out/ordered-1.0.0.tgz"}, helm("repo index out"), showFile("out/index.yaml"), removeFile("out/index.yaml")}), differs: []string{
				`- entries: {}`,
				`+ entries:`,
				`+   ordered:`,
				`+   - annotations:`,
				`+       helm.sh/depends-on/subcharts: '["db"]'`,
				`+       other: dropped`,
				`+     apiVersion: v3`,
				`+     created: "TIME"`,
				`+     digest: 4e54b14049decb3051fb69c8eee786fe795c13701e6a3f1a666c6a90ff508f37`,
				`+     name: ordered`,
				`+     urls:`,
				`+     - ordered-1.0.0.tgz`,
				`+     version: 1.0.0`,
			}},
		{name: "index of charts with lists, read by stock", noCluster: true,
			steps: steps(ordered, []step{
				packChart{"ordered", "out/ordered-1.0.0.tgz"}, helm("repo index out"), serveRepository{name: "OUT", folder: "out"},
				stockHelm("repo add out @OUT@"), stockHelm("search repo"), removeFile("out/index.yaml"), stockHelm("repo remove out"),
			}), differs: []string{
				`- No results found`,
				"+ NAME       \tCHART VERSION\tAPP VERSION\tDESCRIPTION",
				"+ out/ordered\t1.0.0        \t           \t           ",
			}},
		{name: "index of what is no chart", noCluster: true,
			steps: []step{makeDir("out/below"), writeFile{"out/a.tgz", "no archive"}, writeFile{"out/below/b.tgz", ""}, helm("repo index out")}, differs: []string{
				`+ WARNING: a.tgz is omitted from the index, because it cannot be loaded as a chart: file 'DIR/out/a.tgz' does not appear to be a gzipped archive; got 'application/octet-stream'`,
				`+ WARNING: below/b.tgz is omitted from the index, because it cannot be loaded as a chart: file 'DIR/out/below/b.tgz' does not appear to be a gzipped archive; got 'application/octet-stream'`,
			}},
		{name: "index merged into a folder that is not there", noCluster: true,
			steps: []step{makeDir("out"), helm("repo index out --merge nowhere/index.yaml")}, rules: []rule{temporaryFiles}, differs: []string{
				`+ WARNING: there is no index to merge, and creating an empty one failed: open nowhere/index.yamlN: no such file or directory`,
			}},
		{name: "starter with an order", noCluster: true,
			steps: steps(ordered, []step{helm("create web -p", "@DIR@/ordered")}), differs: []string{
				`- exit code 1`,
				`+ exit code 0`,
				`- Error: could not load DIR/ordered: cannot load Chart.yaml: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go struct field Metadata.annotations of type string`,
				`+ file web/Chart.yaml -rw-r--r--`,
				`+ annotations:`,
				`+   helm.sh/depends-on/subcharts: '["db"]'`,
				`+ apiVersion: v3`,
				`+ appVersion: 0.1.0`,
				`+ description: A Helm chart for Kubernetes`,
				`+ name: web`,
				`+ runHooksInParallel: true`,
				`+ type: application`,
				`+ version: 0.1.0`,
				`+ file web/templates/config.yaml -rw-r--r--`,
				`+ name: web`,
				`+ `,
				`+ `,
			}},
		{name: "hub that answers something else", noCluster: true, steps: []step{
			serveRepository{name: "HUB", folder: "repos/none"}, answerPath{"HUB", "/api/chartsvc/v1/charts/search", text(http.StatusOK, "<html>")},
			helm("search hub shop --endpoint @HUB@"),
		}, differs: []string{
			`- exit code 0`,
			`+ exit code 1`,
			`- No results found`,
			`+ Error: unable to perform search against "HUB"`,
		}},
		{name: "groups to impersonate", noCluster: true,
			steps: []step{helm("env HELM_KUBEASGROUPS --kube-as-group a --kube-as-group b")}, differs: []string{
				`- a,b,a,b`,
				`+ a,b`,
			}},
	}
}
