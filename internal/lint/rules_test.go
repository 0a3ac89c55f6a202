// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/lint/support"

	"github.com/ordered-helm/helm/internal/lint"
	"github.com/ordered-helm/helm/internal/lint/rule"
	"github.com/ordered-helm/helm/internal/testutil/chartpack"
)

const v3 = "apiVersion: v3\nname: shop\nversion: 1.0.0\nicon: https://example.com/i.png\n"

// configMap returns a template with a ConfigMap with the given annotations.
func configMap(name string, annotations ...string) string {
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " + name + "\n"
	if len(annotations) > 0 {
		text += "  annotations:\n    " + strings.Join(annotations, "\n    ") + "\n"
	}
	return text
}

const resource = "apiVersion: helm.sh/v3\nkind: Chart\nmetadata: {name: shop, labels: {version: 1.0.0}}\n"

const subchart = "apiVersion: v2\nname: db\nversion: 1.0.0\n"

const claimAndPod = `apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: data
  annotations:
    helm.sh/layer: claims
    helm.sh/readiness-success: phase == Bound
spec: {storageClassName: local}
---
apiVersion: v1
kind: Pod
metadata:
  name: db
  annotations:
    helm.sh/layer: pods
    depends-on.helm.sh/layers: claims
spec:
  volumes: [{name: data, persistentVolumeClaim: {claimName: data}}]
`

const deployment = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  annotations:
    helm.sh/layer: web
spec:
  selector: {matchLabels: {a: b}}
  template:
    spec:
      serviceAccountName: web
      containers: [{name: c, image: i, envFrom: [{configMapRef: {name: config}}]}]
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: after
  annotations:
    depends-on.helm.sh/layers: web
`

// usingNames is a chart of the format helm.sh/v3 that uses the library names.
const usingNames = "apiVersion: helm.sh/v3\nkind: Chart\nmetadata: {name: shop, labels: {version: \"1.0.0\"}}\ndata:\n  libraries:\n  - {name: names, version: ^1}\n"

// violation is a chart that violates a rule, and the change that corrects it.
type violation struct {
	// name begins with the name of the rule.
	name  string
	files map[string]string
	// want contains the expected findings: severity, rule and position.
	want []string
	// says is part of the first message.
	says string
	// mend contains the name of the file to correct, the text to replace, and its
	// replacement.
	mend [3]string
}

// violations contains charts that violate one rule each. orderViolations has more of them.
var violations = []violation{
	{
		name:  "annotation-not-string in Chart.yaml",
		files: map[string]string{"Chart.yaml": v3 + "annotations:\n  example.com/a: b\n  example.com/images: [a, b]\n"},
		want:  []string{"error annotation-not-string Chart.yaml:7:3"}, says: "example.com/images is a list",
		mend: [3]string{"Chart.yaml", "[a, b]", "'[a, b]'"},
	},
	{
		name:  "annotation-not-string in a template",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": configMap("a", "helm.sh/layer: a", "example.com/n: {{ 5 }}") + "---\n" + configMap("b")},
		want:  []string{"error annotation-not-string templates/a.yaml:7:5"}, says: "ConfigMap/a: the annotation example.com/n is a number or boolean",
		mend: [3]string{"templates/a.yaml", "{{ 5 }}", "{{ 5 | quote }}"},
	},
	{
		name: "conflicting-values-schemas in a flat chart",
		files: map[string]string{
			"Chart.yaml": v3, "charts/db/Chart.yaml": subchart, "charts/db/values.schema.yaml": "type: object\n", "charts/db/values.schema.json": "{}",
		},
		want: []string{"warning conflicting-values-schemas charts/db/values.schema.yaml:1:1"}, says: "it differs from values.schema.json at /type",
		mend: [3]string{"charts/db/values.schema.json", "{}", `{"type": "object"}`},
	},
	{
		name:  "conflicting-values-schemas in a chart of the format helm.sh/v3",
		files: map[string]string{"Chart.yaml": resource, "values.schema.yaml": "type: object\n", "values.schema.json": "{}"},
		want:  []string{"error conflicting-values-schemas values.schema.yaml:1:1"}, says: "it differs from values.schema.json at /type",
		mend: [3]string{"values.schema.json", "{}", `{"type": "object"}`},
	},
	{
		name:  "conflicting-spellings of a layer",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": configMap("a", "helm.sh/layer: a", "helm.sh/resource-group: b") + "---\n" + configMap("b")},
		want:  []string{"error conflicting-spellings templates/a.yaml:7:5"}, says: `conflicts with helm.sh/layer: "a"`,
		mend: [3]string{"templates/a.yaml", "group: b", "group: a"},
	},
	{
		name:  "conflicting-spellings of a hook mode",
		files: map[string]string{"Chart.yaml": v3 + "runHooksInParallel: true\nannotations:\n  helm.sh/run-hooks-in-parallel: otherChartsOnly\n"},
		want:  []string{"error conflicting-spellings Chart.yaml:7:3"}, says: `conflicts with runHooksInParallel: "true"`,
		mend: [3]string{"Chart.yaml", "otherChartsOnly", `"true"`},
	},
	{
		name: "custom-resource-readiness",
		files: map[string]string{
			"Chart.yaml":       v3,
			"templates/a.yaml": "{{- if true }}\napiVersion: example.com/v1\nkind: Database\nmetadata:\n  name: db\n  annotations:\n    helm.sh/layer: db\n{{- end }}\n---\n" + configMap("a"),
		},
		want: []string{"warning custom-resource-readiness templates/a.yaml:3:1"}, says: "other resources depend on Database/db",
		mend: [3]string{"templates/a.yaml", "layer: db\n", "layer: db\n    helm.sh/readiness-success: phase == Ready\n"},
	},
	{
		name: "dependency-cycle of layers",
		files: map[string]string{
			"Chart.yaml":       v3,
			"templates/a.yaml": configMap("a", "helm.sh/layer: a", "depends-on.helm.sh/layers: b"),
			"templates/b.yaml": "# one more line\n" + configMap("b", "helm.sh/layer: b", "depends-on.helm.sh/layers: '[\"a\"]'"),
		},
		want: []string{"error dependency-cycle templates/a.yaml:7:5"},
		says: `layer "a" depends on layer "b" (templates/a.yaml:7), layer "b" depends on layer "a" (templates/b.yaml:8)`,
		mend: [3]string{"templates/b.yaml", "\n    depends-on.helm.sh/layers: '[\"a\"]'", ""},
	},
	{
		name: "dependency-cycle of subcharts",
		files: map[string]string{
			"Chart.yaml":           v3 + "dependencies:\n- name: db\n  version: 1.0.0\n  depends-on: [web]\n- name: web\n  version: 1.0.0\n  depends-on: [db]\n",
			"charts/db/Chart.yaml": subchart, "charts/web/Chart.yaml": strings.ReplaceAll(subchart, "db", "web"),
		},
		want: []string{"error dependency-cycle Chart.yaml:8:3"}, says: "subchart db depends on subchart web (Chart.yaml:8)",
		mend: [3]string{"Chart.yaml", "\n  depends-on: [db]", ""},
	},
	{
		name:  "duplicate-object",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": configMap("a", "helm.sh/layer: a") + "---\n" + configMap("b"), "templates/b.yaml": configMap("a")},
		want:  []string{"error duplicate-object templates/b.yaml:2:1"}, says: "templates/a.yaml and templates/b.yaml",
		mend: [3]string{"templates/b.yaml", "name: a", "name: c"},
	},
	{
		name: "expression-path",
		files: map[string]string{
			"Chart.yaml":       v3,
			"templates/a.yaml": configMap("a", "helm.sh/layer: a", "helm.sh/readiness-success: '{.status.phase} == Ready'") + "---\n" + configMap("b"),
		},
		want: []string{"warning expression-path templates/a.yaml:7:5"}, says: `remove the leading "status"`,
		mend: [3]string{"templates/a.yaml", ".status.", "."},
	},
	{
		name:  "hook-sequencing",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": configMap("a", "helm.sh/hook: pre-install", "helm.sh/layer: a")},
		want:  []string{"warning hook-sequencing templates/a.yaml:7:5"}, says: "ConfigMap/a is a hook: helm.sh/layer is ignored",
		mend: [3]string{"templates/a.yaml", "\n    helm.sh/layer: a", ""},
	},
	{
		name:  "hook-sequencing with a value that a resource cannot have",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": configMap("a", "helm.sh/hook: pre-install", "helm.sh/layer: [a, b]")},
		want:  []string{"warning hook-sequencing templates/a.yaml:7:5"}, says: "ConfigMap/a is a hook: helm.sh/layer is ignored",
		mend: [3]string{"templates/a.yaml", "\n    helm.sh/layer: [a, b]", ""},
	},
	{
		name:  "hook-sequencing in a chart that is not sequenced",
		files: map[string]string{"Chart.yaml": strings.Replace(v3, "v3", "v2", 1), "templates/a.yaml": configMap("a", "helm.sh/hook: pre-install", "helm.sh/readiness-timeout: 30")},
		want:  []string{"warning hook-sequencing templates/a.yaml:7:5"}, says: "ConfigMap/a is a hook: helm.sh/readiness-timeout is ignored",
		mend: [3]string{"templates/a.yaml", "\n    helm.sh/readiness-timeout: 30", ""},
	},
	{
		name:  "invalid-chart-field",
		files: map[string]string{"Chart.yaml": resource + "data:\n  colour: blue\n"},
		want:  []string{"error invalid-chart-field Chart.yaml:5:11"}, says: "data.colour: unknown field: must be one of description,",
		mend: [3]string{"Chart.yaml", "colour", "description"},
	},
	{
		name:  "invalid-chart-field of another apiVersion",
		files: map[string]string{"Chart.yaml": strings.Replace(resource, "v3", "v2", 1)},
		want:  []string{"error invalid-chart-field Chart.yaml:1:13"}, says: "apiVersion: must be helm.sh/v3",
		mend: [3]string{"Chart.yaml", "v2", "v3"},
	},
	{
		name:  "invalid-hook",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": configMap("a", "helm.sh/hook: pre-install", "helm.sh/hook-delete-timeout: 5m")},
		want:  []string{"error invalid-hook templates/a.yaml:7:5"}, says: "must be a whole number of seconds",
		mend: [3]string{"templates/a.yaml", "5m", `"300"`},
	},
	{
		name:  "invalid-hook with another policy",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": configMap("a", "helm.sh/hook: pre-install", "helm.sh/hook-policy: manage")},
		want:  []string{"error invalid-hook templates/a.yaml:7:5"}, says: `did you mean "managed"?`,
		mend: [3]string{"templates/a.yaml", "policy: manage", "policy: managed"},
	},
	{
		name:  "invalid-hook of a kind that cannot be one",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": configMap("a", "helm.sh/hook: crd-install")},
		want:  []string{"error invalid-hook templates/a.yaml:6:5"}, says: "crd-install is only for a CustomResourceDefinition",
		mend: [3]string{"templates/a.yaml", "crd-install", "pre-install"},
	},
	{
		name:  "invalid-hook-mode",
		files: map[string]string{"Chart.yaml": v3 + "runHooksInParallel: maybe\n"},
		want:  []string{"error invalid-hook-mode Chart.yaml:5:1"}, says: "must be true, false or otherChartsOnly",
		mend: [3]string{"Chart.yaml", "maybe", "otherChartsOnly"},
	},
	{
		name:  "invalid-layer-name",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": configMap("a", "helm.sh/layer: my layer") + "---\n" + configMap("b")},
		want:  []string{"error invalid-layer-name templates/a.yaml:6:5"}, says: "whitespace",
		mend: [3]string{"templates/a.yaml", "my layer", "layer"},
	},
	{
		name: "late-role-binding",
		files: map[string]string{
			"Chart.yaml": v3, "templates/a.yaml": deployment,
			"templates/b.yaml": "kind: RoleBinding\napiVersion: rbac.authorization.k8s.io/v1\nmetadata: {name: web}\nroleRef: {kind: Role, name: x}\nsubjects: [{kind: ServiceAccount, name: web}]\n",
		},
		want: []string{"warning late-role-binding templates/b.yaml:1:1"}, says: "whose service account it grants permissions to",
		mend: [3]string{"templates/b.yaml", "{name: web}\nr", "{name: web, annotations: {helm.sh/layer: web}}\nr"},
	},
	{
		name: "layer-unreached",
		files: map[string]string{
			"Chart.yaml":       v3,
			"templates/a.yaml": configMap("a", "helm.sh/layer: a"), "templates/b.yaml": configMap("b", "helm.sh/layer: b", "depends-on.helm.sh/layers: c"),
			"templates/c.yaml": configMap("c", "helm.sh/resource-group: c"),
		},
		want: []string{"info layer-unreached templates/a.yaml:6:5"}, says: `layer "a" has no dependencies`,
		mend: [3]string{"templates/b.yaml", "layers: c", "layers: c,a"},
	},
	{
		name:  "invalid-on-immutable in a ConfigMap that can be changed",
		files: map[string]string{"Chart.yaml": flat, "templates/a.yaml": configMap("a", "helm.sh/on-immutable: recreate")},
		want:  []string{"error invalid-on-immutable templates/a.yaml:6:5"}, says: "is only for Jobs, Pods, and ConfigMaps and Secrets with immutable: true",
		mend: [3]string{"templates/a.yaml", "metadata:", "immutable: true\nmetadata:"},
	},
	{
		name:  "invalid-on-immutable with another value",
		files: map[string]string{"Chart.yaml": flat, "templates/a.yaml": configMap("a", "helm.sh/on-immutable: replace") + "immutable: true\n"},
		want:  []string{"error invalid-on-immutable templates/a.yaml:6:5"}, says: `must be "recreate"`,
		mend: [3]string{"templates/a.yaml", "replace", "recreate"},
	},
	{
		name:  "malformed-duration",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": configMap("a", "helm.sh/layer: a", "helm.sh/readiness-timeout: 30") + "---\n" + configMap("b")},
		want:  []string{"error malformed-duration templates/a.yaml:7:5"}, says: "must be a duration",
		mend: [3]string{"templates/a.yaml", "30", "30s"},
	},
	{
		name: "malformed-expression",
		files: map[string]string{
			"Chart.yaml":       v3,
			"templates/a.yaml": configMap("a", "helm.sh/layer: a", "helm.sh/readiness-failure: ['phase = Bad', 'phase is Bad']") + "---\n" + configMap("b"),
		},
		want: []string{"error malformed-expression templates/a.yaml:7:5", "error malformed-expression templates/a.yaml:7:5"}, says: "is not a readiness expression",
		mend: [3]string{"templates/a.yaml", "['phase = Bad', 'phase is Bad']", "['phase == Bad']"},
	},
	{
		name:  "malformed-value in a template",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": configMap("a", "helm.sh/layer: a", "depends-on.helm.sh/layers: [[b]]") + "---\n" + configMap("b")},
		want:  []string{"error malformed-value templates/a.yaml:7:5"}, says: "must be a list of strings, not a list of lists",
		mend: [3]string{"templates/a.yaml", "[[b]]", "[]"},
	},
	{
		name:  "malformed-value in a chart that is not sequenced",
		files: map[string]string{"Chart.yaml": strings.Replace(v3, "v3", "v2", 1), "templates/a.yaml": configMap("a", "depends-on.helm.sh/layers: {a: b}")},
		want:  []string{"error sequencing-not-enabled Chart.yaml:1:1", "error malformed-value templates/a.yaml:6:5"},
		mend:  [3]string{"templates/a.yaml", "\n  annotations:\n    depends-on.helm.sh/layers: {a: b}", ""},
	},
	{
		name:  "malformed-value of helm.sh/sequencing",
		files: map[string]string{"Chart.yaml": strings.Replace(v3, "v3", "v2", 1) + "annotations:\n  helm.sh/sequencing: true\n", "templates/a.yaml": configMap("a", "helm.sh/layer: a") + "---\n" + configMap("b")},
		want:  []string{"error malformed-value Chart.yaml:6:3"}, says: `helm.sh/sequencing: true: must be "enabled" or "disabled"`,
		mend: [3]string{"Chart.yaml", "true", "disabled"},
	},
	{
		name:  "malformed-value in Chart.yaml",
		files: map[string]string{"Chart.yaml": v3 + "annotations:\n  helm.sh/depends-on/subcharts: {a: b}\n"},
		want:  []string{"error malformed-value Chart.yaml:6:3"}, says: "must be a list of strings, not a map",
		mend: [3]string{"Chart.yaml", "{a: b}", "[]"},
	},
	{
		name:  "malformed-value of an opt-in",
		files: map[string]string{"Chart.yaml": v3 + "annotations:\n  helm.sh/sequencing: on please\n"},
		want:  []string{"error malformed-value Chart.yaml:6:3"}, says: `must be "enabled"`,
		mend: [3]string{"Chart.yaml", "on please", "enabled"},
	},
	{
		name: "malformed-value of a dependency",
		files: map[string]string{
			"Chart.yaml":           v3 + "dependencies:\n- name: db\n  version: 1.0.0\n  depends-on: 5\n",
			"charts/db/Chart.yaml": subchart,
		},
		want: []string{"error malformed-value Chart.yaml:8:3"}, says: `dependency "db": depends-on: 5`,
		mend: [3]string{"Chart.yaml", "\n  depends-on: 5", ""},
	},
	{
		name:  "misplaced-key in a template",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": configMap("a", "helm.sh/depends-on/subcharts: db")},
		want:  []string{"error misplaced-key templates/a.yaml:6:5"}, says: "move it into Chart.yaml",
		mend: [3]string{"templates/a.yaml", "helm.sh/depends-on/subcharts", "example.com/a"},
	},
	{
		name:  "misplaced-key of a hook mode",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\n  runHooksInParallel: true\n"},
		want:  []string{"error misplaced-key templates/a.yaml:5:3"}, says: "move runHooksInParallel into Chart.yaml",
		mend: [3]string{"templates/a.yaml", "  runHooksInParallel: true\n", ""},
	},
	{
		name:  "misplaced-key in Chart.yaml",
		files: map[string]string{"Chart.yaml": v3 + "annotations: {helm.sh/layer: a}\n"},
		want:  []string{"error misplaced-key Chart.yaml:5:15"}, says: "has no effect in Chart.yaml",
		mend: [3]string{"Chart.yaml", "helm.sh/layer", "example.com/a"},
	},
	{
		name:  "misplaced-key in a chart of the format helm.sh/v3",
		files: map[string]string{"Chart.yaml": strings.Replace(resource, "}}", "}, annotations: {helm.sh/layer: a}}", 1)},
		want:  []string{"error misplaced-key Chart.yaml:3:64"}, says: "has no effect in Chart.yaml",
		mend: [3]string{"Chart.yaml", "helm.sh/layer", "example.com/a"},
	},
	{
		name:  "non-canonical-chart",
		files: map[string]string{"Chart.yaml": strings.Replace(resource, "}}", ", appVersion: 3.6}}", 1)},
		want:  []string{"info non-canonical-chart Chart.yaml:3:61"}, says: `metadata.labels.appVersion: is not a string: write "3.6"`,
		mend: [3]string{"Chart.yaml", "3.6", `"3.6"`},
	},
	{
		name: "readiness-timeout-too-long",
		files: map[string]string{
			"Chart.yaml":       v3,
			"templates/a.yaml": configMap("a", "helm.sh/layer: a", "helm.sh/readiness-timeout: 10m") + "---\n" + configMap("b"),
		},
		want: []string{"warning readiness-timeout-too-long templates/a.yaml:7:5"}, says: "10m0s is longer than 5m0s",
		mend: [3]string{"templates/a.yaml", "10m", "5m"},
	},
	{
		name:  "removed-chart-field",
		files: map[string]string{"Chart.yaml": resource + "data: {engine: gotpl, description: x}\n"},
		want:  []string{"warning removed-chart-field Chart.yaml:4:16"}, says: "data.engine: has no effect in charts of helm.sh/v3",
		mend: [3]string{"Chart.yaml", "engine: gotpl, ", ""},
	},
	{
		name:  "self-dependency of a layer",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": configMap("a", "helm.sh/layer: a", "depends-on.helm.sh/layers: a") + "---\n" + configMap("b")},
		want:  []string{"error self-dependency templates/a.yaml:7:5"}, says: `layer "a" depends on itself`,
		mend: [3]string{"templates/a.yaml", "\n    depends-on.helm.sh/layers: a", ""},
	},
	{
		name: "self-dependency of a subchart",
		files: map[string]string{
			"Chart.yaml":           v3 + "dependencies:\n- {name: db, version: 1.0.0, depends-on: [db]}\n",
			"charts/db/Chart.yaml": subchart,
		},
		want: []string{"error self-dependency Chart.yaml:6:30"}, says: "subchart db depends on itself",
		mend: [3]string{"Chart.yaml", ", depends-on: [db]", ""},
	},
	{
		name:  "sequencing-not-enabled",
		files: map[string]string{"Chart.yaml": "# a\n" + strings.Replace(v3, "v3", "v2", 1), "templates/a.yaml": configMap("a", "helm.sh/layer: a") + "---\n" + configMap("b")},
		want:  []string{"error sequencing-not-enabled Chart.yaml:2:1"}, says: "chart shop declares an order that is ignored",
		mend: [3]string{"Chart.yaml", "v2", "v3"},
	},
	{
		name: "sequencing-not-enabled in a subchart",
		files: map[string]string{
			"Chart.yaml": v3, "charts/db/Chart.yaml": subchart, "charts/db/templates/a.yaml": configMap("a", "helm.sh/layer: a") + "---\n" + configMap("b"),
		},
		want: []string{"warning sequencing-not-enabled charts/db/Chart.yaml:1:1"}, says: "chart shop/db declares an order that is ignored",
		mend: [3]string{"charts/db/Chart.yaml", "v2", "v3"},
	},
	{
		name: "two-slash-key",
		files: map[string]string{
			"Chart.yaml":       v3,
			"templates/a.yaml": configMap("a", "helm.sh/layer: a") + "---\n" + configMap("b", `"helm.sh/depends-on/layers": a`),
		},
		want: []string{"info two-slash-key templates/a.yaml:13:6"}, says: "use depends-on.helm.sh/layers",
		mend: [3]string{"templates/a.yaml", "helm.sh/depends-on/layers", "depends-on.helm.sh/layers"},
	},
	{
		name:  "unknown-key in a template",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": configMap("a", "helm.sh/layer: a", "helm.sh/readiness-timeouts: 5s") + "---\n" + configMap("b")},
		want:  []string{"error unknown-key templates/a.yaml:7:5"}, says: "did you mean helm.sh/readiness-timeout?",
		mend: [3]string{"templates/a.yaml", "timeouts", "timeout"},
	},
	{
		name:  "unknown-key in the Chart.yaml of a subchart",
		files: map[string]string{"Chart.yaml": v3, "charts/db/Chart.yaml": subchart + "annotations: {helm.sh/depends-on/subchart: a}\n", "templates/a.yaml": ""},
		want:  []string{"warning unknown-key charts/db/Chart.yaml:4:15"}, says: "did you mean depends-on.helm.sh/subcharts?",
		mend: [3]string{"charts/db/Chart.yaml", "helm.sh/depends-on/subchart: a", ""},
	},
	{
		name:  "unknown-key in a template of a subchart",
		files: map[string]string{"Chart.yaml": v3, "charts/db/Chart.yaml": subchart, "charts/db/templates/a.yaml": configMap("a", "helm.sh/readiness-timeouts: 5s")},
		want:  []string{"warning unknown-key charts/db/templates/a.yaml:6:5"}, says: "did you mean helm.sh/readiness-timeout?",
		mend: [3]string{"charts/db/templates/a.yaml", "helm.sh/readiness-timeouts: 5s", "example.com/a: b"},
	},
	{
		name:  "unknown-key in Chart.yaml",
		files: map[string]string{"Chart.yaml": v3 + "annotations:\n  helm.sh/depends-on/subchart: []\n", "templates/a.yaml": ""},
		want:  []string{"error annotation-not-string Chart.yaml:6:3", "error unknown-key Chart.yaml:6:3"},
		mend:  [3]string{"Chart.yaml", "subchart:", "subcharts:"},
	},
	{
		name: "unknown-key of a field",
		files: map[string]string{
			"Chart.yaml":           v3 + "dependencies:\n- name: db\n  version: 1.0.0\n  dependsOn: []\n",
			"charts/db/Chart.yaml": subchart,
		},
		want: []string{"error unknown-key Chart.yaml:8:3"}, says: "did you mean depends-on?",
		mend: [3]string{"Chart.yaml", "dependsOn", "depends-on"},
	},
	{
		name: "unknown-layer",
		files: map[string]string{
			"Chart.yaml":       v3,
			"templates/a.yaml": configMap("a", "helm.sh/layer: database") + "---\n" + configMap("b", "depends-on.helm.sh/layers: datebase"),
		},
		want: []string{"warning unknown-layer templates/a.yaml:13:5"}, says: `did you mean "database"?`,
		mend: [3]string{"templates/a.yaml", "datebase", "database"},
	},
	{
		name: "unknown-subchart in an annotation",
		files: map[string]string{
			"Chart.yaml":           v3 + "annotations:\n  helm.sh/depends-on/subcharts: [dp]\ndependencies:\n- {name: db, version: 1.0.0}\n",
			"charts/db/Chart.yaml": subchart,
		},
		want: []string{"error unknown-subchart Chart.yaml:6:3"}, says: `did you mean "db"?`,
		mend: [3]string{"Chart.yaml", "[dp]", "[db]"},
	},
	{
		name: "unknown-subchart in a dependency",
		files: map[string]string{
			"Chart.yaml":           v3 + "dependencies:\n- name: db\n  version: 1.0.0\n  depends-on: [queue]\n",
			"charts/db/Chart.yaml": subchart,
		},
		want: []string{"error unknown-subchart Chart.yaml:8:3"}, says: `unknown subchart "queue"`,
		mend: [3]string{"Chart.yaml", "\n  depends-on: [queue]", ""},
	},
	{
		name: "unknown-subchart in a dependency of a chart of the format helm.sh/v3",
		files: map[string]string{
			"Chart.yaml": resource, "requirements.yaml": "requirements:\n- name: db\n  version: 1.0.0\n  depends-on: [queue]\n",
			"charts/db/Chart.yaml": subchart,
		},
		want: []string{"error unknown-subchart requirements.yaml:4:3"}, says: `unknown subchart "queue"`,
		mend: [3]string{"requirements.yaml", "\n  depends-on: [queue]", ""},
	},
	{
		name: "unknown-subchart in an annotation of a chart of the format helm.sh/v3",
		files: map[string]string{
			"Chart.yaml":           resource,
			"charts/db/Chart.yaml": "apiVersion: helm.sh/v3\nkind: Chart\nmetadata:\n  name: db\n  labels: {version: 1.0.0}\n  annotations:\n    depends-on.helm.sh/subcharts: queue\n",
		},
		want: []string{"error unknown-subchart charts/db/Chart.yaml:7:5"}, says: `unknown subchart "queue"`,
		mend: [3]string{"charts/db/Chart.yaml", "queue", "''"},
	},
	{
		name:  "unmeetable-need",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": deployment, "templates/b.yaml": configMap("config")},
		want:  []string{"error unmeetable-need templates/a.yaml:2:1"}, says: `in layer "web" of chart shop needs ConfigMap/config, which is deployed after it, in unlayered resources of chart shop (templates/b.yaml)`,
		mend: [3]string{"templates/b.yaml", "name: config\n", "name: config\n  annotations: {helm.sh/layer: web}\n"},
	},
	{
		name: "unknown-key of all of them",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n" +
			"    helm.sh/layers: a\n    helm.sh/depends_on/layers: b\n    helm.sh/dependson: c\n    helm.sh/readiness-fail: x == 1\n    helm.sh/chart: shop\n"},
		want: []string{
			"error unknown-key templates/a.yaml:6:5", "error unknown-key templates/a.yaml:7:5", "error unknown-key templates/a.yaml:8:5", "error unknown-key templates/a.yaml:9:5",
		}, says: "did you mean helm.sh/layer?",
		mend: [3]string{"templates/a.yaml", "    helm.sh/layers: a\n    helm.sh/depends_on/layers: b\n    helm.sh/dependson: c\n    helm.sh/readiness-fail: x == 1\n", ""},
	},
	{
		name:  "malformed-expression of several",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": configMap("a", "helm.sh/readiness-success: a == 1 && b == 1")},
		want:  []string{"error malformed-expression templates/a.yaml:6:5"}, says: "&& is not supported",
		mend: [3]string{"templates/a.yaml", " && b == 1", ""},
	},
	{
		name: "malformed-value that is none",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n" +
			"    helm.sh/layer:\n    helm.sh/readiness-success: ''\n"},
		want: []string{"warning malformed-value templates/a.yaml:6:5", "warning malformed-value templates/a.yaml:7:5"}, says: "helm.sh/layer has no value",
		mend: [3]string{"templates/a.yaml", "    helm.sh/layer:\n    helm.sh/readiness-success: ''\n", "    example.com/a: b\n"},
	},
	{
		name: "misplaced-key outside of annotations",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: a\n  helm.sh/layer: a\n  labels:\n    helm.sh/layer: b\n" +
			"spec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata:\n      labels: {a: b}\n      annotations:\n        helm.sh/readiness-timeout: 5s\n    spec: {containers: [{name: a, image: a}]}\n"},
		want: []string{
			"warning misplaced-key templates/a.yaml:5:3", "warning misplaced-key templates/a.yaml:7:5", "warning misplaced-key templates/a.yaml:14:9",
		}, says: "helm.sh/layer has no effect in metadata: move it to metadata.annotations",
		mend: [3]string{"templates/a.yaml", "  helm.sh/layer: a\n  labels:\n    helm.sh/layer: b\nspec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata:\n      labels: {a: b}\n" +
			"      annotations:\n        helm.sh/readiness-timeout: 5s\n", "spec:\n  selector: {matchLabels: {a: b}}\n  template:\n    metadata:\n      labels: {a: b}\n"},
	},
	{
		name: "invalid-hook of words that are not known",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  annotations:\n" +
			"    helm.sh/hook: Pre-Install, post-instal\n    helm.sh/hook-weight: high\n    helm.sh/hook-delete-policy: hook-succeeded, before-hook\n    helm.sh/hook-output-log-policy: hook-fail\n"},
		want: []string{
			"warning invalid-hook templates/a.yaml:6:5", "warning invalid-hook templates/a.yaml:7:5", "warning invalid-hook templates/a.yaml:8:5", "warning invalid-hook templates/a.yaml:9:5",
		}, says: `unknown event "post-instal" (the object is omitted from the release): did you mean "post-install"?`,
		mend: [3]string{"templates/a.yaml", "post-instal\n    helm.sh/hook-weight: high\n    helm.sh/hook-delete-policy: hook-succeeded, before-hook\n    helm.sh/hook-output-log-policy: hook-fail\n",
			"test-success\n    helm.sh/hook-weight: '-5'\n    helm.sh/hook-delete-policy: hook-succeeded, before-hook-creation\n    helm.sh/hook-output-log-policy: hook-failed\n"},
	},
	{
		name:  "invalid-values-schema",
		files: map[string]string{"Chart.yaml": v3, "values.yaml": "port: 80\n", "values.schema.yaml": "properties:\n  port: {type: int}\n"},
		want:  []string{"error invalid-values-schema values.schema.yaml:2:10"}, says: "is not a JSON Schema: type: value must be one of",
		mend: [3]string{"values.schema.yaml", "int", "integer"},
	},
	{
		name: "invalid-values-schema of a chart with the schema as JSON",
		files: map[string]string{
			"Chart.yaml": resource, "charts/db/Chart.yaml": subchart, "charts/db/values.schema.yaml": "type: [\n", "charts/db/values.schema.json": "true",
		},
		want: []string{"warning invalid-values-schema charts/db/values.schema.yaml:1"}, says: "invalid YAML: did not find",
		mend: [3]string{"charts/db/values.schema.yaml", "type: [", "true"},
	},
	{
		name:  "values-schema-reference",
		files: map[string]string{"Chart.yaml": resource, "values.schema.yaml": "items:\n  $ref: https://example.com/a.json\n"},
		want:  []string{"error values-schema-reference values.schema.yaml:2:3"}, says: "leaves the chart",
		mend: [3]string{"values.schema.yaml", "https://example.com/a.json", "'#'"},
	},
	{
		name:  "wait-for-first-consumer",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": claimAndPod},
		want:  []string{"warning wait-for-first-consumer templates/a.yaml:7:5"}, says: "is never bound",
		mend: [3]string{"templates/a.yaml", "    helm.sh/readiness-success: phase == Bound\n", ""},
	},
	{
		name: "unmeetable-need of a hook",
		files: map[string]string{
			"Chart.yaml":       v3,
			"templates/a.yaml": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec: {containers: [{name: c, image: i, envFrom: [{configMapRef: {name: late}}]}]}\n",
			"templates/b.yaml": configMap("late", "helm.sh/hook: post-install,post-upgrade"),
		},
		want: []string{"error unmeetable-need templates/a.yaml:2:1"},
		says: "Pod/p in unlayered resources of chart shop needs ConfigMap/late, which only the post-install hook creates, which runs when all resources are ready (templates/b.yaml): make it a pre-install hook, or an ordinary resource",
		mend: [3]string{"templates/b.yaml", "post-install,post-upgrade", "pre-install,pre-upgrade"},
	},
	{
		name: "library-text",
		files: map[string]string{
			"Chart.yaml":           "apiVersion: v2\nname: names\nversion: 1.0.0\ntype: library\n",
			"templates/_names.tpl": "{{/* names */}}\n{{- $x := 1 }}\n{{ define \"a\" }}a{{ end }}\n\nkind: A\n",
		},
		want: []string{"warning library-text templates/_names.tpl:5:1"}, says: "this is outside of named templates: it is ignored",
		mend: [3]string{"templates/_names.tpl", "kind: A\n", ""},
	},
	{
		name: "library-text in an action",
		files: map[string]string{
			"Chart.yaml":       "apiVersion: helm.sh/v3\nkind: Chart\nmetadata: {name: names, labels: {version: \"1.0.0\"}}\ndata: {type: library}\n",
			"templates/a.yaml": "{{ define \"a\" }}a{{ end }}\n  {{ include \"a\" . }}",
		},
		want: []string{"warning library-text templates/a.yaml:2:6"}, says: "this is outside",
		mend: [3]string{"templates/a.yaml", "\n  {{ include \"a\" . }}", ""},
	},
	{
		name: "application-as-library",
		files: map[string]string{
			"Chart.yaml": usingNames, "library/names/Chart.yaml": "apiVersion: v2\nname: names\nversion: 1.0.0\n",
		},
		want: []string{"warning application-as-library Chart.yaml:6"}, says: "names is not a library chart: only its named templates are used",
		mend: [3]string{"library/names/Chart.yaml", "version: 1.0.0", "version: 1.0.0\ntype: library"},
	},
	{
		name: "application-as-library of a subchart, in requirements.yaml",
		files: map[string]string{
			"Chart.yaml": v3, "charts/db/Chart.yaml": strings.Replace(strings.Replace(usingNames, "shop", "db", 1), "data:\n  libraries:\n  - {name: names, version: ^1}\n", "", 1),
			"charts/db/requirements.yaml": "libraries:\n- {name: names, version: ^1}\n", "charts/db/library/names/Chart.yaml": "apiVersion: v2\nname: names\nversion: 1.0.0\n",
		},
		want: []string{"warning application-as-library charts/db/requirements.yaml:2"}, says: "names is not a library chart",
		mend: [3]string{"charts/db/library/names/Chart.yaml", "version: 1.0.0", "version: 1.0.0\ntype: library"},
	},
	{
		name: "failed-script-handler",
		files: map[string]string{
			"Chart.yaml":    "apiVersion: v2\nname: shop\nversion: 1.0.0\nannotations: {helm.sh/scripts: enabled}\n",
			"ext/lua/a.lua": "local function check(values)\n  error('no owner', 0 + 1)\nend\nevents.on('pre-render', 0, function(name, namespace, chart, values)\n  if not values.owner then check(values) end\nend)\n",
		},
		want: []string{"error failed-script-handler ext/lua/a.lua:2"}, says: "a handler of pre-render failed: no owner\nstack traceback:\n    ext/lua/a.lua:2: in function 'check'\n    ext/lua/a.lua:5: in function <ext/lua/a.lua:4>",
		mend: [3]string{"ext/lua/a.lua", "not values.owner", "values.owner"},
	},
	{
		name: "ignored-script-file",
		files: map[string]string{
			"Chart.yaml": v3Format, ".helmignore": "*.lua\npermissions.yaml\n", "ext/lua/a.lua": "events.on('wait', 0, function() return io.open('x') ~= nil end)", "ext/permissions.yaml": "lua: [filesystem]\n",
			"charts/db/Chart.yaml": strings.Replace(v3Format, "shop", "db", 1), "charts/db/ext/lua/b.lua": "",
			"charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\n", "charts/web/ext/lua/b.lua": "",
		},
		want: []string{"warning ignored-script-file charts/db/ext/lua/b.lua", "warning ignored-script-file ext/lua/a.lua", "warning ignored-script-file ext/permissions.yaml"},
		says: ".helmignore excludes this file, so the script does not run",
		mend: [3]string{".helmignore", "*.lua\npermissions.yaml\n", "charts/web/ext/\n"},
	},
	{
		name: "ignored-script-handler",
		files: map[string]string{
			"Chart.yaml":    "apiVersion: v2\nname: names\nversion: 1.0.0\ntype: library\nannotations: {helm.sh/scripts: enabled}\n",
			"ext/lua/a.lua": "\nevents.on('post-render', 0.5, function() end)\n",
		},
		want: []string{"warning ignored-script-handler ext/lua/a.lua:2"}, says: "a library renders nothing: this handler of post-render is never called",
		mend: [3]string{"ext/lua/a.lua", "post-render", "pre-install"},
	},
	{
		name: "invalid-script of a subchart",
		files: map[string]string{
			"Chart.yaml": v3, "charts/db/Chart.yaml": "apiVersion: v2\nname: db\nversion: 1.0.0\nannotations: {helm.sh/scripts: enabled}\n",
			"charts/db/ext/lua/a.lua": "\nevents.on('pre-instal', 0.5, function() end)\n",
		},
		want: []string{"error invalid-script charts/db/ext/lua/a.lua:2"}, says: `there is no event "pre-instal": did you mean "pre-install"?`,
		mend: [3]string{"charts/db/ext/lua/a.lua", "pre-instal'", "pre-install'"},
	},
	{
		name:  "invalid-script with a syntax error",
		files: map[string]string{"Chart.yaml": v3Format, "ext/lua/a.lua": "x = = 1"},
		want:  []string{"error invalid-script ext/lua/a.lua:1"}, says: "syntax error near '='",
		mend: [3]string{"ext/lua/a.lua", "= =", "="},
	},
	{
		name: "invalid-script because of the annotation",
		files: map[string]string{
			"Chart.yaml":    "apiVersion: v2\nname: shop\nversion: 1.0.0\nannotations:\n  helm.sh/scripts: on\n",
			"ext/lua/a.lua": "",
		},
		want: []string{"error invalid-script Chart.yaml:5:20"}, says: `the annotation helm.sh/scripts is "on": must be "enabled" or "disabled"`,
		mend: [3]string{"Chart.yaml", "on\n", "disabled\n"},
	},
	{
		name:  "invalid-script-permissions",
		files: map[string]string{"Chart.yaml": v3Format, "ext/lua/a.lua": "", "ext/permissions.yaml": "lua:\n- networking\n"},
		want:  []string{"error invalid-script-permissions ext/permissions.yaml:2"}, says: `there is no permission "networking": did you mean "network"?`,
		mend: [3]string{"ext/permissions.yaml", "\n- networking", " []"},
	},
	{
		name:  "script-permission-not-requested",
		files: map[string]string{"Chart.yaml": v3Format, "ext/lua/a.lua": "local function f()\n  return os.getenv('X')\nend\nlocal get = function() return http.get end\n"},
		want:  []string{"warning script-permission-not-requested ext/lua/a.lua:2", "warning script-permission-not-requested ext/lua/a.lua:4"}, says: "this needs the permission environment, for which the chart does not ask",
		mend: [3]string{"ext/lua/a.lua", "local function f()\n  return os.getenv('X')\nend\nlocal get = function() return http.get end\n", ""},
	},
	{
		name:  "scripts-not-enabled",
		files: map[string]string{"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n", "ext/lua/a.lua": ""},
		want:  []string{"warning scripts-not-enabled Chart.yaml"}, says: "the chart contains scripts in ext/lua/, but they are not enabled",
		mend: [3]string{"Chart.yaml", "version: 1.0.0\n", "version: 1.0.0\nannotations: {helm.sh/scripts: enabled}\n"},
	},
	{
		name: "scripts-not-run",
		files: map[string]string{
			"Chart.yaml": v3, "charts/db/Chart.yaml": strings.Replace(v3Format, "shop", "db", 1),
			"charts/db/ext/lua/a.lua": "events.on('chart-loaded', 0, function() http.get('http://127.0.0.1:1') end)\n", "charts/db/ext/permissions.yaml": "lua: [network]\n",
		},
		want: []string{"info scripts-not-run charts/db/ext/permissions.yaml"}, says: `no scripts ran, because those of chart "shop/charts/db" ask for permissions that were not accepted: network`,
		mend: [3]string{"charts/db/Chart.yaml", "name: db", "name: db, annotations: {helm.sh/scripts: disabled}"},
	},
	{
		name:  "unused-script-permission",
		files: map[string]string{"Chart.yaml": v3Format, "ext/lua/a.lua": "events.on('wait', 0, function() return io.open('x') ~= nil end)", "ext/permissions.yaml": "lua: [filesystem, environment]\n"},
		want:  []string{"info unused-script-permission ext/permissions.yaml"}, says: "no script uses the permission environment",
		mend: [3]string{"ext/permissions.yaml", ", environment", ""},
	},
	{
		name: "wait-for-first-consumer of a class in the release",
		files: map[string]string{
			"Chart.yaml":           v3,
			"templates/a.yaml":     strings.Replace(claimAndPod, "    helm.sh/readiness-success: phase == Bound\n", "", 1),
			"templates/class.yaml": "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: local, annotations: {helm.sh/layer: claims}}\nprovisioner: x\nvolumeBindingMode: WaitForFirstConsumer\n",
		},
		want: []string{"info wait-for-first-consumer templates/a.yaml:2:1"}, says: "it is not waited for",
		mend: [3]string{"templates/class.yaml", "WaitForFirstConsumer", "Immediate"},
	},
}

const v3Format = "apiVersion: helm.sh/v3\nkind: Chart\nmetadata: {name: shop, labels: {version: \"1.0.0\"}}\n"

func found(t *testing.T, files map[string]string, o lint.RenderOptions) (places []string, all []lint.Finding) {
	t.Helper()
	report, err := lint.Check(t.Context(), write(t, files), o)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		place := f.File
		if f.Line > 0 {
			place = fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
		}
		place = strings.TrimSuffix(place, ":0")
		places = append(places, fmt.Sprintf("%s %s %s", f.Severity, f.Rule, place))
	}
	return places, report.Findings
}

// TestRules checks the charts in violations and orderViolations before and after the correction, and that
// docs/lint.md describes every rule.
//   - "helm lint reports all of this, and an order file that .helmignore excludes"
//   - "helm lint reports such dependencies"
//   - "helm dag prints a note about this to standard error, and helm lint reports it"
func TestRules(t *testing.T) {
	tested := map[string]bool{}
	options := lint.RenderOptions{Namespace: "default"}
	options.Handlers.Acceptance.Accepted = []string{"filesystem", "environment"}
	for _, tt := range slices.Concat(violations, orderViolations) {
		tested[strings.Fields(tt.name)[0]] = true
		t.Run(tt.name, func(t *testing.T) {
			places, all := found(t, tt.files, options)
			if !slices.Equal(places, tt.want) {
				t.Fatalf("found:\n%s\nwant:\n%s\n%v", strings.Join(places, "\n"), strings.Join(tt.want, "\n"), all)
			}
			if !strings.Contains(all[0].Message, tt.says) || all[0].Help == "" {
				t.Errorf("it says %q, help %q", all[0].Message, all[0].Help)
			}
			mended := maps.Clone(tt.files)
			mended[tt.mend[0]] = strings.Replace(mended[tt.mend[0]], tt.mend[1], tt.mend[2], 1)
			places, all = found(t, mended, options)
			places = slices.DeleteFunc(places, func(p string) bool {
				other := len(tt.want) > 1 && strings.Contains(p, "sequencing-not-enabled")
				return other
			})
			if len(places) > 0 {
				t.Errorf("mended:\n%s\n%v", strings.Join(places, "\n"), all)
			}
		})
	}
	page, err := os.ReadFile("../../docs/lint.md")
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rule.All() {
		if !tested[r.Name] {
			t.Errorf("there is no chart for the rule %s", r.Name)
		}
		if !strings.Contains(string(page), "| `"+r.Name+"` | "+r.Severity+" |") || !strings.Contains(string(page), "\n### "+r.Name+"\n") {
			t.Errorf("docs/lint.md does not have the rule %s, of severity %s", r.Name, r.Severity)
		}
		if i > 0 && rule.All()[i-1].Name >= r.Name {
			t.Errorf("%s is not in order", r.Name)
		}
	}
}

// TestFormatInSubcharts checks that problems with the format helm.sh/v3 are found in all charts.
func TestFormatInSubcharts(t *testing.T) {
	files := map[string]string{
		"Chart.yaml":           resource + "icon: x\n",
		"charts/db/Chart.yaml": strings.Replace(resource, "1.0.0", "latest", 1), "charts/db/requirements.yaml": "requirements:\n- version: '1'\n",
		"charts/queue/Chart.yaml": strings.Replace(resource, "shop", "Queue", 1),
		"charts/web/Chart.yaml":   strings.Replace(subchart, "db", "web", 1), "charts/web/Chart.v3.yaml": resource + "version: '1'\n", // packed
	}
	want := []string{
		"error invalid-chart-field Chart.yaml:4:7",
		"error invalid-chart-field charts/db/Chart.yaml:3:42",
		"error invalid-chart-field charts/db/requirements.yaml:2:3",
		"info non-canonical-chart charts/queue/Chart.yaml:3:18",
		"error invalid-chart-field charts/web/Chart.v3.yaml:4:10",
	}
	if places, all := found(t, files, lint.RenderOptions{}); !slices.Equal(places, want) {
		t.Errorf("found:\n%s\nwant:\n%s\n%v", strings.Join(places, "\n"), strings.Join(want, "\n"), all)
	}
	if report, err := lint.Check(t.Context(), write(t, files), lint.RenderOptions{}); err != nil || len(report.Helm) > 0 {
		t.Errorf("Helm's rules report the same: %v, %v", report.Helm, err)
	}
}

// TestSeveralViolations checks that all mistakes of a chart are reported in one run.
func TestSeveralViolations(t *testing.T) {
	files := map[string]string{
		"Chart.yaml":           v3 + "runHooksInParallel: maybe\nannotations:\n  helm.sh/depends-on/subcharts: {a: b}\n  helm.sh/layer: x\ndependencies:\n- {name: db, version: 1.0.0, depends-on: [queue]}\n",
		"charts/db/Chart.yaml": subchart + "runHooksInParallel: never\nannotations: {helm.sh/sequencing: enabled}\n",
		"charts/db/templates/a.yaml": configMap("x", "helm.sh/layer: a b", "helm.sh/readiness-timeout: never", "helm.sh/readiness-success: phase") +
			"---\n" + configMap("x", "depends-on.helm.sh/layers: nowhere"),
		"templates/a.yaml": configMap("a", "helm.sh/layer: a", "depends-on.helm.sh/layers: b") + "---\n" + configMap("b", "helm.sh/layer: b", "depends-on.helm.sh/layers: a") +
			"---\n" + configMap("c", "helm.sh/layer: c", "depends-on.helm.sh/layers: c"),
	}
	want := []string{
		"error invalid-hook-mode Chart.yaml:5:1",
		"error malformed-value Chart.yaml:7:3",
		"error misplaced-key Chart.yaml:8:3",
		"error unknown-subchart Chart.yaml:10:30",
		"error invalid-hook-mode charts/db/Chart.yaml:4:1",
		"error invalid-layer-name charts/db/templates/a.yaml:6:5",
		"error malformed-duration charts/db/templates/a.yaml:7:5",
		"error malformed-expression charts/db/templates/a.yaml:8:5",
		"error duplicate-object charts/db/templates/a.yaml:11:1",
		"error dependency-cycle templates/a.yaml:7:5",
		"error self-dependency templates/a.yaml:23:5",
	}
	if places, all := found(t, files, lint.RenderOptions{}); !slices.Equal(places, want) {
		t.Errorf("found:\n%s\nwant:\n%s\n%v", strings.Join(places, "\n"), strings.Join(want, "\n"), all)
	}
}

// TestPositions checks the positions of findings in various templates. If the line is
// unknown, the finding has no line.
func TestPositions(t *testing.T) {
	const mistake = "helm.sh/readiness-timeout"
	tests := []struct {
		name  string
		files map[string]string
		want  []string
	}{
		{
			"a loop", map[string]string{"templates/a.yaml": "{{- range $i, $n := list \"a\" \"b\" }}\n---\n" + configMap("{{ $n }}", "helm.sh/layer: x", mistake+": {{ $i }}") + "{{- end }}\n"},
			[]string{"templates/a.yaml:9:5", "templates/a.yaml:9:5"},
		},
		{
			"one of two of the same text", map[string]string{"templates/a.yaml": configMap("a", mistake+": 5s") + "{{- if true }}\n---\n" + configMap("b", mistake+": never") + "{{- end }}\n"},
			[]string{"templates/a.yaml:14:5"},
		},
		{
			"text in a helper", map[string]string{
				"templates/_helpers.tpl": "{{/* " + mistake + ": not here */}}\n{{- define \"shop.annotations\" -}}\nhelm.sh/layer: a\n" + mistake + ": {{ .Values.wait }}\n{{- end }}\n",
				"templates/a.yaml":       configMap("a", "{{- include \"shop.annotations\" . | nindent 4 }}"),
				"values.yaml":            "wait: long\n",
			},
			[]string{"templates/_helpers.tpl:4:1"},
		},
		{
			"through YAML and back", map[string]string{
				"templates/_helpers.tpl": "{{- define \"shop.annotations\" -}}\n" + mistake + ": long\n{{- end }}\n",
				"templates/a.yaml":       configMap("a", "{{- include \"shop.annotations\" . | fromYaml | toYaml | nindent 4 }}"),
			},
			[]string{"templates/_helpers.tpl:2:1"},
		},
		{
			"made of values", map[string]string{
				"templates/a.yaml": configMap("a", "{{- toYaml .Values.annotations | nindent 4 }}"),
				"values.yaml":      "annotations: {" + mistake + ": long}\n",
			},
			[]string{"templates/a.yaml"},
		},
		{
			"made by an action", map[string]string{"templates/a.yaml": configMap("a", "{{ dict \""+mistake+"\" \"long\" | toYaml }}")},
			[]string{"templates/a.yaml"},
		},
		{
			"asked for by an action", map[string]string{
				"templates/_helpers.tpl": "{{- define \"shop.annotations\" -}}\n" + mistake + ": long\n{{- end }}\n",
				"templates/a.yaml":       "{{- $a := include \"shop.annotations\" . | fromYaml }}\n" + configMap("a", mistake+": {{ index $a \""+mistake+"\" }}"),
			},
			[]string{"templates/a.yaml:7:5"},
		},
		{
			"among random values", map[string]string{"templates/a.yaml": configMap("a", "example.com/r: {{ randAlpha 9 }}", mistake+": long")},
			[]string{"templates/a.yaml:7:5"},
		},
		{
			"other characters before it", map[string]string{"templates/a.yaml": "{{ \"}}\" | len | toString | replace \"2\" \"\" }}{{- /* }} */ -}}\n# ä\nkind: ConfigMap\nmetadata: {name: a, labels: {ä: ö}, annotations: {\"" + mistake + "\": long}}\n"},
			[]string{"templates/a.yaml:4:52"},
		},
		{
			"an item of a list", map[string]string{"templates/a.yaml": "apiVersion: v1\nkind: List\nitems:\n- kind: ConfigMap\n  metadata:\n    name: a\n    annotations:\n      " + mistake + ": long\n"},
			[]string{"templates/a.yaml:8:7"},
		},
		{
			"a chart in a folder of another name", map[string]string{"charts/folder/Chart.yaml": strings.Replace(v3, "shop", "db", 1), "charts/folder/templates/a.yaml": configMap("a", mistake+": long")},
			[]string{"charts/folder/templates/a.yaml:6:5"},
		},
		{
			"a packed chart", map[string]string{"charts/db-1.0.0.tgz": archive(t, "db", map[string]string{"Chart.yaml": strings.Replace(v3, "shop", "db", 1), "templates/a.yaml": configMap("a", mistake+": long")})},
			[]string{"charts/db/templates/a.yaml:6:5"},
		},
		{
			"a chart under two aliases", map[string]string{
				"Chart.yaml":           v3 + "dependencies:\n- {name: db, version: 1.0.0, alias: one}\n- {name: db, version: 1.0.0, alias: two}\n",
				"charts/db/Chart.yaml": strings.Replace(v3, "shop", "db", 1), "charts/db/templates/a.yaml": configMap("{{ .Chart.Name }}", mistake+": long"),
			},
			[]string{"charts/db/templates/a.yaml:6:5", "charts/db/templates/a.yaml:6:5"},
		},
		{
			"a requirements.yaml", map[string]string{
				"Chart.yaml":           "apiVersion: v1\nname: shop\nversion: 1.0.0\nannotations: {helm.sh/sequencing: enabled}\n",
				"requirements.yaml":    "dependencies:\n- name: db\n  version: 1.0.0\n  depends-on: [x]\n",
				"charts/db/Chart.yaml": subchart,
			},
			[]string{"requirements.yaml:4:3"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.files["Chart.yaml"] == "" {
				tt.files["Chart.yaml"] = v3
			}
			places, all := found(t, tt.files, lint.RenderOptions{})
			for i := range places {
				places[i] = places[i][strings.LastIndex(places[i], " ")+1:]
			}
			if !slices.Equal(places, tt.want) {
				t.Errorf("found %q, want %q\n%v", places, tt.want, all)
			}
		})
	}
}

// TestValues checks that a chart is rendered with RenderOptions.Values.
func TestValues(t *testing.T) {
	files := map[string]string{"Chart.yaml": v3, "templates/a.yaml": "{{ if .Values.bad }}\n" + configMap("a", "{{ toYaml .Values.bad }}") + "{{ end }}"}
	if places, _ := found(t, files, lint.RenderOptions{}); len(places) > 0 {
		t.Errorf("found %q", places)
	}
	places, _ := found(t, files, lint.RenderOptions{Values: map[string]any{"bad": map[string]any{"helm.sh/layer": "a b"}}})
	if want := []string{"error invalid-layer-name templates/a.yaml"}; !slices.Equal(places, want) {
		t.Errorf("found %q, want %q", places, want)
	}
}

// TestChartWithoutOrder checks that there are no findings about mistakes in a chart that
// declares no order.
func TestChartWithoutOrder(t *testing.T) {
	files := map[string]string{"Chart.yaml": strings.Replace(v3, "v3", "v2", 1), "templates/a.yaml": configMap("a") + "---\n" + configMap("a", "example.com/n: 5") + "---\n" + configMap("a", "helm.sh/hook: nothing")}
	if places, _ := found(t, files, lint.RenderOptions{}); len(places) > 0 {
		t.Errorf("found %q", places)
	}
}

// TestListsInItemsOfLists checks that in the items of an object of kind List, sequencing
// annotations can be YAML lists, which Helm's rules reject, but other annotations cannot.
func TestListsInItemsOfLists(t *testing.T) {
	item := func(annotation string) map[string]string {
		return map[string]string{"Chart.yaml": v3, "values.yaml": "", "templates/a.yaml": "apiVersion: v1\nkind: List\nmetadata: {name: l}\nitems:\n" +
			"- {apiVersion: v1, kind: ConfigMap, metadata: {name: a, annotations: {helm.sh/layer: a, " + annotation + "}}}\n" +
			"- {apiVersion: v1, kind: ConfigMap, metadata: {name: b, annotations: {helm.sh/layer: b}}}\n"}
	}
	for annotation, want := range map[string]int{"depends-on.helm.sh/layers: [b]": 0, "example.com/x: [b]": 1} {
		report, err := lint.Check(t.Context(), write(t, item(annotation)), lint.RenderOptions{})
		if err != nil {
			t.Fatal(err)
		}
		errors := 0
		for _, m := range report.Helm {
			if m.Severity == support.ErrorSev {
				errors++
			}
		}
		for _, f := range report.Findings {
			if f.Severity == rule.Error {
				errors++
			}
		}
		if errors != want {
			t.Errorf("%s: %v %v", annotation, report.Helm, report.Findings)
		}
	}
}

// archive returns a .tgz archive of files in the given top-level directory.
func archive(t *testing.T, topLevel string, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), topLevel)
	if err := os.Rename(write(t, files), dir); err != nil {
		t.Fatal(err)
	}
	packed, err := chartpack.Pack(dir)
	if err != nil {
		t.Fatal(err)
	}
	return string(packed)
}

// TestInvalidTemplates checks that Chart.yaml is checked even if the templates cannot be
// rendered.
func TestInvalidTemplates(t *testing.T) {
	files := map[string]string{
		"Chart.yaml":           v3 + "dependencies:\n- {name: db, version: 1.0.0, depends-on: [queue]}\n",
		"charts/db/Chart.yaml": subchart, "templates/a.yaml": "{{ .Values.a.b.c }}{{ template \"nowhere\" }}",
	}
	if places, _ := found(t, files, lint.RenderOptions{}); !slices.Equal(places, []string{"error unknown-subchart Chart.yaml:6:30"}) {
		t.Errorf("found %q", places)
	}
}
