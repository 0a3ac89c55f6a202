// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/repo"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/declaration"
)

func TestSameURL(t *testing.T) {
	tests := []struct {
		a, b string
		want bool
	}{
		{"https://a.example", "https://a.example/", true},
		{"https://a.example/charts", "https://a.example/charts/", true},
		{"https://a.example/x/../charts", "https://a.example/charts", true},
		{"https://a.example/charts", "https://a.example/other", false},
		{"https://a.example", "http://a.example", false},
		{"https://a.example?x=1", "https://a.example?x=2", false},
		{"%", "%", true},
		{"%/a/", "%/a", true},
		{"https://a.example", "%", false},
	}
	for _, tt := range tests {
		if got := sameURL(tt.a, tt.b); got != tt.want {
			t.Errorf("%s and %s: %v", tt.a, tt.b, got)
		}
	}
}

func TestFind(t *testing.T) {
	known := []*repo.Entry{{Name: "a", URL: "https://a.example"}, {Name: "b", URL: "https://b.example/"}, {Name: "again", URL: "https://a.example"}}
	for repository, want := range map[string]string{
		"@a": "a", "alias:b": "b", "@again": "again", "@https://a.example": "", "a": "",
		"https://a.example/": "a", "https://b.example": "b", "https://c.example": "",
	} {
		name := ""
		if entry := findRepository(known, repository); entry != nil {
			name = entry.Name
		}
		if name != want {
			t.Errorf("%s is %q, want %q", repository, name, want)
		}
	}
}

func TestNewest(t *testing.T) {
	versions := []string{"next", "v2.1.0", "2.0.0-rc.1", "1.5.0", "1.4.0"}
	for text, want := range map[string]string{"*": "v2.1.0", "^1": "1.5.0", "1.4.x": "1.4.0", ">=2.0.0-0 <2.0.0": "2.0.0-rc.1", "3": ""} {
		constraint, err := semver.NewConstraint(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := newest(versions, constraint); got != want {
			t.Errorf("%s gives %q, want %q", text, got, want)
		}
	}
}

func TestAbsoluteURL(t *testing.T) {
	for path, want := range map[string]string{
		"a-1.0.0.tgz":            "https://a.example/charts/a-1.0.0.tgz",
		"below/a-1.0.0.tgz":      "https://a.example/charts/below/a-1.0.0.tgz",
		"https://b.example/a":    "https://b.example/a",
		"../elsewhere/a-1.0.tgz": "https://a.example/elsewhere/a-1.0.tgz",
	} {
		if got, err := absoluteURL("https://a.example/charts", path); err != nil || got != want {
			t.Errorf("%s gives %s, %v, want %s", path, got, err, want)
		}
	}
}

// local creates a chart with dependencies in local directories, and returns its directory.
func local(t *testing.T, names ...string) (dir string) {
	t.Helper()
	top := t.TempDir()
	text := "apiVersion: v3\nname: needy\nversion: 1.0.0\ndependencies:\n"
	for _, name := range names {
		text += "- {name: " + name + ", version: '*', repository: 'file://../" + name + "'}\n"
		write(t, filepath.Join(top, name, "Chart.yaml"), "apiVersion: v3\nname: "+name+"\nversion: 1.0.0\nrunHooksInParallel: true\n")
	}
	write(t, filepath.Join(top, "needy", "Chart.yaml"), text)
	return filepath.Join(top, "needy")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func manager(dir string) (*Manager, *bytes.Buffer) {
	var out bytes.Buffer
	return &Manager{Out: &out, ChartPath: dir, RepositoryConfig: filepath.Join(dir, "no-repositories.yaml")}, &out
}

// TestUpdateAndBuild updates dependencies in local directories, and then builds them from the
// lock file.
func TestUpdateAndBuild(t *testing.T) {
	dir := local(t, "a", "b")
	m, out := manager(dir)
	if err := m.Build(t.Context()); err != nil { // without a lock file, this is an update
		t.Fatalf("%v\n%s", err, out)
	}
	if want := "Saving 2 charts\nDeleting outdated charts\n"; out.String() != want {
		t.Errorf("it says %q, want %q", out, want)
	}
	ch, err := chartloader.LoadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	d, err := declaration.Read(ch)
	if err != nil || len(d.Subcharts) != 2 || !d.Subcharts[0].Hooks.IsParallel() {
		t.Errorf("it declares %+v, %v", d, err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "Chart.lock"))
	if err != nil {
		t.Fatal(err)
	}
	for _, again := range []func(context.Context) error{m.Build, m.Update} {
		if err := again(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if after, err := os.ReadFile(filepath.Join(dir, "Chart.lock")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the lock file became\n%s, %v", after, err)
	}
	write(t, filepath.Join(dir, "..", "a", "Chart.yaml"), "apiVersion: v3\nname: a\nversion: 2.0.0\n")
	if err := m.Build(t.Context()); err == nil || !strings.Contains(err.Error(), "can't get a valid version for dependency a") {
		t.Errorf("got %v", err)
	}
	if entries, _ := os.ReadDir(filepath.Join(dir, "charts")); len(entries) != 2 || entries[0].Name() != "a-1.0.0.tgz" {
		t.Errorf("a build that failed has left %v", entries)
	}
	if err := m.Update(t.Context()); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(filepath.Join(dir, "charts")); len(entries) != 2 || entries[0].Name() != "a-2.0.0.tgz" {
		t.Errorf("there are %v", entries)
	}
}

// TestCanceled checks that Update downloads nothing if the context is canceled.
func TestCanceled(t *testing.T) {
	dir := local(t, "a")
	m, _ := manager(dir)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.Update(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*", "*"))
	if err != nil || len(left) > 0 {
		t.Errorf("there are %v, %v", left, err)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); !slices.Equal(names, []string{filepath.Join(dir, "Chart.yaml"), filepath.Join(dir, "charts")}) {
		t.Errorf("there are %v", names)
	}
}

// TestEmptyEntry checks that an empty entry in the repository file is ignored.
func TestEmptyEntry(t *testing.T) {
	dir := local(t, "a")
	m, _ := manager(dir)
	write(t, m.RepositoryConfig, "apiVersion: v1\nrepositories: [null]\n")
	m.SkipUpdate = true
	if err := m.Update(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestLockFileIsSymlink checks that the target of a symbolic link is not overwritten.
func TestLockFileIsSymlink(t *testing.T) {
	dir := local(t, "a")
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Symlink(outside, filepath.Join(dir, "Chart.lock")); err != nil {
		t.Fatal(err)
	}
	write(t, outside, "digest: old\ngenerated: \"2020-02-03T04:05:06Z\"\n")
	m, _ := manager(dir)
	if err := m.Update(t.Context()); err == nil || !strings.Contains(err.Error(), "the Chart.lock file is a symlink to") {
		t.Errorf("got %v", err)
	}
	if text, err := os.ReadFile(outside); err != nil || !strings.HasPrefix(string(text), "digest: old") {
		t.Errorf("it became %q, %v", text, err)
	}
}

// TestDigestAsInStockHelm compares the digest with that of a lock file from stock Helm.
func TestDigestAsInStockHelm(t *testing.T) {
	required := []*chart.Dependency{{Name: "tiny", Version: "1.0.x", Repository: "file://../tiny"}}
	locked := []*chart.Dependency{{Name: "tiny", Version: "1.0.0", Repository: "file://../tiny"}}
	if sum, err := digest(required, locked); err != nil || sum != stockDigest {
		t.Errorf("got %s, %v, want %s", sum, err, stockDigest)
	}
}

// stockDigest is from the output of "helm dependency update" of stock Helm 3.22.
const stockDigest = "sha256:5661869bd4197f7955dfb864009aab07f127754978191caf8104c8778d19ac5f"
