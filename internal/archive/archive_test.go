// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	helmloader "helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/archive"
	"github.com/ordered-helm/helm/internal/chartloader"
)

// chartOf creates a chart from its files. The keys are the paths of the files.
func chartOf(t *testing.T, files map[string]string) *chart.Chart {
	t.Helper()
	var buffered []*chartloader.BufferedFile
	for name, text := range files {
		buffered = append(buffered, &chartloader.BufferedFile{Name: name, Data: []byte(text)})
	}
	ch, err := chartloader.LoadFiles(buffered)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// wide is a chart with subcharts. It has a field that Helm does not know at every place
// where fields are allowed.
var wide = map[string]string{
	"Chart.yaml": `apiVersion: v3
name: wide
version: 1.2.3
Description: capital letters are read as well
runHooksInParallel: otherChartsOnly
hookScope: chart
team: {name: shop, size: 12345678901234567890}
annotations:
  helm.sh/depends-on/subcharts: [inner, v1]
  example.com/colour: blue
maintainers:
  - {name: Ada, pager: "1234"}
dependencies:
  - {name: inner, version: 0.1.0, repository: "", depends-on: [v1], note: first}
  - {name: v1, version: 0.1.0, repository: "", hookScope: release}
`,
	"Chart.lock":              "dependencies:\n- {name: inner, version: 0.1.0, repository: \"\"}\ndigest: sha256:12\ngenerated: \"2020-02-03T04:05:06Z\"\n",
	"values.yaml":             "# as it is\na: 1\n",
	"templates/a.yaml":        "a: b\n",
	"README.md":               "read me",
	"charts/inner/Chart.yaml": "apiVersion: v2\nname: inner\nversion: 0.1.0\nrunHooksInParallel: true\nhookScope: release\n",
	"charts/inner/Chart.lock": "digest: sha256:34\ngenerated: \"2020-02-03T04:05:06Z\"\n",
	"charts/v1/Chart.yaml":    "apiVersion: v1\nname: v1\nversion: 0.1.0\nextra: [1, 2]\n",
	"charts/v1/requirements.yaml": "dependencies:\n- {name: leaf, version: 0.1.0, depends-on: nothing}\n" +
		"",
}

// TestSaveKeepsEverything packs a chart and loads it with Helm's own loader.
func TestSaveKeepsEverything(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	name, err := archive.Save(chartOf(t, wide), dir)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(dir, "wide-1.2.3.tgz"); name != want {
		t.Errorf("saved as %s, want %s", name, want)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
	packed, err := helmloader.LoadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	wantFields(t, packed, `apiVersion: v3
name: wide
version: 1.2.3
description: capital letters are read as well
runHooksInParallel: otherChartsOnly
hookScope: chart
team: {name: shop, size: 12345678901234567890}
annotations:
  helm.sh/depends-on/subcharts: '["inner","v1"]'
  example.com/colour: blue
maintainers:
  - {name: Ada, pager: "1234"}
dependencies:
  - {name: inner, version: 0.1.0, repository: "", depends-on: [v1], note: first}
  - {name: v1, version: 0.1.0, repository: "", hookScope: release}
`)
	if packed.Lock == nil || packed.Lock.Digest != "sha256:12" {
		t.Errorf("lock file %+v", packed.Lock)
	}
	if string(packed.Templates[0].Data) != "a: b\n" || packed.Values["a"] != 1.0 || string(packed.Files[0].Data) != "read me" {
		t.Errorf("files are not as they were: %+v", packed)
	}
	inside := make(map[string]*chart.Chart)
	for _, sub := range packed.Dependencies() {
		inside[sub.Name()] = sub
	}
	wantFields(t, inside["inner"], wide["charts/inner/Chart.yaml"])
	if inside["inner"].Lock.Digest != "sha256:34" {
		t.Errorf("lock file inside %+v", inside["inner"].Lock)
	}
	wantFields(t, inside["v1"], wide["charts/v1/Chart.yaml"])
	i := slices.IndexFunc(inside["v1"].Raw, func(f *chart.File) bool { return f.Name == "requirements.yaml" })
	if i < 0 || string(inside["v1"].Raw[i].Data) != wide["charts/v1/requirements.yaml"] {
		t.Error("requirements.yaml is not as it was")
	}
}

func wantFields(t *testing.T, ch *chart.Chart, want string) {
	t.Helper()
	i := slices.IndexFunc(ch.Raw, func(f *chart.File) bool { return f.Name == "Chart.yaml" })
	var have, expected map[string]any
	if err := yaml.Unmarshal(ch.Raw[i].Data, &have); err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal([]byte(want), &expected); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(have, expected) {
		t.Errorf("%s says:\n%s\nwant:\n%s", ch.Name(), ch.Raw[i].Data, want)
	}
	if !strings.Contains(want, "12345678901234567890") {
		return
	}
	if !strings.Contains(string(ch.Raw[i].Data), "12345678901234567890") {
		t.Error("a number has lost digits")
	}
}

// TestSaveIsHelms checks that the archive of a chart without fields that Helm does not know
// is, except for times, identical to Helm's.
func TestSaveIsHelms(t *testing.T) {
	for _, version := range []string{"v1", "v2"} {
		ch := chartOf(t, map[string]string{
			"Chart.yaml":  "# comment\nversion: 1.0.0\nname: plain\napiVersion: " + version + "\ndescription: ''\n",
			"Chart.lock":  "digest: sha256:12\ngenerated: \"2020-02-03T04:05:06Z\"\n",
			"values.yaml": "a: 1\n",
		})
		ours, err := archive.Save(ch, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		helms, err := chartutil.Save(ch, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		if a, b := files(t, ours), files(t, helms); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: ours %q, Helm's %q", version, a, b)
		}
	}
}

func files(t *testing.T, name string) map[string]string {
	t.Helper()
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }() // it was only read
	list, err := chartloader.LoadArchiveFiles(in)
	if err != nil {
		t.Fatal(err)
	}
	m := make(map[string]string)
	for _, f := range list {
		m[f.Name] = string(f.Data)
	}
	return m
}

// TestSaveOfWhatCannotBePacked checks that Save leaves no file behind if it fails.
func TestSaveOfWhatCannotBePacked(t *testing.T) {
	tests := []struct {
		name, problem string
		change        func(*chart.Chart)
	}{
		{"raw file that is no YAML", "pack the whole Chart.yaml: wide: cannot load Chart.yaml", func(c *chart.Chart) {
			for _, f := range c.Raw {
				if f.Name == "Chart.yaml" {
					f.Data = []byte("a: [")
				}
			}
		}},
		{"name with a folder", "", func(c *chart.Chart) { c.Metadata.Name = "../wide" }},
		{"schema that is no JSON", "Invalid JSON", func(c *chart.Chart) { c.Schema = []byte("{") }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "in")
			ch := chartOf(t, wide)
			tt.change(ch)
			if _, err := archive.Save(ch, dir); err == nil || !strings.Contains(err.Error(), tt.problem) {
				t.Errorf("got %v, want %s", err, tt.problem)
			}
			left, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "*", "*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %q, %v", left, err)
			}
		})
	}
}

// TestSaveDir checks that SaveDir writes the selected fields of Chart.yaml, and no other
// fields that Helm does not know.
func TestSaveDir(t *testing.T) {
	dir := t.TempDir()
	if err := archive.SaveDir(chartOf(t, wide), dir, archive.OrderFields); err != nil {
		t.Fatal(err)
	}
	ch, err := chartloader.LoadDir(filepath.Join(dir, "wide"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "wide", "Chart.yaml"))
	if err != nil || !strings.Contains(string(text), "runHooksInParallel: otherChartsOnly\n") || !strings.Contains(string(text), "\nhookScope: chart\n") || strings.Contains(string(text), "team") {
		t.Errorf("%v\n%s", err, text)
	}
	for _, sub := range ch.Dependencies() {
		wantFields(t, sub, wide["charts/"+sub.Name()+"/Chart.yaml"])
	}
	if len(ch.Dependencies()) != 2 {
		t.Errorf("%d charts inside", len(ch.Dependencies()))
	}
}

// TestChartYAML checks that ChartYAML returns the selected fields.
func TestChartYAML(t *testing.T) {
	ch := chartOf(t, wide)
	helms, err := yaml.Marshal(ch.Metadata)
	if err != nil {
		t.Fatal(err)
	}
	none := func(string) bool { return false }
	if text, err := archive.ChartYAML(ch, none); err != nil || string(text) != string(helms) {
		t.Errorf("without any: %v\n%s", err, text)
	}
	for _, c := range []struct {
		name           string
		filter         archive.DroppedFieldFilter
		want, unwanted []string
	}{
		{
			"fields about order and hooks", archive.OrderFields,
			[]string{"runHooksInParallel: otherChartsOnly\n", "hookScope: chart\n", "depends-on:\n  - v1\n", "- hookScope: release\n  name: v1\n"}, []string{"team", "pager", "note"},
		},
		{"fields about hooks", archive.HookFields, []string{"runHooksInParallel: otherChartsOnly\n", "hookScope: chart\n"}, []string{"depends-on:", "team", "pager", "note"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, err := archive.ChartYAML(ch, c.filter)
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(string(text), want) {
					t.Errorf("%q is missing in:\n%s", want, text)
				}
			}
			for _, unwanted := range c.unwanted {
				if strings.Contains(string(text), unwanted) {
					t.Errorf("%q is in:\n%s", unwanted, text)
				}
			}
		})
	}
	made := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "made", Version: "1.0.0"}}
	if text, err := archive.ChartYAML(made, archive.AllFields); err != nil || string(text) != "apiVersion: v2\nname: made\nversion: 1.0.0\n" {
		t.Errorf("made in memory: %v\n%s", err, text)
	}
}
