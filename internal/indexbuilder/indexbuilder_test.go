// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package indexbuilder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/repo"

	"github.com/ordered-helm/helm/internal/testutil/chartpack"
)

// addPackage writes an archive of a chart that consists only of a Chart.yaml to the file to.
func addPackage(t *testing.T, to, chartYAML string) {
	t.Helper()
	source := filepath.Join(t.TempDir(), "chart")
	if err := os.MkdirAll(source, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(source, "Chart.yaml"), []byte(chartYAML), 0o644); err != nil {
		t.Fatal(err)
	}
	archive, err := chartpack.Pack(source)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, archive, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestFromDirectory(t *testing.T) {
	folder := t.TempDir()
	addPackage(t, filepath.Join(folder, "plain-1.0.0.tgz"), "apiVersion: v2\nname: plain\nversion: 1.0.0\n")
	addPackage(t, filepath.Join(folder, "more", "ordered-2.0.0.tgz"), `apiVersion: v3
name: ordered
version: 2.0.0
runHooksInParallel: true
annotations:
  helm.sh/depends-on/subcharts: [db, queue]
dependencies:
- name: db
  version: 1.0.0
  repository: https://example.com
  depends-on: [queue]
`)
	addPackage(t, filepath.Join(folder, "more", "deeper", "hidden-1.0.0.tgz"), "apiVersion: v2\nname: hidden\nversion: 1.0.0\n")
	if err := os.WriteFile(filepath.Join(folder, "broken.tgz"), []byte("no archive"), 0o644); err != nil {
		t.Fatal(err)
	}

	index, skipped, err := FromDirectory(folder, "https://example.com/charts?x=1")
	if err != nil {
		t.Fatal(err)
	}
	if len(skipped) != 1 || skipped[0].Path != "broken.tgz" || skipped[0].Reason == nil {
		t.Errorf("skipped %+v", skipped)
	}
	file := filepath.Join(folder, "index.yaml")
	if err := index.WriteFile(file, 0o644); err != nil {
		t.Fatal(err)
	}
	// This parser is strict: an unknown field is an error.
	read, err := repo.LoadIndexFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(read.Entries) != 2 {
		t.Errorf("%d charts, want 2", len(read.Entries))
	}
	ordered, err := read.Get("ordered", "2.0.0")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := ordered.Annotations["helm.sh/depends-on/subcharts"], `["db","queue"]`; got != want {
		t.Errorf("annotation is %s, want %s", got, want)
	}
	if got := ordered.URLs[0]; !strings.HasPrefix(got, "https://example.com/charts/more/ordered-2.0.0.tgz") {
		t.Errorf("URL is %s", got)
	}
}

func TestJoin(t *testing.T) {
	for _, tt := range []struct{ base, folder, want string }{
		{"", ".", ""},
		{"", "sub", "sub"},
		{"https://example.com", ".", "https://example.com"},
		{"https://example.com/", "sub", "https://example.com/sub"},
		{"https://example.com/a//b/", "sub", "https://example.com/a/b/sub"},
		{"charts", "sub", "charts/sub"},
		{"%zz", "sub", "%zz/sub"},
	} {
		t.Run(tt.base+" and "+tt.folder, func(t *testing.T) {
			if got := joinURL(tt.base, tt.folder); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
