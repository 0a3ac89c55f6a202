// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

// Package charts writes the charts that the tests install. A chart is described by a Chart,
// its objects and hooks by an Object.
package charts

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Metadata is the content of Chart.yaml for a chart named app whose apiVersion is v3.
const Metadata = "apiVersion: v3\nname: app\nversion: 0.1.0\n"

// Chart describes a chart or subchart.
type Chart struct {
	// Name is the name of the chart. The default is app.
	Name string
	// APIVersion is the apiVersion in Chart.yaml. The default is v3.
	APIVersion string
	// HookMode is the value of runHooksInParallel in Chart.yaml. If it is empty, Chart.yaml
	// does not contain the field.
	HookMode string
	// Metadata contains additional lines of Chart.yaml.
	Metadata string
	// Values is the text of values.yaml.
	Values string
	// Objects are the objects in templates/all.yaml, after the text of Template.
	Objects  []Object
	Template string
	// TemplatePerObject writes each object to its own template, named after the object.
	TemplatePerObject bool
	// Templates are other templates, by file name.
	Templates map[string]string
	// CRDs is the text of crds/all.yaml.
	CRDs string
	// Subcharts are the subcharts in the directory charts.
	Subcharts []Chart
}

// Write writes the chart and returns its directory.
func (c Chart) Write(tb testing.TB) string {
	tb.Helper()
	files := map[string]string{}
	c.addTo(files, "")
	return WriteFiles(tb, files)
}

// addTo adds the files of the chart to files, with paths below dir.
func (c Chart) addTo(files map[string]string, dir string) {
	if c.APIVersion == "" {
		c.APIVersion = "v3"
	}
	if c.Name == "" {
		c.Name = "app"
	}
	if c.HookMode != "" {
		c.Metadata = "runHooksInParallel: " + c.HookMode + "\n" + c.Metadata
	}
	files[dir+"Chart.yaml"] = "apiVersion: " + c.APIVersion + "\nname: " + c.Name + "\nversion: 0.1.0\n" + c.Metadata
	if c.Values != "" {
		files[dir+"values.yaml"] = c.Values
	}
	if c.TemplatePerObject {
		for _, o := range c.Objects {
			files[dir+"templates/"+o.Name+".yaml"] = o.Manifest()
		}
	} else if text := c.Template + Manifests(c.Objects...); text != "" {
		files[dir+"templates/all.yaml"] = text
	}
	if c.CRDs != "" {
		files[dir+"crds/all.yaml"] = c.CRDs
	}
	for name, text := range c.Templates {
		files[dir+"templates/"+name] = text
	}
	for _, sub := range c.Subcharts {
		sub.addTo(files, dir+"charts/"+sub.Name+"/")
	}
}

// Write writes a chart with the objects, in one template, and returns its directory.
func Write(tb testing.TB, objects ...Object) string {
	tb.Helper()
	return Chart{Objects: objects}.Write(tb)
}

// WriteTemplate writes a chart with one template, and returns its directory.
func WriteTemplate(tb testing.TB, text string) string {
	tb.Helper()
	return Chart{Template: text}.Write(tb)
}

// WriteFiles writes the files of a chart, whose keys are their paths, and returns its
// directory.
func WriteFiles(tb testing.TB, files map[string]string) string {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "chart")
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		AddFile(tb, dir, name, text)
	}
	return dir
}

// Copy copies the chart in a directory, so that a test can change it, and returns the new
// directory.
func Copy(tb testing.TB, from string) string {
	tb.Helper()
	dir := filepath.Join(tb.TempDir(), "chart")
	if err := os.CopyFS(dir, os.DirFS(from)); err != nil {
		tb.Fatal(err)
	}
	return dir
}

// CopyFile copies a file into a chart.
func CopyFile(tb testing.TB, from, to string) {
	tb.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		tb.Fatal(err)
	}
}

// Edit replaces text in a file of the chart in dir. Each pair consists of an old text, which
// must occur in the file, and the new text.
func Edit(tb testing.TB, dir, name string, pairs ...string) {
	tb.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		tb.Fatal(err)
	}
	text := string(data)
	for pair := range slices.Chunk(pairs, 2) {
		if !strings.Contains(text, pair[0]) {
			tb.Fatalf("%s has no %q", name, pair[0])
		}
		text = strings.Replace(text, pair[0], pair[1], 1)
	}
	AddFile(tb, dir, name, text)
}

// AddFinalizer adds the finalizer ordered.example/hold to the object with a name in
// templates/all.yaml. The object must have annotations.
func AddFinalizer(tb testing.TB, dir, name string) {
	tb.Helper()
	Edit(tb, dir, "templates/all.yaml", "{name: "+name+",", "{name: "+name+", finalizers: [ordered.example/hold],")
}

// AddFile adds a file to the chart in dir, or replaces it.
func AddFile(tb testing.TB, dir, name, text string) {
	tb.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// RemoveFile deletes a file of the chart in dir.
func RemoveFile(tb testing.TB, dir, name string) {
	tb.Helper()
	if err := os.Remove(filepath.Join(dir, name)); err != nil {
		tb.Fatal(err)
	}
}
