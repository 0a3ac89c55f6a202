// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"math/rand/v2"
	"strings"

	"github.com/ordered-helm/helm/internal/testutil/chartgen"
)

// richChart returns a random chart with additional subcharts: charts with every feature
// that a plan can contain, charts that are included twice under different aliases, charts
// that tags disable, and charts that are not declared as dependencies.
func richChart(r *rand.Rand) tree {
	files := tree{}
	for _, f := range chartgen.Random(r).Files(r) {
		files[f.Name] = string(f.Data)
	}
	if !strings.Contains(files["Chart.yaml"], "dependencies:\n") {
		files["Chart.yaml"] += "dependencies:\n"
	}
	after := []string{"", ", depends-on: one", ", depends-on: [lit]"}[r.IntN(3)]
	files["Chart.yaml"] += `- {name: rich, version: 1.0.0, alias: one, tags: [lit]}
- {name: rich, version: 1.0.0, alias: two, tags: [other]` + after + `}
- {name: gone, version: 1.0.0, tags: [unlit]}
- {name: kept, version: 1.0.0, tags: [unlit, lit], condition: nothing.here}
- {name: nowhere, version: 1.0.0, tags: [unlit], alias: never}
`
	files["values.yaml"] = strings.Replace(files["values.yaml"], "{", `{"tags": {"lit": true, "unlit": false},`, 1)
	files["values.yaml"] = strings.Replace(files["values.yaml"], ",}", "}", 1)
	for _, name := range []string{"gone", "kept", "undeclared"} {
		files["charts/"+name+"/Chart.yaml"] = chartYAML(name, "")
		files["charts/"+name+"/templates/x.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + "}\n"
	}
	for name, text := range richFiles(r) {
		files["charts/rich/"+name] = text
	}
	return files
}

// richFiles returns the files of the chart that is included twice. It can contain a
// subchart with an alias, which Helm does not apply in the second copy.
func richFiles(r *rand.Rand) tree {
	version := []string{"apiVersion: v3\n", "apiVersion: v2\nannotations: {helm.sh/sequencing: enabled}\n", "apiVersion: v2\n"}[r.IntN(3)]
	inner := []string{
		"- {name: inner, version: 1.0.0}", "- {name: inner, version: 1.0.0, alias: once, tags: [inner-alias]}",
		"- {name: inner, version: 1.0.0, alias: once}\n- {name: inner, version: 1.0.0, alias: again}",
		"- {name: inner, version: 1.0.0, alias: once}\n- {name: inner, version: 1.0.0, alias: again, depends-on: once}",
	}[r.IntN(4)] + "\n"
	files := tree{
		"Chart.yaml": version + "name: rich\nversion: 1.0.0\ndependencies:\n" + inner +
			[]string{"", "- {name: last, version: 1.0.0, depends-on: inner}\n"}[r.IntN(2)],
		"charts/inner/Chart.yaml": chartYAML("inner", ""),
		"charts/last/Chart.yaml":  chartYAML("last", ""),
	}
	for _, sub := range []string{"inner", "last"} {
		files["charts/"+sub+"/templates/x.yaml"] = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: '{{ .Template.BasePath | dir | replace \"/\" \".\" }}'}\n"
	}
	for i, text := range richTemplates {
		if r.IntN(3) > 0 {
			files["templates/"+string(rune('a'+i))+".yaml"] = strings.ReplaceAll(text, "NAME", "{{ .Chart.Name }}")
		}
	}
	return files
}

// richTemplates are templates with features that the resources of random charts do not
// have. Some of their resources depend on others, which may not exist.
var richTemplates = []string{
	`apiVersion: batch/v1
kind: Job
metadata:
  name: NAME-job
  annotations:
    helm.sh/layer: early
    helm.sh/readiness-success: ["succeeded >= 1", '{.conditions[?(@.type=="Complete")].status} == True']
    helm.sh/readiness-failure: '["failed > 3"]'
    helm.sh/readiness-timeout: 90s
`, `apiVersion: v1
kind: List
metadata: {annotations: {helm.sh/resource-policy: keep}}
items:
- {apiVersion: v1, kind: ConfigMap, metadata: {name: NAME-first}}
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: NAME-second
    annotations: {helm.sh/layer: early, helm.sh/resource-policy: delete, helm.sh/readiness-success: .status.phase == Bound}
`, `apiVersion: v1
kind: ConfigMap
metadata: {name: NAME-twin, namespace: here, annotations: {helm.sh/depends-on/layers: [early, lost]}}
data: {number: "1", text: "a  # b\n---\n  c"}
---
# between
apiVersion: v1
kind: ConfigMap
metadata: {name: NAME-twin, namespace: there, annotations: {depends-on.helm.sh/layers: "early, lost"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: NAME}
`, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: NAME.example.org, annotations: {helm.sh/resource-policy: keep, helm.sh/layer: early}}
spec: {group: NAME.example.org, scope: Cluster, names: {kind: Gadget, plural: gadgets}}
---
apiVersion: NAME.example.org/v1
kind: Gadget
metadata: {name: NAME-gadget, annotations: {helm.sh/resource-group: late, depends-on.helm.sh/resource-groups: early}}
spec: {large: 9007199254740993, small: 1e-3, none: null, deep: [[1, [true]], {a: {}}]}
`, `apiVersion: apps/v1
kind: Deployment
metadata: {name: NAME-web, annotations: {helm.sh/layer: middle}}
spec: {template: {spec: {serviceAccountName: NAME-account, containers: [{name: a, envFrom: [{secretRef: {name: NAME-late}}]}]}}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: NAME-account, annotations: {helm.sh/layer: middle}}
---
apiVersion: v1
kind: Secret
metadata: {name: NAME-late}
stringData: {a: '{{ "<b> & \u2028 é" }}'}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: NAME-binding}
subjects: [{kind: ServiceAccount, name: NAME-account}]
`,
}
