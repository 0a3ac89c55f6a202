// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/internal/archive"
)

// tarball packs entries into an archive, without any check. The field Uname of a header is
// used for the content of the file.
func tarball(tb testing.TB, entries ...tar.Header) []byte {
	tb.Helper()
	var b bytes.Buffer
	zipped := gzip.NewWriter(&b)
	out := tar.NewWriter(zipped)
	for _, e := range entries {
		text := e.Uname // contains the content
		e.Uname, e.Mode, e.Size = "", 0o644, int64(len(text))
		if e.Typeflag != 0 && e.Typeflag != tar.TypeReg {
			e.Size, text = 0, ""
		}
		if err := out.WriteHeader(&e); err != nil {
			tb.Fatal(err)
		}
		if _, err := out.Write([]byte(text)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := errors.Join(out.Close(), zipped.Close()); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

func file(name, text string) tar.Header { return tar.Header{Name: name, Uname: text} }

const listed = "apiVersion: v3\nname: shop\nversion: 1.0.0\nannotations:\n  helm.sh/depends-on/subcharts: [a, b] # as written\n"

// TestExpand checks that the files are written unchanged.
func TestExpand(t *testing.T) {
	dir := t.TempDir()
	data := tarball(t, file("any/Chart.yaml", listed), file("any/templates/deep/a.yaml", "a"), file("any/charts/b-1.tgz", "packed"))
	if err := archive.Expand(dir, bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"Chart.yaml": listed, "templates/deep/a.yaml": "a", "charts/b-1.tgz": "packed"} {
		if got, err := os.ReadFile(filepath.Join(dir, "shop", name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// TestExpandFormat unpacks a chart of the format helm.sh/v3 that another tool has packed as it was
// written.
func TestExpandFormat(t *testing.T) {
	dir := t.TempDir()
	if err := archive.Expand(dir, bytes.NewReader(tarball(t, file("any/Chart.yaml", resource["Chart.yaml"])))); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "shop", "Chart.yaml")); err != nil || string(got) != resource["Chart.yaml"] {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestExpandRefuses checks that Expand rejects archives whose files would be outside the
// directory, or would overwrite a file.
func TestExpandRefuses(t *testing.T) {
	tests := []struct {
		name    string
		entries []tar.Header
		prepare func(t *testing.T, dir string)
		problem string
	}{
		{"path that climbs", []tar.Header{file("a/Chart.yaml", listed), file("a/../../out", "x")}, nil, "references parent directory"},
		{"path from the root", []tar.Header{file("a/Chart.yaml", listed), file("/a/b", "x"), file("a//out", "x")}, nil, ""},
		{"name that climbs", []tar.Header{file("a/Chart.yaml", "name: ..\n")}, nil, `chart name ".." is not allowed`},
		{"name that is here", []tar.Header{file("a/Chart.yaml", "name: .\n")}, nil, `chart name "." is not allowed`},
		{"name with a folder", []tar.Header{file("a/Chart.yaml", "name: b/c\n")}, nil, `must not contain path separators`},
		{"no name", []tar.Header{file("a/Chart.yaml", "version: 1\n")}, nil, "chart name not specified"},
		{"no chart", []tar.Header{file("a/values.yaml", "a: 1\n")}, nil, "chart name not specified"},
		{"name of a chart of the format that climbs", []tar.Header{file("a/Chart.yaml", "apiVersion: helm.sh/v3\nmetadata: {name: ..}\n")}, nil, `chart name ".." is not allowed`},
		{"chart of the format without a name", []tar.Header{file("a/Chart.yaml", "apiVersion: helm.sh/v3\nname: shop\n")}, nil, "chart name not specified"},
		{"chart of the format that is no YAML", []tar.Header{file("a/Chart.yaml", "apiVersion: helm.sh/v3\nmetadata: [")}, nil, "chart name not specified"},
		{"no YAML", []tar.Header{file("a/Chart.yaml", "name: [")}, nil, "cannot load Chart.yaml"},
		{"link out of the chart", []tar.Header{
			file("a/Chart.yaml", listed), {Name: "a/link", Typeflag: tar.TypeSymlink, Linkname: "../.."}, file("a/link/out", "x"),
		}, nil, ""},
		{"file in a file's place", []tar.Header{file("a/Chart.yaml", listed), file("a/b", "x"), file("a/b/c", "y")}, nil, "b"},
		{"folder that is there", []tar.Header{file("a/Chart.yaml", listed)}, func(t *testing.T, dir string) {
			if err := os.Mkdir(filepath.Join(dir, "shop"), 0o755); err != nil {
				t.Fatal(err)
			}
		}, "exists"},
		{"link to elsewhere that is there", []tar.Header{file("a/Chart.yaml", listed)}, func(t *testing.T, dir string) {
			if err := os.Symlink(filepath.Dir(dir), filepath.Join(dir, "shop")); err != nil {
				t.Fatal(err)
			}
		}, "exists"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			top := t.TempDir()
			dir := filepath.Join(top, "dir")
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			if tt.prepare != nil {
				tt.prepare(t, dir)
			}
			before := names(t, top)
			err := archive.Expand(dir, bytes.NewReader(tarball(t, tt.entries...)))
			if tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)) {
				t.Errorf("got %v, want %s", err, tt.problem)
			}
			after := names(t, top)
			if err == nil {
				after = slices.DeleteFunc(after, func(name string) bool { return strings.HasPrefix(name, "dir/shop") })
			}
			if !slices.Equal(before, after) {
				t.Errorf("there was %q, there is %q", before, after)
			}
		})
	}
}

// names returns the paths below a directory.
func names(t *testing.T, dir string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if relative, err := filepath.Rel(dir, path); err == nil {
			list = append(list, relative)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// FuzzExpand checks that no archive leaves a file outside the chart's directory.
func FuzzExpand(f *testing.F) {
	f.Add("a/Chart.yaml", "name: shop\n", "a/../x", byte(tar.TypeReg), "..")
	f.Add("Chart.yaml", "name: ../shop\n", "/etc/x", byte(tar.TypeSymlink), "/")
	f.Add("a/Chart.yaml", "name: 'C:\\x'\n", `a\..\..\x`, byte(tar.TypeLink), "a/Chart.yaml")
	f.Fuzz(func(t *testing.T, chartName, text, other string, kind byte, link string) {
		var b bytes.Buffer
		zipped := gzip.NewWriter(&b)
		out := tar.NewWriter(zipped)
		for _, h := range []tar.Header{
			{Name: chartName, Mode: 0o644, Size: int64(len(text))},
			{Name: other, Mode: 0o644, Typeflag: kind, Linkname: link},
		} {
			if out.WriteHeader(&h) != nil {
				return
			}
			if h.Size > 0 {
				if _, err := out.Write([]byte(text)); err != nil {
					return
				}
			}
		}
		if errors.Join(out.Close(), zipped.Close()) != nil {
			return
		}
		top := t.TempDir()
		dir := filepath.Join(top, "dir")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		err := archive.Expand(dir, &b)
		entries, _ := os.ReadDir(dir)
		if err != nil && len(entries) > 0 || err == nil && len(entries) != 1 {
			t.Errorf("%v and %v", err, entries)
		}
		if outside, _ := os.ReadDir(top); len(outside) != 1 {
			t.Errorf("outside: %v", outside)
		}
	})
}
