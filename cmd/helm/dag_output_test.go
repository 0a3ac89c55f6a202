// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/graphview"
	"github.com/ordered-helm/helm/internal/testutil/golden"
	"github.com/ordered-helm/helm/pkg/action"
)

// TestDagGolden prints the graphs of the examples in every text format, with and without
// --reasons.
func TestDagGolden(t *testing.T) {
	for _, example := range []string{"shop", "umbrella", "proposal-layers", "proposal-subcharts", "hooks", "guestbook"} {
		for _, format := range []string{"text", "json", "dot", "mermaid"} {
			for _, reasons := range []string{"", "--reasons"} {
				if format == "json" && reasons != "" {
					continue // this format always prints reasons
				}
				name := example + reasons + "." + format
				t.Run(name, func(t *testing.T) {
					got := runHelm(t, strings.Fields("dag "+filepath.Join("..", "..", "examples", example)+" -o "+format+" "+reasons)...)
					if got.code != 0 {
						t.Fatal(got.stderr)
					}
					golden.Assert(t, got.stdout, filepath.Join("dag", name))
				})
			}
		}
	}
}

// TestDagFormatsOfCharts checks, in every format, that dag follows the flags that say how a
// chart is rendered.
func TestDagFormatsOfCharts(t *testing.T) {
	chart := writeChart(t, map[string]string{"Chart.yaml": orderedChart, "templates/layers.yaml": layers, "values.yaml": "after: database\n"})
	values := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(values, []byte("after: x\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, format := range graphview.Formats() {
		for _, flags := range []string{"", "-f " + values, "--set after=x", "--reasons"} {
			got := runHelm(t, strings.Fields("dag "+chart+" -o "+string(format)+" "+flags)...)
			if got.code != 0 || !strings.Contains(got.stdout, "release-name-web") {
				t.Errorf("-o %s %s: %+v", format, flags, got)
			}
			if warned := strings.Contains(got.stderr, `the unknown layer "x"`); warned != (flags != "" && flags != "--reasons") {
				t.Errorf("-o %s %s: values were not used: %s", format, flags, got.stderr)
			}
		}
		got := runHelm(t, "dag", chart, "-o", string(format), "--set", "after=web")
		if got.code != 1 || got.stdout != "" || !strings.HasPrefix(got.stderr, "Error: dependency cycle") {
			t.Errorf("-o %s of a cycle: %+v", format, got)
		}
	}
	if got := runHelm(t, "dag", chart, "-o", "png"); got.code != 1 || !strings.Contains(got.stderr, "must be one of: text, json, dot, mermaid, svg") {
		t.Errorf("%+v", got)
	}
}

func TestDagOfAReleaseInEveryFormat(t *testing.T) {
	t.Setenv("HELM_DRIVER", "memory")
	t.Setenv("HELM_MEMORY_DRIVER_DATA", storeReleases(t))
	t.Chdir(t.TempDir())
	for _, format := range graphview.Formats() {
		got := runHelm(t, "dag", "shop", "-o", string(format), "--reasons")
		if got.code != 0 || !strings.Contains(got.stdout, "shop-web") || !strings.Contains(strings.ReplaceAll(got.stdout, "#45;", "-"), "shop/templates/layers.yaml") {
			t.Errorf("-o %s: %+v", format, got)
		}
	}
}

// TestDagInitOrder checks that --init-order prints an order file for a chart or a release, and that the file changes
// nothing as long as its rules are commented out.
func TestDagInitOrder(t *testing.T) {
	t.Setenv("HELM_DRIVER", "memory")
	t.Setenv("HELM_MEMORY_DRIVER_DATA", storeReleases(t))
	chart := writeChart(t, map[string]string{"Chart.yaml": orderedChart, "templates/layers.yaml": layers})
	order := filepath.Join(t.TempDir(), "order.yaml")
	for _, argument := range []string{chart, "shop"} {
		got := runHelm(t, "dag", argument, "--init-order")
		if got.code != 0 || !strings.Contains(got.stdout, "kind: Order\n") || !strings.Contains(got.stdout, `#- path: "."`) {
			t.Errorf("%+v", got)
		}
		if err := os.WriteFile(order, []byte(got.stdout), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	with, without := runHelm(t, "dag", chart, "--order", order), runHelm(t, "dag", chart)
	if with.code != 0 || with.stdout != without.stdout || with.stderr != without.stderr {
		t.Errorf("with the file: %+v\nwithout: %+v", with, without)
	}
	for _, flags := range []string{"--reasons", "-o json", "--diff shop"} {
		got := runHelm(t, append([]string{"dag", chart, "--init-order"}, strings.Fields(flags)...)...)
		if got.code != 1 || got.stdout != "" || !strings.Contains(got.stderr, "--init-order prints an order file and no graph") {
			t.Errorf("%s: %+v", flags, got)
		}
	}
}

// TestDagDiff compares charts with the second revision of a release.
func TestDagDiff(t *testing.T) {
	t.Setenv("HELM_DRIVER", "memory")
	t.Setenv("HELM_MEMORY_DRIVER_DATA", storeReleases(t))
	same := writeChart(t, map[string]string{"Chart.yaml": orderedChart, "templates/layers.yaml": layers})
	moved := writeChart(t, map[string]string{"Chart.yaml": orderedChart, "templates/layers.yaml": strings.NewReplacer(
		"helm.sh/layer: database", "helm.sh/layer: storage", `default "database"`, `default "storage"`).Replace(layers) + `---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}-rest
  labels: {upgrade: "{{ .Release.IsUpgrade }}", revision: "{{ .Release.Revision }}"}
`})
	tests := []struct {
		name, line     string
		code           int
		stdout         []string // in this order
		stderr, absent string
	}{
		{name: "nothing", line: "dag " + same + " --diff shop", stdout: []string{"compared with revision 2 of release shop: no ordering changes", "  shop:web\n"}, absent: "+ "},
		{
			name: "text", line: "dag " + moved + " --diff shop --revision 2",
			stdout: []string{
				"2 nodes added, 1 node removed, 1 resource added, 1 resource moved, 2 edges added, 1 edge removed\n", "+ shop:storage\n",
				">   - ConfigMap/shop-database (was in shop:database)\n", "  shop:web\n", "+   after: shop:storage\n", "-   after: shop:database\n",
				"+ shop\n", "+   - ConfigMap/shop-rest\n", "removed\n- shop:database\n",
			},
		},
		{
			name: "JSON", line: "dag " + moved + " --diff shop -o json",
			stdout: []string{`"release": "shop"`, `"revision": 2`, `"id": "shop:storage"`, `"change": "new"`, `"change": "moved"`, `"was": "shop:database"`, `"change": "gone"`},
		},
		{name: "DOT", line: "dag " + moved + " --diff shop -o dot", stdout: []string{"→ ConfigMap/shop-database", `color="#1a7f37"`, `color="#cf222e"`, "constraint=false"}},
		{name: "Mermaid", line: "dag " + moved + " --diff shop -o mermaid", stdout: []string{"→ ConfigMap/shop-database", "-.->", "classDef new", "classDef gone"}},
		{name: "SVG", line: "dag " + moved + " --diff shop -o svg", stdout: []string{"compared with revision 2 of release shop", `class="edge gone"`, `class="line moved"`, `unlayered new"`}},
		{name: "no order", line: "dag " + same + " --diff shop --revision 1", code: 1, stderr: `revision 1 of release "shop" was not deployed in order and has no graph`},
		{name: "no release", line: "dag " + same + " --diff stop", code: 1, stderr: `release "stop" not found in namespace "default"`},
		{name: "no chart", line: "dag shop --diff shop", code: 1, stderr: "shop"},
		{name: "a chart instead of a release", line: "dag shop --diff ./shop", code: 1, stderr: `--diff: "./shop" is not the name of a release: use helm dag CHART --diff RELEASE`},
		{name: "two releases", line: "dag shop --release --diff shop", code: 1, stderr: "--diff compares a chart with a release: remove --release"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := runHelm(t, strings.Fields(tt.line)...)
			if got.code != tt.code || !strings.Contains(got.stderr, tt.stderr) || tt.code == 0 && got.stderr != "" {
				t.Errorf("%+v", got)
			}
			if !containsInOrder(got.stdout, tt.stdout) || tt.absent != "" && strings.Contains(got.stdout, tt.absent) {
				t.Errorf("stdout:\n%s\nhas not, in this order: %q", got.stdout, tt.stdout)
			}
		})
	}
}

// TestDagDiffAfterRollback compares a chart that names an object by the revision with a rollback,
// which copies the manifest of an earlier revision.
func TestDagDiffAfterRollback(t *testing.T) {
	first, second, rollback := revision(t, 1, action.WaitStrategyOrdered), revision(t, 2, action.WaitStrategyOrdered), revision(t, 3, action.WaitStrategyOrdered)
	first.Manifest += "---\n# Source: shop/templates/job.yaml\napiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate-1}\n"
	second.Manifest += "---\n# Source: shop/templates/job.yaml\napiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate-2}\n"
	first.Info.Status, second.Info.Status = release.StatusSuperseded, release.StatusSuperseded
	rollback.Manifest, rollback.Info.Description = first.Manifest, "Rollback to 1"
	t.Setenv("HELM_DRIVER", "memory")
	t.Setenv("HELM_MEMORY_DRIVER_DATA", store(t, first, second, rollback))
	chart := writeChart(t, map[string]string{"Chart.yaml": orderedChart, "templates/layers.yaml": layers,
		"templates/job.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate-{{ .Release.Revision }}}\n"})
	for _, revision := range []string{"1", "2", "3"} {
		got := runHelm(t, "dag", chart, "--diff", "shop", "--revision", revision)
		if got.code != 0 || got.stderr != "" || !strings.Contains(got.stdout, "compared with revision "+revision+" of release shop: no ordering changes") {
			t.Errorf("revision %s: %+v", revision, got)
		}
	}
}

// TestDagPrintsNoSecrets checks that no format prints the contents of Secrets.
func TestDagPrintsNoSecrets(t *testing.T) {
	chart := writeChart(t, map[string]string{"Chart.yaml": orderedChart, "templates/secret.yaml": `apiVersion: v1
kind: Secret
metadata:
  name: password
  annotations: {helm.sh/layer: a}
stringData: {password: swordfish}
data: {token: c3dvcmRmaXNo}
`})
	for _, format := range graphview.Formats() {
		got := runHelm(t, "dag", chart, "-o", string(format), "--reasons")
		if got.code != 0 || strings.Contains(got.stdout, "swordfish") || strings.Contains(got.stdout, "c3dvcm") {
			t.Errorf("-o %s: %+v", format, got)
		}
	}
}
