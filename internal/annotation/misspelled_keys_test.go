// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package annotation_test

import (
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/annotation"
)

// keyTest is a key, and a part of the text about it; empty if the key is valid or foreign.
type keyTest struct{ key, want string }

func testKeyProblems(t *testing.T, problemOf func(string) (string, annotation.ErrorKind), tests []keyTest) {
	t.Helper()
	for _, tt := range tests {
		reason, kind := problemOf(tt.key)
		if tt.want == "" && reason != "" || !strings.Contains(reason, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.key, reason, tt.want)
		}
		if misplaced := strings.Contains(reason, "has no effect"); misplaced != (kind == annotation.Misplaced) {
			t.Errorf("%s: %q has the kind %q", tt.key, reason, kind)
		}
	}
}

func TestKeyProblem(t *testing.T) {
	testKeyProblems(t, annotation.KeyProblem, []keyTest{
		{"helm.sh/layers", "did you mean helm.sh/layer?"},
		{"helm.sh/Layer", "did you mean helm.sh/layer?"},
		{"Helm.sh/layer", "did you mean helm.sh/layer?"},
		{"helm.sh/lyaer", "did you mean helm.sh/layer?"},
		{"helm.sh/resource-groups", "did you mean helm.sh/resource-group?"},
		{"helm.sh/resourceGroup", "did you mean helm.sh/resource-group?"},
		{"helm.sh/resource_group", "did you mean helm.sh/resource-group?"},
		{"helm.sh/depends-on", "did you mean depends-on.helm.sh/layers?"},
		{"helm.sh/depends-on-layers", "did you mean depends-on.helm.sh/layers?"},
		{"helm.sh/depends-on/layer", "did you mean depends-on.helm.sh/layers?"},
		{"helm.sh/depends_on/layers", "did you mean depends-on.helm.sh/layers?"},
		{"helm.sh/dependsOn/layers", "did you mean depends-on.helm.sh/layers?"},
		{"helm.sh/depends-on/resource-group", "did you mean depends-on.helm.sh/resource-groups?"},
		{"depends-on.helm.sh/layer", "did you mean depends-on.helm.sh/layers?"},
		{"depends-on.helm.sh/anything", "did you mean depends-on.helm.sh/layers?"},
		{"helm.sh/readiness-succss", "did you mean helm.sh/readiness-success?"},
		{"helm.sh/readiness-fail", "did you mean helm.sh/readiness-failure?"},
		{"helm.sh/readyness-timeout", "did you mean helm.sh/readiness-timeout?"},
		{"helm.sh/depends-on/subcharts", "move it into Chart.yaml"},
		{"depends-on.helm.sh/subcharts", "move it into Chart.yaml"},
		{"helm.sh/depends-on/subchart", "use depends-on.helm.sh/subcharts in Chart.yaml"},
		{"helm.sh/depends-on/externals", "did you mean depends-on.helm.sh/external?"},
		{"depends-on.helm.sh/externl", "did you mean depends-on.helm.sh/external?"},
		{"helm.sh/externalTimeout", "did you mean helm.sh/external-timeout?"},

		{"helm.sh/depends-on/external", ""},
		{"depends-on.helm.sh/external", ""},
		{"helm.sh/external-timeout", ""},
		{"helm.sh/layer", ""},
		{"helm.sh/depends-on/layers", ""},
		{"depends-on.helm.sh/resource-groups", ""},
		{"helm.sh/hook-scope", "has no effect in a template: move it into Chart.yaml"},
		{"helm.sh/hookScope", "has no effect in a template: use helm.sh/hook-scope in Chart.yaml"},
		{"helm.sh/hook", ""},
		{"helm.sh/hook-weight", ""},
		{"helm.sh/hook-delete-policy", ""},
		{"helm.sh/hook-delete-timeout", ""},
		{"helm.sh/hook-output-log-policy", ""},
		{"helm.sh/resource-policy", ""},
		{"helm.sh/chart", ""},
		{"meta.helm.sh/release-name", ""},
		{"charts.helm.sh/layer", ""},
		{"layer", ""},
		{"depends-on", ""},
		{"example.com/layer", ""},
		{"config.kubernetes.io/depends-on", ""},
		{"argocd.argoproj.io/sync-wave", ""},
		{"werf.io/deploy-dependency-db", ""},
		{"kapp.k14s.io/change-rule", ""},
		{"helm.toolkit.fluxcd.io/name", ""},
	})
}

func TestChartKeyProblem(t *testing.T) {
	testKeyProblems(t, annotation.ChartKeyProblem, []keyTest{
		{"helm.sh/depends-on/subchart", "did you mean depends-on.helm.sh/subcharts?"},
		{"helm.sh/depends-on-subcharts", "did you mean depends-on.helm.sh/subcharts?"},
		{"helm.sh/dependsOn/subcharts", "did you mean depends-on.helm.sh/subcharts?"},
		{"helm.sh/depends-on", "did you mean depends-on.helm.sh/subcharts?"},
		{"depends-on.helm.sh/subchart", "did you mean depends-on.helm.sh/subcharts?"},
		{"helm.sh/sequencng", "did you mean helm.sh/sequencing?"},
		{"helm.sh/Sequencing", "did you mean helm.sh/sequencing?"},
		{"helm.sh/runHooksInParallel", "did you mean helm.sh/run-hooks-in-parallel?"},
		{"helm.sh/depends-on/externals", "did you mean depends-on.helm.sh/external?"},
		{"helm.sh/hookScope", "did you mean helm.sh/hook-scope?"},
		{"helm.sh/hook-scope", ""},
		{"helm.sh/external-timout", "did you mean helm.sh/external-timeout?"},
		{"helm.sh/layer", "has no effect in Chart.yaml: move it"},
		{"helm.sh/depends-on/layers", "has no effect in Chart.yaml: move it"},

		{"helm.sh/depends-on/subcharts", ""},
		{"depends-on.helm.sh/subcharts", ""},
		{"helm.sh/depends-on/external", ""},
		{"depends-on.helm.sh/external", ""},
		{"helm.sh/external-timeout", ""},
		{"helm.sh/sequencing", ""},
		{"helm.sh/run-hooks-in-parallel", ""},
		{"helm.sh/images", ""},
		{"sequencing", ""},
		{"example.com/sequencing", ""},
		{"artifacthub.io/prerelease", ""},
		{"charts.openshift.io/name", ""},
		{"catalog.cattle.io/auto-install", ""},
		{"catalog.cattle.io/requests-cpu", ""},
	})
}

func TestFieldProblems(t *testing.T) {
	testKeyProblems(t, annotation.DependencyFieldProblem, []keyTest{
		{"dependsOn", "did you mean depends-on?"},
		{"depends_on", "did you mean depends-on?"},
		{"depend-on", "did you mean depends-on?"},
		{"depends", "did you mean depends-on?"},

		{"depends-on", ""},
		{"name", ""}, {"version", ""}, {"repository", ""}, {"condition", ""}, {"tags", ""},
		{"enabled", ""}, {"import-values", ""}, {"alias", ""},
	})
	testKeyProblems(t, annotation.ChartFieldProblem, []keyTest{
		{"runHookInParallel", "did you mean runHooksInParallel?"},
		{"run-hooks-in-parallel", "did you mean runHooksInParallel?"},
		{"depends-on", "has no effect here"},
		{"dependsOn", "has no effect here"},

		{"runHooksInParallel", ""},
		{"apiVersion", ""}, {"name", ""}, {"version", ""}, {"kubeVersion", ""}, {"description", ""}, {"type", ""},
		{"keywords", ""}, {"home", ""}, {"sources", ""}, {"dependencies", ""}, {"maintainers", ""}, {"icon", ""},
		{"appVersion", ""}, {"deprecated", ""}, {"annotations", ""}, {"engine", ""}, {"condition", ""}, {"tags", ""},
	})
}
