// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartloader_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	helmloader "helm.sh/helm/v3/pkg/chart/loader"

	"github.com/ordered-helm/helm/internal/chartloader"
)

// tree maps paths to the contents of files.
type tree map[string]string

// chartYAML returns a Chart.yaml with additional lines.
func chartYAML(name, more string) string {
	return "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n" + more
}

// write writes the files to a new directory.
func (files tree) write(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "chart")
	for _, name := range files.names() {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[name]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func (files tree) names() []string {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// buffered returns the files in the form that loaders accept.
func (files tree) buffered() []*chartloader.BufferedFile {
	var list []*chartloader.BufferedFile
	for _, name := range files.names() {
		list = append(list, &chartloader.BufferedFile{Name: name, Data: []byte(files[name])})
	}
	return list
}

// archive packs the files below a top-level directory.
func (files tree) archive(t testing.TB, folder string) string {
	t.Helper()
	var b bytes.Buffer
	gz := gzip.NewWriter(&b)
	tw := tar.NewWriter(gz)
	for _, name := range files.names() {
		header := &tar.Header{Name: folder + "/" + name, Mode: 0o644, Size: int64(len(files[name])), Typeflag: tar.TypeReg}
		if err := tw.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := tw.Write([]byte(files[name])); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	if err := gz.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// content is everything in a chart that can be compared. Subcharts can be in any order.
type content struct {
	Metadata              *chart.Metadata
	Lock                  *chart.Lock
	Templates, Files, Raw []*chart.File
	Values                map[string]any
	Schema                []byte
	Path                  string
	Subcharts             []content
}

func contentOf(ch *chart.Chart) content {
	c := content{
		Metadata: ch.Metadata, Lock: ch.Lock, Templates: ch.Templates, Files: ch.Files, Raw: ch.Raw,
		Values: ch.Values, Schema: ch.Schema, Path: ch.ChartFullPath(),
	}
	for _, sub := range ch.Dependencies() {
		c.Subcharts = append(c.Subcharts, contentOf(sub))
	}
	slices.SortFunc(c.Subcharts, func(a, b content) int {
		return cmp.Or(cmp.Compare(a.Metadata.Name, b.Metadata.Name), cmp.Compare(a.Metadata.Version, b.Metadata.Version))
	})
	return c
}

// likeHelm loads a chart with Helm's loader and with the tested loader, and compares the
// charts or the errors.
func likeHelm(t *testing.T, path string) *chart.Chart {
	t.Helper()
	want, wantErr := helmloader.Load(path)
	got, err := chartloader.Load(path)
	if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() {
		t.Fatalf("got the error %v, Helm's is %v", err, wantErr)
	}
	if err == nil && !reflect.DeepEqual(contentOf(got), contentOf(want)) {
		t.Errorf("got %+v\nHelm loads %+v", contentOf(got), contentOf(want))
	}
	return got
}
