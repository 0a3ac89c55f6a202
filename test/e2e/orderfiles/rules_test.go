// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderfiles

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// expectInOrder checks whether Helm wrote the second object only after the first one was ready.
func expectInOrder(t *testing.T, h *harness.Helm, first, second string, want bool) {
	t.Helper()
	recorded := h.ReadTrace(t).Since(h.Started)
	ready, writes := recorded.Ready(first), recorded.HelmWrites(second, harness.ChangeVerbs...)
	if ready.IsZero() || len(writes) == 0 {
		t.Fatalf("%s was ready at %s, and the writes of %s are %v", first, ready, second, writes)
	}
	if ready.Before(writes[0].Received) != want {
		t.Errorf("%s was ready at %s, and %s was written at %s; want in order: %t", first, ready, second, writes[0].Received, want)
	}
}

// install installs a chart in order.
func install(t *testing.T, h *harness.Helm, dir string, flags ...string) harness.Result {
	t.Helper()
	h.Started = harness.Now()
	return h.MustRun(append([]string{"install", "rel", dir, "--wait=ordered"}, flags...)...)
}

// TestOrderFileWithoutEffect checks that an order.yaml is ignored if it is another document, if it is not part of the chart, and
// if the release is not deployed in order: the hooks of db then run after everything else.
//   - "has an effect if the release is deployed in order"
//   - "An order.yaml of another API group or kind is ignored, and so is one that .helmignore excludes"
func TestOrderFileWithoutEffect(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ header, ignored, wait string }{
		"without an order": {header, "", "--wait"},
		"another group":    {"apiVersion: example.com/v1\nkind: Order\nunknown: 5\n", "", "--wait=ordered"},
		"another kind":     {"apiVersion: helm.sh/v1alpha1\nkind: Orders\nunknown: 5\n", "", "--wait=ordered"},
		"excluded":         {header + "unknown: 5\n", "order.yaml\n", "--wait=ordered"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, dir := harness.New(t), others(t, "1", "")
			charts.AddFile(t, dir, "order.yaml", c.header+appAfterDB)
			charts.AddFile(t, dir, ".helmignore", c.ignored)
			h.Started = harness.Now()
			h.MustRun("install", "rel", dir, c.wait)
			expectInOrder(t, h, "Deployment/app", "Job/after", true)
		})
	}
}

// TestOrderFilePrecedence checks which rule decides about the hooks of db: they run before app, which depends on db, or after
// everything else.
//   - "If several rules set hookScope, readinessTimeout, layer or readiness.timeout, one of them takes precedence"
//   - "hookScope | chart or release: whether the hooks of the chart run before and after its subtree, or before and after the whole release"
//   - "the paths in it are relative to the root chart"
func TestOrderFilePrecedence(t *testing.T) {
	t.Parallel()
	const toChart, toRelease = "- {path: db, hookScope: chart}\n", "- {path: db, hookScope: release}\n"
	for name, c := range map[string]struct {
		ofDB, ofShop, given string
		inPlace             bool
	}{
		"the file of the chart itself":      {"- {path: ., hookScope: chart}\n", "", "", true},
		"the file of the chart around it":   {"- {path: ., hookScope: chart}\n", toRelease, "", false},
		"the given file":                    {"- {path: ., hookScope: release}\n", toRelease, toChart, true},
		"the last rule":                     {"", toChart + "- {path: 'd*', hookScope: release}\n", "", false},
		"the given file, not its last rule": {"", toChart + toChart, toRelease, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, dir := harness.New(t), others(t, "1", "charts:\n- {path: app, dependsOn: [db]}\n"+c.ofShop)
			if c.ofDB != "" {
				charts.AddFile(t, filepath.Join(dir, "charts", "db"), "order.yaml", header+"charts:\n"+c.ofDB)
			}
			var flags []string
			if c.given != "" {
				flags = []string{"--order", given(t, "charts:\n"+c.given)}
			}
			install(t, h, dir, flags...)
			expectInOrder(t, h, "Deployment/db", "Deployment/app", true)
			expectInOrder(t, h, "Job/after", "Deployment/app", c.inPlace)
			expectInOrder(t, h, "Job/before", "Deployment/app", true)
		})
	}
}

// TestOwnOrder checks when the order that a chart declares itself is used, although its apiVersion is v2.
//   - "If a path without * names a chart, the order that the chart itself declares is used too"
//   - "Names under dependsOn do not have this effect"
func TestOwnOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		metadata, orderFile string
		want                bool
	}{
		"a path names it":             {"", "charts: [{path: db}]\n", true},
		"match.chart names it":        {"", "resources: [{match: {chart: db}}]\n", true},
		"a pattern matches it":        {"", "charts: [{path: 'd*'}]\n", false},
		"a dependency names it":       {"", "charts: [{path: app, dependsOn: [db]}]\n", false},
		"it has disabled the feature": {"annotations: {helm.sh/sequencing: disabled}\n", "charts: [{path: db}]\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := charts.Chart{Name: "db", APIVersion: "v2", Metadata: c.metadata, Objects: []charts.Object{{Kind: "Deployment", Name: "db", Layer: "one"}, {Name: "db", Layer: "two", DependsOn: "one"}}}
			app := charts.Chart{Name: "app", APIVersion: "v2", Objects: []charts.Object{{Name: "app"}}}
			dir := charts.Chart{Name: "shop", APIVersion: "v2", Subcharts: []charts.Chart{app, db}}.Write(t)
			charts.AddFile(t, dir, "order.yaml", header+c.orderFile)
			h := harness.New(t)
			install(t, h, dir)
			expectInOrder(t, h, "Deployment/db", "ConfigMap/db", c.want) // without an order, ConfigMaps are written first
		})
	}
}

// TestAliases checks that paths contain aliases, as those that helm dag prints.
//   - "path and match.chart are paths like those that helm dag prints, with aliases"
func TestAliases(t *testing.T) {
	t.Parallel()
	h, dir := harness.New(t), others(t, "1", strings.ReplaceAll(appAfterDB+settingsFirst, "db", "data"))
	charts.Edit(t, dir, "Chart.yaml", "version: 0.1.0\n", "version: 0.1.0\ndependencies: [{name: db, version: 0.1.0, alias: data}]\n")
	install(t, h, dir)
	h.ExpectOrder(t, "Job/before", "ConfigMap/settings", "Deployment/db", "Job/after", "Deployment/app")
	harness.ExpectContains(t, h.MustRun("dag", dir).Stdout, "shop/data:settings")
}

// TestRules checks the effects of rules.
func TestRules(t *testing.T) {
	t.Parallel()
	harness.RunCases(t, map[string]func(*testing.T, *harness.Helm){
		"external dependencies": externalDependencies,
		"success":               successExpression,
		"hooks":                 rulesAboutHooks,
	})
}

// externalDependencies checks what waits for the external dependencies of rules.
//   - "external | objects and releases outside of the release that must be ready before the subtree of the chart"
//   - "external | objects and releases outside of the release that must be ready first"
func externalDependencies(t *testing.T, h *harness.Helm) {
	dir := others(t, "1", "charts: [{path: db, external: [Secret/registry]}]\nresources: [{match: {chart: app}, external: ['release:infra']}]\n")
	r := h.MustRunWhile(t, "external dependencies", func() {
		h.Apply(t, charts.Object{Kind: "Secret", Name: "registry"}.Manifest())
		h.MustRun("install", "infra", charts.Write(t, charts.Object{Name: "infra"}))
	}, "install", "rel", dir, "--wait=ordered", "--progress=plain")
	h.ExpectReadyBefore(t, r, "Secret/registry", "Deployment/db")
	h.ExpectReadyBefore(t, r, "Secret/registry", "Deployment/store")
	h.ExpectReadyBefore(t, r, "ConfigMap/infra", "Deployment/app")
}

// unready returns a chart with a Deployment that never becomes ready, and a ConfigMap. The order file makes the ConfigMap
// depend on the Deployment. It also contains the readiness of the Deployment, and rules about charts. annotations are those
// of the Deployment.
func unready(t *testing.T, readiness, rules string, annotations ...string) string {
	t.Helper()
	dir := charts.Chart{APIVersion: "v2", Objects: []charts.Object{
		{Kind: "Deployment", Name: "slow", PodAnnotations: charts.NeverReady, Annotations: annotations}, {Name: "last"},
	}}.Write(t)
	charts.AddFile(t, dir, "order.yaml", header+rules+"resources:\n- {match: {kind: Deployment}, layer: one, readiness: {"+readiness+"}}\n- {match: {kind: ConfigMap}, layer: two, dependsOn: [one]}\n")
	return dir
}

// successExpression checks that a rule can say when a resource is ready.
//   - "readiness.success, readiness.failure | expressions that say whether a resource is ready, or has failed"
func successExpression(t *testing.T, h *harness.Helm) {
	install(t, h, unready(t, "success: ['{.replicas} >= 1']", ""))
	if h.Get(t, "ConfigMap/last") == nil {
		t.Error("the dependent was not created")
	}
}

// TestRulesAboutFailures checks when resources fail because of rules.
//   - "readiness.success, readiness.failure | expressions that say whether a resource is ready, or has failed"
//   - "readiness.timeout | how long each of the resources can take to become ready"
//   - "readinessTimeout | how long each of the chart's own resources can take to become ready, if nothing sets a timeout for the resource itself"
//   - "readinessTimeout is a default: timeouts of single resources take precedence"
func TestRulesAboutFailures(t *testing.T) {
	t.Parallel()
	const ofChart = "charts: [{path: ., readinessTimeout: 2s}]\n"
	for name, c := range map[string]struct{ dir, want string }{
		"expression":                 {unready(t, "failure: ['{.replicas} >= 1']", ""), "{.replicas} >= 1"},
		"timeout":                    {unready(t, "timeout: 2s", ""), "was not ready within 2s"},
		"timeout of the chart":       {unready(t, "", ofChart), "was not ready within 2s"},
		"both timeouts":              {unready(t, "timeout: 3s", ofChart), "was not ready within 3s"},
		"timeout in an annotation":   {unready(t, "", ofChart, "helm.sh/readiness-timeout: 4s"), "was not ready within 4s"},
		"timeout of the chart later": {unready(t, "", strings.Replace(ofChart, "2s}", "2s}, {path: '*', readinessTimeout: 5s}, {path: ., readinessTimeout: 3s}", 1)), "was not ready within 3s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			r := h.ExpectFailure(t, []string{"install", "rel", c.dir, "--wait=ordered"}, "Deployment/slow", c.want)
			if h.Get(t, "ConfigMap/last") != nil {
				t.Errorf("the dependent was created:\n%s", r.Stderr)
			}
		})
	}
}

// rulesAboutHooks checks that rules about resources do not match hooks.
//   - "The rules under resources are about resources that are not hooks"
func rulesAboutHooks(t *testing.T, h *harness.Helm) {
	r := install(t, h, others(t, "1", "resources: [{match: {kind: Job}, layer: jobs}]\n"))
	harness.ExpectContains(t, r.Stderr, "order.yaml:3: resources[0] matches nothing in this release")
}
