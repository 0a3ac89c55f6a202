// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package starter

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/ordered-helm/helm/internal/archive"
	"github.com/ordered-helm/helm/internal/chartloader"
)

func TestCreate(t *testing.T) {
	const (
		flat   = "apiVersion: v2\nname: pattern\nversion: 9.9.9\nannotations:\n  other: dropped\n"
		flatV3 = `apiVersion: v3
name: pattern
version: 9.9.9
runHooksInParallel: otherChartsOnly
hookScope: chart
annotations:
  helm.sh/depends-on/subcharts: [db, queue]
  helm.sh/sequencing: enabled
  other: dropped
`
		resource = "apiVersion: helm.sh/v3\nkind: Chart\nmetadata:\n  name: pattern\n  labels: {version: 9.9.9, other: dropped}\ndata: {runHooksInParallel: true, hookScope: chart}\n"
	)
	tests := []struct {
		name      string
		chartYAML string
		format    Format
		// want is the new Chart.yaml.
		want string
	}{
		{"plain", flat, "", "apiVersion: v2\nname: shop\nversion: 0.1.0\n"},
		{"plain to v2", flat, V2, "apiVersion: v2\nname: shop\nversion: 0.1.0\n"},
		{"plain to helm.sh/v3", flat, V3, "apiVersion: helm.sh/v3\nkind: Chart\nmetadata:\n  name: shop\n  labels:\n    heritage: helm\n    version: 0.1.0\n"},
		{"v3 with lists", flatV3, "", `annotations:
  helm.sh/depends-on/subcharts: '["db","queue"]'
  helm.sh/sequencing: enabled
apiVersion: v3
hookScope: chart
name: shop
runHooksInParallel: otherChartsOnly
version: 0.1.0
`},
		{"v3 to v2", "apiVersion: v3\nname: pattern\nversion: 9.9.9\n", V2, "annotations:\n  helm.sh/sequencing: enabled\napiVersion: v2\nname: shop\nversion: 0.1.0\n"},
		{"v3 whose order is not used to v2", "apiVersion: v3\nname: pattern\nversion: 9.9.9\nannotations: {helm.sh/sequencing: disabled}\n", V2, "annotations:\n  helm.sh/sequencing: disabled\napiVersion: v2\nname: shop\nversion: 0.1.0\n"},
		{"v3 to helm.sh/v3", flatV3, V3, `apiVersion: helm.sh/v3
kind: Chart
metadata:
  name: shop
  labels:
    heritage: helm
    version: 0.1.0
  annotations:
    depends-on.helm.sh/subcharts: '["db","queue"]'
data:
  hookScope: chart
  runHooksInParallel: otherChartsOnly
`},
		{"helm.sh/v3", resource, "", `apiVersion: helm.sh/v3
kind: Chart
metadata:
  name: shop
  labels:
    heritage: helm
    version: 0.1.0
  annotations:
    helm.sh/hook-scope: chart
    helm.sh/run-hooks-in-parallel: "true"
`},
		{"helm.sh/v3 to v2", resource, V2, "annotations:\n  helm.sh/hook-scope: chart\n  helm.sh/run-hooks-in-parallel: \"true\"\n  helm.sh/sequencing: enabled\napiVersion: v2\nname: shop\nversion: 0.1.0\n"},
		{"hooks in the legal form", "apiVersion: v2\nname: pattern\nversion: 9.9.9\nrunHooksInParallel: \"true\"\n", "", "apiVersion: v2\nname: shop\nrunHooksInParallel: \"true\"\nversion: 0.1.0\n"},
		{"hook scope by annotation", "apiVersion: v2\nname: pattern\nversion: 9.9.9\nannotations:\n  helm.sh/hook-scope: release\n", "", "annotations:\n  helm.sh/hook-scope: release\napiVersion: v2\nname: shop\nversion: 0.1.0\n"},
		{"hook scope of a dependency", "apiVersion: v2\nname: pattern\nversion: 9.9.9\ndependencies: [{name: db, version: '1', hookScope: chart}]\n", "", "apiVersion: v2\nname: shop\nversion: 0.1.0\n"},
		{"hooks by annotation", "apiVersion: v2\nname: pattern\nversion: 9.9.9\nannotations:\n  helm.sh/run-hooks-in-parallel: true\n", "", "annotations:\n  helm.sh/run-hooks-in-parallel: \"true\"\napiVersion: v2\nname: shop\nversion: 0.1.0\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			pattern, parent := t.TempDir(), t.TempDir()
			write(t, pattern, "Chart.yaml", tt.chartYAML)
			write(t, pattern, "values.yaml", "# of <CHARTNAME>\nname: <CHARTNAME>\n")
			write(t, pattern, "templates/config.yaml", "name: <CHARTNAME>-<CHARTNAME>\n")
			write(t, pattern, "notes.md", "<CHARTNAME>\n")

			meta := &chart.Metadata{APIVersion: "v2", Name: "shop", Version: "0.1.0"}
			if err := Create(meta, parent, pattern, tt.format); err != nil {
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
			if text := read(t, made, "Chart.yaml"); text != tt.want {
				t.Errorf("Chart.yaml is\n%s\nwant\n%s", text, tt.want)
			}
			if _, err := chartloader.Load(made); err != nil {
				t.Errorf("the chart cannot be loaded: %v", err)
			}
		})
	}
}

// TestCreateWithLibraries creates charts from a starter that uses a library, as a directory and as
// a package.
func TestCreateWithLibraries(t *testing.T) {
	pattern, dir := t.TempDir(), t.TempDir()
	write(t, pattern, "Chart.yaml", "apiVersion: helm.sh/v3\nkind: Chart\nmetadata: {name: pattern, labels: {version: 9.9.9}}\n"+
		"data: {libraries: [{name: common, version: ^1.0}], dependencies: [{name: db, version: ^1}]}\n")
	write(t, pattern, "templates/config.yaml", `{{ include "common.text" . }}`)
	write(t, pattern, "library/common/Chart.yaml", "apiVersion: v2\nname: common\nversion: 1.0.0\ntype: library\n")
	write(t, pattern, "library/common/templates/text.tpl", `{{ define "common.text" }}text{{ end }}`)
	write(t, pattern, "charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n")
	starter, err := chartloader.Load(pattern)
	if err != nil {
		t.Fatal(err)
	}
	packed, err := archive.Save(starter, dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"directory": pattern, "package": packed} {
		t.Run(name, func(t *testing.T) {
			parent := t.TempDir()
			if err := Create(&chart.Metadata{APIVersion: "v2", Name: "shop", Version: "0.1.0"}, parent, path, ""); err != nil {
				t.Fatal(err)
			}
			made, err := chartloader.Load(filepath.Join(parent, "shop"))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, sub := range made.Dependencies() {
				names = append(names, sub.Name())
			}
			if !slices.Equal(names, []string{"common", "db"}) || made.Metadata.Annotations["helm.sh/libraries"] != `["common"]` {
				t.Errorf("got the subcharts %q and %+v", names, made.Metadata)
			}
			if entries, err := os.ReadDir(filepath.Join(parent, "shop", "charts")); err != nil || len(entries) != 1 {
				t.Errorf("charts contains %v, %v", entries, err)
			}
		})
	}
	err = Create(&chart.Metadata{APIVersion: "v2", Name: "shop", Version: "0.1.0"}, t.TempDir(), pattern, V2)
	if err == nil || !strings.Contains(err.Error(), "it uses the library common: only charts of the format helm.sh/v3 can have libraries") {
		t.Errorf("a flat chart: error is %v", err)
	}
}

// TestCreateWithOrderFile creates charts from starters with an order.yaml.
func TestCreateWithOrderFile(t *testing.T) {
	const head = "apiVersion: helm.sh/v1alpha1\nkind: Order\n"
	for _, c := range []struct{ name, file, want string }{
		{"rules about the new chart", head + "resources:\n- match: {name: <CHARTNAME>-db} # of <CHARTNAME>\n  layer: db\n", head + "resources:\n- match: {name: shop-db} # of shop\n  layer: db\n"},
		{"rules about subcharts", head + "charts:\n- {path: db, hookScope: chart}\n", head + "charts:\n- {path: db, hookScope: chart}\n"},
		{"an error in the file", head + "charts:\n- {path: <CHARTNAME>, unknown: 1}\n", head + "charts:\n- {path: shop, unknown: 1}\n"},
		{"a file for another program", "kind: Order\nname: <CHARTNAME>\n", "kind: Order\nname: <CHARTNAME>\n"},
	} {
		for _, format := range []Format{V2, V3} {
			t.Run(c.name+" to "+string(format), func(t *testing.T) {
				pattern, parent := t.TempDir(), t.TempDir()
				write(t, pattern, "Chart.yaml", "apiVersion: v2\nname: pattern\nversion: 9.9.9\n")
				write(t, pattern, "order.yaml", c.file)
				write(t, pattern, "charts/db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n")
				write(t, pattern, "charts/db/order.yaml", c.file)
				if err := Create(&chart.Metadata{APIVersion: "v2", Name: "shop", Version: "0.1.0"}, parent, pattern, format); err != nil {
					t.Fatal(err)
				}
				if got := read(t, filepath.Join(parent, "shop"), "order.yaml"); got != c.want {
					t.Errorf("order.yaml is %q, want %q", got, c.want)
				}
				made, err := chartloader.Load(filepath.Join(parent, "shop"))
				if err != nil || len(made.Dependencies()) != 1 {
					t.Fatalf("loaded as %+v, %v", made, err)
				}
				if files := made.Dependencies()[0].Files; len(files) != 1 || string(files[0].Data) != c.file {
					t.Errorf("the subchart contains %+v", files)
				}
			})
		}
	}
}

func TestCreateErrors(t *testing.T) {
	pattern := t.TempDir()
	if err := Create(&chart.Metadata{APIVersion: "v2", Name: "shop", Version: "0.1.0"}, t.TempDir(), filepath.Join(pattern, "none"), ""); err == nil || !strings.HasPrefix(err.Error(), "could not load ") {
		t.Errorf("no starter: error is %v", err)
	}
	write(t, pattern, "Chart.yaml", "apiVersion: v2\nname: pattern\nversion: 9.9.9\n")
	write(t, pattern, "values.yaml", "name: <CHARTNAME>\n")
	if err := Create(&chart.Metadata{APIVersion: "v2", Name: "a: b: c", Version: "0.1.0"}, t.TempDir(), pattern, ""); err == nil || !strings.HasPrefix(err.Error(), "transforming values file: ") {
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
