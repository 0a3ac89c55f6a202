// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	helmloader "helm.sh/helm/v3/pkg/chart/loader"

	"github.com/ordered-helm/helm/internal/archive"
	"github.com/ordered-helm/helm/internal/chartloader"
)

// TestValuesSchema packs charts with a values.schema.yaml, and unpacks them again.
func TestValuesSchema(t *testing.T) {
	const schema, json = "# mine\ntype: object\n", "{\"type\": \"object\"}\n"
	flat := map[string]string{"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\n", "values.yaml": "a: 1\n"}
	for _, c := range []struct {
		name  string
		chart map[string]string
		more  map[string]string
		packs []string // the values.schema.json files in the archive
	}{
		{"YAML in a flat chart", flat, map[string]string{"values.schema.yaml": schema}, []string{"values.schema.json"}},
		{
			"YAML in a chart of the format helm.sh/v3, and in subcharts", resource,
			map[string]string{"values.schema.yaml": schema, "charts/db/values.schema.yaml": schema, "charts/web/values.schema.yaml": "$ref: other.yaml", "charts/web/other.yaml": schema},
			[]string{"values.schema.json", "charts/db/values.schema.json", "charts/web/values.schema.json"},
		},
		{"JSON", flat, map[string]string{"values.schema.json": json}, []string{"values.schema.json"}},
		{"both, in agreement", resource, map[string]string{"values.schema.yaml": schema, "values.schema.json": json}, []string{"values.schema.json"}},
		{"both, in a flat chart", flat, map[string]string{"values.schema.yaml": "type: [", "values.schema.json": json}, []string{"values.schema.json"}},
		{"YAML in another directory", flat, map[string]string{"files/values.schema.yaml": schema}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			chart := maps.Clone(c.chart)
			maps.Copy(chart, c.more)
			packed, err := archive.Save(chartOf(t, chart), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			found := files(t, packed)
			for _, name := range c.packs {
				if found[name] == "" {
					t.Errorf("%s is not in the archive", name)
				}
			}
			if stock, err := helmloader.LoadFile(packed); err != nil || (stock.Schema != nil) != (len(c.packs) > 0) {
				t.Errorf("Helm loads the schema %s, %v", stock.Schema, err)
			}
			expectUnpacked(t, packed, chart)
			ours, err := chartloader.LoadFile(packed)
			if err != nil {
				t.Fatal(err)
			}
			again, err := archive.Save(ours, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if b := files(t, again); !maps.Equal(found, b) {
				t.Errorf("packed again, the archive has %q instead of %q", b, found)
			}
		})
	}
}

// TestValuesSchemaInDirectory writes charts with a values.schema.yaml to a directory.
func TestValuesSchemaInDirectory(t *testing.T) {
	chart := map[string]string{"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\n", "values.schema.yaml": "$ref: other.yaml", "other.yaml": "type: object"}
	for _, want := range []string{"", "{}"} {
		if want != "" {
			chart["values.schema.json"] = want
		}
		dir := t.TempDir()
		if err := archive.SaveDir(chartOf(t, chart), dir, archive.AllFields); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(filepath.Join(dir, "shop", "values.schema.json")); string(got) != want {
			t.Errorf("values.schema.json: got %q, want %q", got, want)
		}
	}
}
