// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package starter

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/ordered-helm/helm/internal/chartloader"
)

func TestCreate(t *testing.T) {
	tests := []struct {
		name      string
		chartYAML string
		// want are the lines that the new Chart.yaml has in addition to the usual ones.
		apiVersion string
		want       []string
	}{
		{"plain", "apiVersion: v2\nname: pattern\nversion: 9.9.9\nannotations:\n  other: dropped\n", "v2", nil},
		{"v3 with lists", `apiVersion: v3
name: pattern
version: 9.9.9
runHooksInParallel: otherChartsOnly
annotations:
  helm.sh/depends-on/subcharts: [db, queue]
  helm.sh/sequencing: enabled
  other: dropped
`, "v3", []string{
			"runHooksInParallel: otherChartsOnly",
			`  helm.sh/depends-on/subcharts: '["db","queue"]'`,
			"  helm.sh/sequencing: enabled",
		}},
		{"hooks in the legal form", "apiVersion: v2\nname: pattern\nversion: 9.9.9\nrunHooksInParallel: \"true\"\n", "v2",
			[]string{`runHooksInParallel: "true"`}},
		{"hooks by annotation", "apiVersion: v2\nname: pattern\nversion: 9.9.9\nannotations:\n  helm.sh/run-hooks-in-parallel: true\n", "v2",
			[]string{`  helm.sh/run-hooks-in-parallel: "true"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pattern, parent := t.TempDir(), t.TempDir()
			write(t, pattern, "Chart.yaml", tt.chartYAML)
			write(t, pattern, "values.yaml", "# of <CHARTNAME>\nname: <CHARTNAME>\n")
			write(t, pattern, "templates/config.yaml", "name: <CHARTNAME>-<CHARTNAME>\n")
			write(t, pattern, "notes.md", "<CHARTNAME>\n")

			meta := &chart.Metadata{APIVersion: "v2", Name: "shop", Version: "0.1.0"}
			if err := Create(meta, parent, pattern); err != nil {
				t.Fatal(err)
			}
			made := filepath.Join(parent, "shop")
			for name, want := range map[string]string{
				"values.yaml":           "# of shop\nname: shop\n",
				"templates/config.yaml": "name: shop-shop\n",
				"notes.md":              "<CHARTNAME>\n",
			} {
				if got := read(t, made, name); got != want {
					t.Errorf("%s is %q, want %q", name, got, want)
				}
			}
			text := read(t, made, "Chart.yaml")
			for _, line := range append(tt.want, "apiVersion: "+tt.apiVersion, "name: shop", "version: 0.1.0") {
				if !strings.Contains(text, line+"\n") {
					t.Errorf("Chart.yaml has no line %q:\n%s", line, text)
				}
			}
			if strings.Contains(text, "dropped") {
				t.Errorf("Chart.yaml keeps what it should not:\n%s", text)
			}
			if _, err := chartloader.Load(made); err != nil {
				t.Errorf("the chart cannot be loaded: %v", err)
			}
		})
	}
}

func TestCreateErrors(t *testing.T) {
	pattern := t.TempDir()
	if err := Create(&chart.Metadata{APIVersion: "v2", Name: "shop", Version: "0.1.0"}, t.TempDir(), filepath.Join(pattern, "none")); err == nil || !strings.HasPrefix(err.Error(), "could not load ") {
		t.Errorf("no starter: error is %v", err)
	}
	write(t, pattern, "Chart.yaml", "apiVersion: v2\nname: pattern\nversion: 9.9.9\n")
	write(t, pattern, "values.yaml", "name: <CHARTNAME>\n")
	if err := Create(&chart.Metadata{APIVersion: "v2", Name: "a: b: c", Version: "0.1.0"}, t.TempDir(), pattern); err == nil || !strings.HasPrefix(err.Error(), "transforming values file: ") {
		t.Errorf("a name that breaks the values: error is %v", err)
	}
}

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, folder, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
