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

	"github.com/ordered-helm/helm/internal/lint"
	"github.com/ordered-helm/helm/internal/orderfile"
)

// flat is a flat chart that does not declare an order, and order the beginning of an order file.
const (
	flat  = "apiVersion: v2\nname: shop\nversion: 1.0.0\nicon: https://example.com/i.png\n"
	order = "apiVersion: helm.sh/v1alpha1\nkind: Order\n"
)

// job is a hook of the event.
func job(name, event string) string {
	return "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: " + name + "\n  annotations:\n    helm.sh/hook: " + event + "\n" +
		"spec:\n  template:\n    spec: {restartPolicy: Never, containers: [{name: a, image: b}]}\n"
}

// dbAndApp is a chart in which app depends on db. dependency is what the chart says about db.
func dbAndApp(dependency string, more map[string]string) map[string]string {
	files := map[string]string{
		"Chart.yaml":           v3 + "dependencies:\n- {name: db, version: 1.0.0" + dependency + "}\n- {name: app, version: 1.0.0, depends-on: [db]}\n",
		"charts/db/Chart.yaml": subchart, "charts/db/templates/a.yaml": configMap("db"),
		"charts/app/Chart.yaml": strings.ReplaceAll(subchart, "db", "app"), "charts/app/templates/a.yaml": configMap("app"),
	}
	maps.Copy(files, more)
	return files
}

// orderViolations contains charts that violate the rules about order files, external dependencies and the scopes of hooks.
var orderViolations = []violation{
	{
		name:  "invalid-order-file",
		files: map[string]string{"Chart.yaml": flat, "order.yaml": order + "charts:\n- path: .\n  dependsOnOwn: [db]\n"},
		want:  []string{"error invalid-order-file order.yaml:5"}, says: "charts[0].dependsOnOwn: unknown field: did you mean dependsOn?",
		mend: [3]string{"order.yaml", "  dependsOnOwn: [db]\n", ""},
	},
	{
		name: "invalid-order-file of a subchart under an alias",
		files: map[string]string{
			"Chart.yaml":           flat + "dependencies:\n- {name: db, version: 1.0.0, alias: data}\n",
			"charts/db/Chart.yaml": subchart, "charts/db/order.yaml": order + "resources:\n- match: {}\n  layer: a b\n- match: {}\n  layer: x\n  dependsOn: [x]\n",
			"charts/db/templates/a.yaml": configMap("a"), "charts/db/templates/b.yaml": configMap("b"),
		},
		want: []string{"error invalid-order-file charts/db/order.yaml:5", "error invalid-order-file charts/db/order.yaml:8"}, says: `resources[0].layer: "a b": the name of a layer must not contain whitespace`,
		mend: [3]string{"charts/db/order.yaml", "  layer: a b\n- match: {}\n  layer: x\n  dependsOn: [x]\n", "  readiness: {timeout: 1m}\n"},
	},
	{
		name:  "invalid-order-file of another version",
		files: map[string]string{"Chart.yaml": flat, "order.yaml": "apiVersion: helm.sh/v1\nkind: Order\n"},
		want:  []string{"error invalid-order-file order.yaml:1"}, says: `apiVersion: "helm.sh/v1" is not supported`,
		mend: [3]string{"order.yaml", "v1", "v1alpha1"},
	},
	{
		name:  "invalid-order-file with too many expressions",
		files: map[string]string{"Chart.yaml": flat, "templates/a.yaml": configMap("a"), "order.yaml": order + "resources:\n" + expressionRules(6)},
		want:  []string{"error invalid-order-file order.yaml:19"}, says: "resources[5].readiness.success: a resource that this rule matches has more than",
		mend: [3]string{"order.yaml", expressionRules(6), expressionRules(1)},
	},
	{
		name:  "ignored-order-file",
		files: map[string]string{"Chart.yaml": flat, "order.yaml": order, ".helmignore": "order.*\n"},
		want:  []string{"warning ignored-order-file order.yaml"}, says: ".helmignore excludes this file: it is not part of the chart, and has no effect",
		mend: [3]string{".helmignore", "order.*", "orders"},
	},
	{
		name: "ignored-order-file of a subchart",
		files: map[string]string{
			"Chart.yaml": flat, ".helmignore": "charts/db/order.yaml\n", "charts/db/Chart.yaml": subchart, "charts/db/order.yaml": order + "charts: 5\n",
		},
		want: []string{"warning ignored-order-file charts/db/order.yaml"}, says: "excludes this file",
		mend: [3]string{"charts/db/order.yaml", "helm.sh/v1alpha1", "example.com/v1"},
	},
	{
		name: "unmatched-order-rule about charts",
		files: map[string]string{
			"Chart.yaml":           flat + "dependencies:\n- {name: db, version: 1.0.0}\n- {name: app, version: 1.0.0, condition: app.enabled}\n",
			"charts/db/Chart.yaml": subchart, "charts/app/Chart.yaml": strings.ReplaceAll(subchart, "db", "app"), "values.yaml": "app: {enabled: false}\n",
			"order.yaml": order + "charts:\n- path: db\n  hookScope: chart\n- path: app\n  hookScope: chart\n- path: dp\n  hookScope: chart\n",
		},
		want: []string{"warning unmatched-order-rule order.yaml:8:3"}, says: "charts[2] matches nothing: the rule is ignored",
		mend: [3]string{"order.yaml", "- path: dp\n  hookScope: chart\n", ""},
	},
	{
		name: "unmatched-order-rule about resources",
		files: map[string]string{
			"Chart.yaml": flat, "templates/a.yaml": configMap("a"), "order.yaml": order + "resources:\n- match: {kind: ConfigMap}\n  layer: a\n- {match: {name: b}, dependsOn: [a]}\n",
		},
		want: []string{"warning unmatched-order-rule order.yaml:6:3", "info layer-unreached templates/a.yaml"}, says: "resources[1] matches nothing",
		mend: [3]string{"order.yaml", "  layer: a\n- {match: {name: b}, dependsOn: [a]}\n", "  readiness: {timeout: 1m}\n"},
	},
	{
		name:  "unknown-layer in an order file",
		files: map[string]string{"Chart.yaml": flat, "templates/a.yaml": configMap("a"), "order.yaml": order + "resources:\n- match: {}\n  dependsOn: [b]\n"},
		want:  []string{"warning unknown-layer order.yaml:5:3"}, says: `ConfigMap/a depends on the unknown layer "b"`,
		mend: [3]string{"order.yaml", "[b]", "[]"},
	},
	{
		name:  "unknown-subchart in an order file",
		files: map[string]string{"Chart.yaml": flat, "order.yaml": order + "charts:\n- path: .\n  ownDependsOn: [db]\n"},
		want:  []string{"error unknown-subchart order.yaml:5:3"}, says: `charts[0].ownDependsOn refers to unknown subchart "db"`,
		mend: [3]string{"order.yaml", "[db]", "[]"},
	},
	{
		name: "dependency-cycle of an order file and Chart.yaml",
		files: dbAndApp("", map[string]string{
			"order.yaml": order + "charts:\n- path: db\n  dependsOn: [app]\n",
		}),
		want: []string{"error dependency-cycle Chart.yaml:7:31"}, says: "subchart db depends on subchart app (order.yaml:5)",
		mend: [3]string{"order.yaml", "  dependsOn: [app]\n", ""},
	},
	{
		name: "dependency-cycle of charts with external dependencies",
		files: dbAndApp("", map[string]string{
			"order.yaml": order + "charts:\n- path: db\n  dependsOn: [app]\n- path: '*'\n  external: [Secret/a]\n",
		}),
		want: []string{"error dependency-cycle Chart.yaml:7:31"}, says: "subchart db depends on subchart app (order.yaml:5)",
		mend: [3]string{"order.yaml", "  dependsOn: [app]\n", ""},
	},
	{
		name: "dependency-cycle of layers in an order file",
		files: map[string]string{
			"Chart.yaml": flat, "templates/a.yaml": configMap("a"), "templates/b.yaml": configMap("b"), "templates/c.yaml": configMap("c"),
			"order.yaml": order + "resources:\n- {match: {name: a}, layer: a, dependsOn: [b]}\n- {match: {name: b}, layer: b, dependsOn: [a]}\n",
		},
		want: []string{"error dependency-cycle order.yaml:4:32"}, says: `layer "a" depends on layer "b" (order.yaml:4), layer "b" depends on layer "a" (order.yaml:5)`,
		mend: [3]string{"order.yaml", "b, dependsOn: [a]", "b"},
	},
	{
		name: "conflicting-spellings of an order file and an annotation",
		files: map[string]string{
			"Chart.yaml": v3, "templates/a.yaml": configMap("a", "helm.sh/layer: a") + "---\n" + configMap("b"),
			"order.yaml": order + "resources:\n- match: {name: a}\n  layer: b\n",
		},
		want: []string{"error conflicting-spellings order.yaml:5:3"}, says: `resources[0].layer: "b" conflicts with helm.sh/layer: "a" in templates/a.yaml, for ConfigMap/a: remove one of them`,
		mend: [3]string{"order.yaml", "layer: b", "layer: a"},
	},
	{
		name:  "conflicting-spellings of hookScope",
		files: dbAndApp(", hookScope: chart", map[string]string{"charts/db/Chart.yaml": strings.Replace(subchart, "v2", "v3", 1) + "hookScope: release\n"}),
		want:  []string{"error conflicting-spellings charts/db/Chart.yaml:4:1"}, says: `hookScope: "release" conflicts with hookScope of dependency db: "chart" in Chart.yaml, for chart shop/db`,
		mend: [3]string{"charts/db/Chart.yaml", "hookScope: release", "hookScope: chart"},
	},
	{
		name: "conflicting-spellings of helm.sh/hook-scope in an order file",
		files: map[string]string{
			"Chart.yaml": v3 + "annotations:\n  helm.sh/hook-scope: release\n", "order.yaml": order + "charts:\n- path: .\n  hookScope: chart\n",
		},
		want: []string{"error conflicting-spellings order.yaml:5:3"}, says: `charts[0].hookScope: "chart" conflicts with hookScope: "release" in Chart.yaml, for chart shop`,
		mend: [3]string{"order.yaml", "chart\n", "release\n"},
	},
	{
		name:  "conflicting-spellings of hookScope and its annotation",
		files: map[string]string{"Chart.yaml": v3 + "hookScope: chart\nannotations:\n  helm.sh/hook-scope: release\n"},
		want:  []string{"error conflicting-spellings Chart.yaml:7:3"}, says: `conflicts with hookScope: "chart"`,
		mend: [3]string{"Chart.yaml", "release", "chart"},
	},
	{
		name:  "invalid-hook-scope",
		files: map[string]string{"Chart.yaml": v3 + "hookScope: subchart\n"},
		want:  []string{"error invalid-hook-scope Chart.yaml:5:1"}, says: `hookScope: "subchart": must be chart or release`,
		mend: [3]string{"Chart.yaml", "subchart", "chart"},
	},
	{
		name:  "invalid-hook-scope in an annotation",
		files: map[string]string{"Chart.yaml": v3 + "annotations:\n  helm.sh/hook-scope: everything\n"},
		want:  []string{"error invalid-hook-scope Chart.yaml:6:3"}, says: `helm.sh/hook-scope: "everything": must be chart or release`,
		mend: [3]string{"Chart.yaml", "everything", "release"},
	},
	{
		name:  "invalid-hook-scope in an annotation that is a list",
		files: map[string]string{"Chart.yaml": v3 + "annotations:\n  helm.sh/hook-scope: [chart]\n"},
		want:  []string{"error invalid-hook-scope Chart.yaml:6:3"}, says: "helm.sh/hook-scope: must be chart or release",
		mend: [3]string{"Chart.yaml", "[chart]", "chart"},
	},
	{
		name:  "invalid-hook-scope of a dependency",
		files: dbAndApp(", hookScope: [chart]", nil),
		want:  []string{"error invalid-hook-scope Chart.yaml:6:30"}, says: `dependency "db": hookScope: ["chart"]: must be chart or release`,
		mend: [3]string{"Chart.yaml", "[chart]", "chart"},
	},
	{
		name: "invalid-hook-scope in a chart that is not sequenced",
		files: map[string]string{
			"Chart.yaml": v3, "charts/db/Chart.yaml": subchart + "hookScope: subchart\n", "templates/a.yaml": configMap("a"),
		},
		want: []string{"warning sequencing-not-enabled charts/db/Chart.yaml:1:1", "warning invalid-hook-scope charts/db/Chart.yaml:4:1"}, says: "chart shop/db declares an order that is ignored",
		mend: [3]string{"charts/db/Chart.yaml", "hookScope: subchart\n", ""},
	},
	{
		name:  "unknown-key of hookScope",
		files: map[string]string{"Chart.yaml": v3 + "hook-scope: chart\nannotations: {helm.sh/hookscopes: chart}\n"},
		want:  []string{"error unknown-key Chart.yaml:5:1", "error unknown-key Chart.yaml:6:15"}, says: "did you mean hookScope?",
		mend: [3]string{"Chart.yaml", "hook-scope: chart\nannotations: {helm.sh/hookscopes: chart}\n", "hookScope: chart\n"},
	},
	{
		name:  "unknown-key of hookScope in a dependency",
		files: dbAndApp(", hooksScope: chart", nil),
		want:  []string{"error unknown-key Chart.yaml:6:30"}, says: "did you mean hookScope?",
		mend: [3]string{"Chart.yaml", "hooksScope", "hookScope"},
	},
	{
		name:  "misplaced-key of hookScope",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": configMap("a", "helm.sh/hook-scope: chart")},
		want:  []string{"error misplaced-key templates/a.yaml:6:5"}, says: "has no effect in a template: move it into Chart.yaml",
		mend: [3]string{"templates/a.yaml", "helm.sh/hook-scope", "a"},
	},
	{
		name: "misplaced-key of hookScope in a hook",
		files: map[string]string{
			"Chart.yaml":       v3,
			"templates/a.yaml": strings.Replace(job("b", "post-install"), "spec:", "    helm.sh/hook_scope: chart\nspec:", 1),
		},
		want: []string{"warning misplaced-key templates/a.yaml:7:5"}, says: "Job/b: helm.sh/hook_scope: has no effect in a template: use helm.sh/hook-scope in Chart.yaml",
		mend: [3]string{"templates/a.yaml", "    helm.sh/hook_scope: chart\n", ""},
	},
	{
		name:  "sequencing-not-enabled with hookScope",
		files: map[string]string{"Chart.yaml": flat + "hookScope: chart\n"},
		want:  []string{"error sequencing-not-enabled Chart.yaml:1:1"}, says: "chart shop declares an order that is ignored",
		mend: [3]string{"Chart.yaml", "v2", "v3"},
	},
	{
		name:  "sequencing-not-enabled with the annotation helm.sh/hook-scope",
		files: map[string]string{"Chart.yaml": flat + "annotations: {helm.sh/hook-scope: chart}\n"},
		want:  []string{"error sequencing-not-enabled Chart.yaml:1:1"}, says: "chart shop declares an order that is ignored",
		mend: [3]string{"Chart.yaml", "{helm.sh/hook-scope: chart}", "{helm.sh/hook-scope: chart, helm.sh/sequencing: disabled}"},
	},
	{
		name:  "sequencing-not-enabled with external dependencies",
		files: map[string]string{"Chart.yaml": flat + "annotations: {depends-on.helm.sh/external: Secret/a}\n"},
		want:  []string{"error sequencing-not-enabled Chart.yaml:1:1"}, says: "chart shop declares an order that is ignored",
		mend: [3]string{"Chart.yaml", "v2", "v3"},
	},
	{
		name:  "sequencing-not-enabled with external dependencies of a resource",
		files: map[string]string{"Chart.yaml": flat, "templates/a.yaml": configMap("a", "depends-on.helm.sh/external: Secret/a")},
		want:  []string{"error sequencing-not-enabled Chart.yaml:1:1"}, says: "chart shop declares an order that is ignored",
		mend: [3]string{"Chart.yaml", "v2", "v3"},
	},
	{
		name:  "sequencing-not-enabled with deploy-on",
		files: map[string]string{"Chart.yaml": flat, "templates/a.yaml": configMap("a", "helm.sh/deploy-on: install")},
		want:  []string{"error sequencing-not-enabled Chart.yaml:1:1"}, says: "chart shop declares an order that is ignored",
		mend: [3]string{"Chart.yaml", "v2", "v3"},
	},
	{
		name:  "malformed-value of deploy-on",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": configMap("a", "helm.sh/deploy-on: [install, delete]")},
		want:  []string{"error malformed-value templates/a.yaml:6:5"}, says: `"delete" is no operation: list any of install, upgrade and rollback`,
		mend: [3]string{"templates/a.yaml", "delete", "upgrade"},
	},
	{
		name:  "unknown-key of deploy-on and external dependencies",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": configMap("a", "helm.sh/deployon: install", "helm.sh/external-timeouts: 5m", "depends-on.helm.sh/externals: Secret/a")},
		want:  []string{"error unknown-key templates/a.yaml:6:5", "error unknown-key templates/a.yaml:7:5", "error unknown-key templates/a.yaml:8:5"}, says: "did you mean helm.sh/deploy-on?",
		mend: [3]string{"templates/a.yaml", "    helm.sh/deployon: install\n    helm.sh/external-timeouts: 5m\n    depends-on.helm.sh/externals: Secret/a\n", "    a: b\n"},
	},
	{
		name:  "hook-sequencing with deploy-on and external dependencies",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": configMap("a", "helm.sh/hook: pre-install", "helm.sh/deploy-on: install", "depends-on.helm.sh/external: x")},
		want:  []string{"warning hook-sequencing templates/a.yaml:8:5"}, says: "ConfigMap/a is a hook: depends-on.helm.sh/external, helm.sh/deploy-on is ignored",
		mend: [3]string{"templates/a.yaml", "    helm.sh/deploy-on: install\n    depends-on.helm.sh/external: x\n", ""},
	},
	{
		name:  "malformed-duration of external dependencies",
		files: map[string]string{"Chart.yaml": v3 + "annotations: {depends-on.helm.sh/external: Secret/a, helm.sh/external-timeout: 30}\n"},
		want:  []string{"error malformed-duration Chart.yaml:5:54"}, says: "helm.sh/external-timeout: 30: must be a duration",
		mend: [3]string{"Chart.yaml", "30}", "30s}"},
	},
	{
		name:  "external-timeout-too-long",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": configMap("a", "depends-on.helm.sh/external: Secret/a", "helm.sh/external-timeout: 10m")},
		want:  []string{"warning external-timeout-too-long templates/a.yaml:7:5"}, says: "10m0s is longer than 5m0s, the default of --timeout",
		mend: [3]string{"templates/a.yaml", "10m", "5m"},
	},
	{
		name:  "external-timeout-too-long in Chart.yaml",
		files: map[string]string{"Chart.yaml": v3 + "annotations: {depends-on.helm.sh/external: Secret/a, helm.sh/external-timeout: 10m}\n"},
		want:  []string{"warning external-timeout-too-long Chart.yaml:5:54"}, says: "10m0s is longer than 5m0s, the default of --timeout",
		mend: [3]string{"Chart.yaml", "10m", "5m"},
	},
	{
		name:  "invalid-external-dependency",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": configMap("a", "helm.sh/layer: a", "depends-on.helm.sh/external: [secrets/a, registry]") + "---\n" + configMap("b")},
		want:  []string{"error invalid-external-dependency templates/a.yaml:7:5"}, says: `depends-on.helm.sh/external: ["secrets/a","registry"]: "secrets/a": "secrets" is not a kind`,
		mend: [3]string{"templates/a.yaml", "secrets/a, registry", "Secret/a, Secret/registry"},
	},
	{
		name:  "invalid-external-dependency in Chart.yaml",
		files: map[string]string{"Chart.yaml": v3 + "annotations:\n  depends-on.helm.sh/external: release:A\n"},
		want:  []string{"error invalid-external-dependency Chart.yaml:6:3"}, says: `is not the name of a release`,
		mend: [3]string{"Chart.yaml", "release:A", "Secret/a"},
	},
	{
		name:  "invalid-external-dependency in an order file",
		files: map[string]string{"Chart.yaml": flat, "templates/a.yaml": configMap("a"), "order.yaml": order + "resources:\n- match: {}\n  external: [registry]\n"},
		want:  []string{"error invalid-external-dependency order.yaml:5:3"}, says: `ConfigMap/a: resources[0].external: "registry": external dependency "registry": must have the form`,
		mend: [3]string{"order.yaml", "registry", "Secret/registry"},
	},
	{
		name:  "invalid-external-dependency that is part of the release",
		files: map[string]string{"Chart.yaml": v3, "templates/a.yaml": configMap("a", "depends-on.helm.sh/external: ConfigMap/b"), "templates/b.yaml": configMap("b")},
		want:  []string{"error invalid-external-dependency templates/a.yaml:6:5"}, says: `ConfigMap/a: depends-on.helm.sh/external: "ConfigMap/b": is part of the same release (templates/b.yaml)`,
		mend: [3]string{"templates/a.yaml", "ConfigMap/b", "ConfigMap/c"},
	},
	{
		name: "fixed-external-dependency",
		files: map[string]string{
			"Chart.yaml":       v3,
			"templates/a.yaml": configMap("a", "depends-on.helm.sh/external: [Secret/registry, Secret/shared/registry, 'release:{{ .Values.kafka }}', StorageClass/fast]"),
			"values.yaml":      "kafka: data/kafka\n",
		},
		want: []string{"info fixed-external-dependency templates/a.yaml:6:5"}, says: "ConfigMap/a depends on Secret/registry in the namespace shared: the chart can be installed only where this exists",
		mend: [3]string{"templates/a.yaml", "/shared/", "/{{ .Release.Namespace }}/"},
	},
	{
		name:  "fixed-external-dependency in Chart.yaml",
		files: map[string]string{"Chart.yaml": v3 + "annotations:\n  helm.sh/depends-on/external: ['release:kafka', Secret/a]\n"},
		want:  []string{"info fixed-external-dependency Chart.yaml:6:3"}, says: "the chart depends on the release kafka: the chart can be installed only where this exists",
		mend: [3]string{"Chart.yaml", "'release:kafka'", "Secret/b"},
	},
	{
		name: "fixed-external-dependency of many resources in an order file",
		files: map[string]string{
			"Chart.yaml": flat, "templates/a.yaml": configMap("a"), "templates/b.yaml": configMap("b"),
			"order.yaml": order + "resources:\n- match: {}\n  external: ['release:data/kafka']\n",
		},
		want: []string{"info fixed-external-dependency order.yaml:5:3"}, says: "resources[0] depends on the release kafka in the namespace data",
		mend: [3]string{"order.yaml", "'release:data/kafka'", "Secret/b"},
	},
	{
		name:  "late-hook",
		files: dbAndApp("", map[string]string{"charts/db/templates/hook.yaml": job("migrate", "post-install,pre-install"), "charts/db/templates/other.yaml": job("other", "post-upgrade")}),
		want:  []string{"info late-hook charts/db/templates/hook.yaml:6:5"},
		says:  "the hooks Job/migrate (post-install), Job/other (post-upgrade) of chart shop/db run only after all resources of the release, although chart shop/app depends on chart shop/db",
		mend:  [3]string{"Chart.yaml", "db, version: 1.0.0", "db, version: 1.0.0, hookScope: chart"},
	},
	{
		name: "unmeetable-need of a hook in its place in the order",
		files: dbAndApp(", hookScope: chart", map[string]string{
			"charts/db/templates/hook.yaml": configMap("late", "helm.sh/hook: post-install,post-upgrade"),
			"charts/db/templates/pod.yaml":  "apiVersion: v1\nkind: Pod\nmetadata:\n  name: p\nspec: {containers: [{name: c, image: i, envFrom: [{configMapRef: {name: late}}]}]}\n",
			"charts/app/templates/pod.yaml": "apiVersion: v1\nkind: Pod\nmetadata:\n  name: q\nspec: {containers: [{name: c, image: i, envFrom: [{configMapRef: {name: late}}]}]}\n",
		}),
		want: []string{"error unmeetable-need charts/db/templates/pod.yaml:2:1"},
		says: "Pod/p in unlayered resources of chart shop/db needs ConfigMap/late, which the post-install hooks of chart shop/db create (charts/db/templates/hook.yaml), but only later",
		mend: [3]string{"charts/db/templates/hook.yaml", "post-install,post-upgrade", "pre-install,pre-upgrade"},
	},
}

// expressionRules returns n rules, with 20 different expressions each, for every resource.
func expressionRules(n int) string {
	var text strings.Builder
	for i := range n {
		var list []string
		for j := range 20 {
			list = append(list, fmt.Sprintf("'a == %d'", 100*i+j))
		}
		fmt.Fprintf(&text, "- match: {}\n  readiness:\n    success: [%s]\n", strings.Join(list, ", "))
	}
	return text.String()
}

// TestOrderFilesOfOthers checks that an order.yaml of another API group or kind is not examined.
func TestOrderFilesOfOthers(t *testing.T) {
	for name, text := range map[string]string{
		"group": "apiVersion: example.com/v1\nkind: Order\ncharts: 5\n", "kind": "apiVersion: helm.sh/v1alpha1\nkind: Orders\ncharts: 5\n", "no YAML": "a: [\n", "empty": "",
	} {
		t.Run(name, func(t *testing.T) {
			for _, ignored := range []string{"", "order.yaml\n"} {
				files := map[string]string{"Chart.yaml": flat, "order.yaml": text, ".helmignore": ignored, "templates/a.yaml": configMap("a") + "---\n" + configMap("a")}
				if places, all := found(t, files, lint.RenderOptions{}); len(places) > 0 {
					t.Errorf("found %v", all)
				}
			}
		})
	}
}

// TestOrderFileInAnInvalidChart checks that rules about resources are not reported if there are none because the templates
// cannot be rendered, and that rules about charts are.
func TestOrderFileInAnInvalidChart(t *testing.T) {
	files := map[string]string{
		"Chart.yaml": flat, "templates/a.yaml": "{{ fail .Values.a.b }}", "order.yaml": order + "charts: [{path: a}]\nresources: [{match: {name: a}, layer: a}]\n",
	}
	if places, all := found(t, files, lint.RenderOptions{}); !slices.Equal(places, []string{"warning unmatched-order-rule order.yaml:3:10"}) {
		t.Errorf("found %v", all)
	}
}

// TestGivenOrderFile checks the findings about an order file that is not part of the chart.
func TestGivenOrderFile(t *testing.T) {
	chart := dbAndApp("", map[string]string{"order.yaml": order + "charts: [{path: x}]\n"})
	for _, tt := range []struct {
		name, text string
		want       []string
		err        string
	}{
		{"valid", order + "charts: [{path: db, hookScope: chart}]\nresources: [{match: {}, external: ['release:a']}]\n", nil, ""},
		{
			"a rule that matches nothing", order + "resources:\n- {match: {name: none}, layer: a}\n",
			[]string{"warning unmatched-order-rule ../order.yaml:4:3 resources[0] matches nothing: the rule is ignored"}, "",
		},
		{
			"a cycle", order + "charts:\n- path: db\n  dependsOn: [app]\n",
			[]string{"error dependency-cycle Chart.yaml:7:31 dependency cycle: subchart app depends on subchart db (Chart.yaml:7), subchart db depends on subchart app (../order.yaml:5)"}, "",
		},
		{
			"an own object", order + "resources:\n- match: {name: app}\n  external: [ConfigMap/db]\n",
			[]string{`error invalid-external-dependency ../order.yaml:5:3 ConfigMap/app: resources[0].external: "ConfigMap/db": is part of the same release (charts/db/templates/a.yaml): use layers instead (helm.sh/layer and depends-on.helm.sh/layers)`}, "",
		},
		{"invalid", order + "charts: [{pat: db}]\n", nil, "order.yaml:3: charts[0].pat: unknown field: did you mean path?"},
		{"not an order file", "a: b\n", nil, "it must have the apiVersion helm.sh/v1alpha1 and the kind Order"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := write(t, chart)
			t.Chdir(filepath.Dir(dir))
			report, err := lint.CheckChart(t.Context(), filepath.Base(dir), lint.RenderOptions{OrderFile: &orderfile.Given{Name: "order.yaml", Text: []byte(tt.text)}})
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Fatalf("got %v, want %s", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range report.Findings {
				if f.File == "order.yaml" { // that of the chart
					continue
				}
				got = append(got, fmt.Sprintf("%s %s %s:%d:%d %s", f.Severity, f.Rule, f.File, f.Line, f.Column, f.Message))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %s\nwant %s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
			}
		})
	}
}

// TestGivenOrderFileOfAnArchive checks that the name of a given order file is relative to the archive, not to the directory into
// which it is unpacked.
func TestGivenOrderFileOfAnArchive(t *testing.T) {
	file := filepath.Join(t.TempDir(), "shop.tgz")
	if err := os.WriteFile(file, []byte(archive(t, "shop", map[string]string{"Chart.yaml": flat})), 0o600); err != nil {
		t.Fatal(err)
	}
	given := &orderfile.Given{Name: filepath.Join(filepath.Dir(file), "orders", "shop.yaml"), Text: []byte(order + "charts: [{path: x}]\n")}
	report, err := lint.CheckChart(t.Context(), file, lint.RenderOptions{OrderFile: given})
	if err != nil || len(report.Findings) != 1 || report.Findings[0].File != "../orders/shop.yaml" || report.Findings[0].Line != 3 {
		t.Errorf("got %+v, %v", report, err)
	}
}
