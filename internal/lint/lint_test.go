// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	helmlint "helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"

	"github.com/ordered-helm/helm/internal/lint"
	"github.com/ordered-helm/helm/internal/lint/rule"
)

// write writes the files of a chart to a new directory.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "chart")
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func texts(messages []support.Message) []string {
	list := []string{}
	for _, m := range messages {
		list = append(list, fmt.Sprint(m))
	}
	return list
}

// charts contains the files of charts that Helm's rules do not support. supported contains
// the same chart in a form that Helm's rules support.
var charts = map[string]struct{ chart, supported map[string]string }{
	"apiVersion v3": {
		chart:     map[string]string{"Chart.yaml": "apiVersion: v3 # new\nname: a\nversion: 1.0.0\ntype: application\ndependencies:\n- {name: b, version: 1.0.0, repository: ''}\n"},
		supported: map[string]string{"Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\ntype: application\ndependencies:\n- {name: b, version: 1.0.0, repository: ''}\n"},
	},
	"lists": {
		chart:     map[string]string{"Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\nannotations: {helm.sh/depends-on/subcharts: [b]}\n"},
		supported: map[string]string{"Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\n"},
	},
	"lists in a chart inside": {
		chart: map[string]string{
			"Chart.yaml":          "apiVersion: v2\nname: a\nversion: 1.0.0\n",
			"charts/b/Chart.yaml": "apiVersion: v3\nname: b\nversion: 1.0.0\nannotations: {helm.sh/depends-on/subcharts: [c]}\n",
		},
		supported: map[string]string{
			"Chart.yaml":          "apiVersion: v2\nname: a\nversion: 1.0.0\n",
			"charts/b/Chart.yaml": "apiVersion: v2\nname: b\nversion: 1.0.0\n",
		},
	},
	"mistakes everywhere": {
		chart: map[string]string{
			"Chart.yaml":             "apiVersion: v3\nname: a/b\nversion: one\nicon: nowhere\n",
			"values.yaml":            "a: 1\n",
			"values.schema.json":     `{"properties": {"a": {"type": "string"}}}`,
			"templates/bad.sh":       "x",
			"templates/a.yaml":       "kind: ConfigMap\nmetadata: {name: Bad_Name}\n",
			"templates/version.yaml": "kind: ConfigMap\nmetadata: {name: a}\ndata: {version: {{ .Values.nothing.at.all }}}\n",
		},
		supported: map[string]string{
			"Chart.yaml":             "apiVersion: v2\nname: a/b\nversion: one\nicon: nowhere\n",
			"values.yaml":            "a: 1\n",
			"values.schema.json":     `{"properties": {"a": {"type": "string"}}}`,
			"templates/bad.sh":       "x",
			"templates/a.yaml":       "kind: ConfigMap\nmetadata: {name: Bad_Name}\n",
			"templates/version.yaml": "kind: ConfigMap\nmetadata: {name: a}\ndata: {version: {{ .Values.nothing.at.all }}}\n",
		},
	},
}

// TestHelmRulesOnUnsupportedForms compares the messages about a chart that Helm's rules do
// not support with Helm's messages about the same chart in a form that they support.
func TestHelmRulesOnUnsupportedForms(t *testing.T) {
	for name, tt := range charts {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			dir, supported := write(t, tt.chart), write(t, tt.supported)
			report, err := lint.Check(t.Context(), dir, lint.RenderOptions{Namespace: "default"})
			if err != nil {
				t.Fatal(err)
			}
			want := texts(helmlint.AllWithKubeVersionAndSchemaValidation(supported, nil, "default", nil, false).Messages)
			for i := range want {
				want[i] = strings.ReplaceAll(want[i], supported, dir)
			}
			if got := texts(report.Helm); !slices.Equal(got, want) {
				t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
		})
	}
}

// TestTemplatesSeeOriginalAPIVersion checks that templates are rendered with apiVersion v3
// although Helm's rules for Chart.yaml see v2.
func TestTemplatesSeeOriginalAPIVersion(t *testing.T) {
	dir := write(t, map[string]string{
		"Chart.yaml":       "apiVersion: v3\nname: a\nversion: 1.0.0\nicon: https://example.com/i.png\n",
		"values.yaml":      "",
		"templates/a.yaml": "{{ if ne .Chart.APIVersion \"v3\" }}{{ fail .Chart.APIVersion }}{{ end }}",
	})
	if report, err := lint.Check(t.Context(), dir, lint.RenderOptions{}); err != nil || len(report.Helm) > 0 || len(report.Findings) > 0 {
		t.Errorf("got %v, %v", report, err)
	}
}

// TestInvalidAnnotationIsAFinding checks that Check reports an annotation in Chart.yaml that
// chartloader.CanonicalFiles rejects as a finding, and returns no error.
func TestInvalidAnnotationIsAFinding(t *testing.T) {
	dir := write(t, map[string]string{"Chart.yaml": "apiVersion: v3\nname: a\nversion: 1.0.0\nannotations: {helm.sh/depends-on/subcharts: {a: b}}\n"})
	report, err := lint.Check(t.Context(), dir, lint.RenderOptions{})
	if err != nil || len(report.Findings) != 1 || report.Findings[0].Severity != rule.Error || !strings.Contains(report.Findings[0].Message, "helm.sh/depends-on/subcharts") {
		t.Errorf("got %v, %v", report, err)
	}
}

// TestScalarAnnotations checks that numbers, booleans and other scalars in the annotations of
// a Chart.yaml cause no findings: Helm's loader converts them to strings.
func TestScalarAnnotations(t *testing.T) {
	for _, value := range []string{"true", "no", "7", "1.50", "0x1F", "2026-01-02", "null", "~", ""} {
		for _, version := range []string{"v1", "v2", "v3"} {
			dir := write(t, map[string]string{
				"Chart.yaml":       "apiVersion: " + version + "\nname: a\nversion: 1.0.0\nicon: https://example.com/i.png\nannotations:\n  artifacthub.io/prerelease: " + value + "\n",
				"values.yaml":      "",
				"templates/a.yaml": configMap("a"),
			})
			if report, err := lint.Check(t.Context(), dir, lint.RenderOptions{}); err != nil || len(report.Helm)+len(report.Findings) > 0 {
				t.Errorf("%s in a chart of %s: %+v, %v", value, version, report, err)
			}
		}
	}
}

// TestValidAPIVersions checks that the message about an invalid apiVersion names v3 too.
func TestValidAPIVersions(t *testing.T) {
	dir := write(t, map[string]string{"Chart.yaml": "apiVersion: v4\nname: a\nversion: 1.0.0\n"})
	report, err := lint.Check(t.Context(), dir, lint.RenderOptions{})
	if got := strings.Join(texts(report.Helm), "\n"); err != nil || !strings.Contains(got, `must be "v1", "v2" or "v3"`) {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestUnreadableFiles checks that Helm's rules report files that cannot be read, with Helm's
// messages.
func TestUnreadableFiles(t *testing.T) {
	dir := write(t, map[string]string{"Chart.yaml": "apiVersion: v3\nname: a\nversion: 1.0.0\n"})
	if err := os.Symlink("nowhere", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	report, err := lint.Check(t.Context(), dir, lint.RenderOptions{})
	want := texts(helmlint.AllWithKubeVersionAndSchemaValidation(dir, nil, "", nil, false).Messages)
	if got := texts(report.Helm); err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// TestCRDInstallHooksAreSupported checks that Helm's warning about crd-install hooks is
// omitted.
func TestCRDInstallHooksAreSupported(t *testing.T) {
	dir := write(t, map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: a\nversion: 1.0.0\nicon: https://example.com/i.png\n", "values.yaml": "",
		"templates/a.yaml": "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: a.example.com\n  annotations:\n    helm.sh/hook: crd-install\n",
	})
	if list := helmlint.AllWithKubeVersionAndSchemaValidation(dir, nil, "", nil, false).Messages; len(list) != 1 {
		t.Fatalf("Helm's rules returned %v, want one warning", list)
	}
	if report, err := lint.Check(t.Context(), dir, lint.RenderOptions{}); err != nil || len(report.Helm)+len(report.Findings) > 0 {
		t.Errorf("got %+v, %v", report, err)
	}
}
