// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package dependency

import (
	"bytes"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/getter"
	"helm.sh/helm/v3/pkg/repo"
	"sigs.k8s.io/yaml"

	"github.com/ordered-helm/helm/internal/archive"
	"github.com/ordered-helm/helm/internal/chartloader"
)

// chartV3YAML returns a Chart.yaml of the format helm.sh/v3. data is a flow mapping.
func chartV3YAML(name, version, data string) string {
	return "apiVersion: helm.sh/v3\nkind: Chart\nmetadata: {name: " + name + ", labels: {version: " + version + "}}\ndata: " + data + "\n"
}

// libraryRepository adds a chart repository with the library common in several versions. Its archives
// are in a directory.
func libraryRepository(t *testing.T, m *Manager, versions ...string) {
	t.Helper()
	dir := t.TempDir()
	index := repo.NewIndexFile()
	for _, version := range versions {
		source := filepath.Join(t.TempDir(), "common")
		write(t, filepath.Join(source, "Chart.yaml"), chartV3YAML("common", version, "{type: library}"))
		write(t, filepath.Join(source, "templates", "a.tpl"), `{{ define "a" }}`+version+`{{ end }}`)
		ch, err := chartloader.LoadDir(source)
		if err != nil {
			t.Fatal(err)
		}
		packed, err := archive.Save(ch, dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := index.MustAdd(ch.Metadata, filepath.Base(packed), repositoryURL, ""); err != nil {
			t.Fatal(err)
		}
	}
	m.SkipUpdate, m.RepositoryCache, m.RepositoryConfig = true, filepath.Join(dir, "cache"), filepath.Join(dir, "repositories.yaml")
	m.Getters = serveDirectory(dir)
	index.SortEntries()
	text, err := yaml.Marshal(index)
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(m.RepositoryCache, "libs-index.yaml"), string(text))
	write(t, m.RepositoryConfig, "apiVersion: v1\nrepositories: [{name: libs, url: '"+repositoryURL+"'}]\n")
}

const repositoryURL = "https://charts.example.com"

// TestUpdateLibraries updates charts with libraries, and then builds them from the lock file.
func TestUpdateLibraries(t *testing.T) {
	for _, c := range []struct {
		name string
		// files are below a directory in which the chart is shop/.
		files map[string]string
		want  []string // the paths in charts/ and library/
		err   string
	}{
		{
			"the newest in the range", map[string]string{"shop/Chart.yaml": chartV3YAML("shop", "1.0.0", "{libraries: [{name: common, version: ^1, repository: '"+repositoryURL+"'}]}")},
			[]string{"library/common-1.9.0.tgz"}, "",
		},
		{
			"in requirements.yaml, with an alias for the repository", map[string]string{
				"shop/Chart.yaml": chartV3YAML("shop", "1.0.0", "{}"), "shop/requirements.yaml": "libraries: [{name: common, version: ^1.0, repository: '@libs'}]\n",
			},
			[]string{"library/common-1.9.0.tgz"}, "",
		},
		{
			"that subcharts use too", map[string]string{
				"shop/Chart.yaml":            chartV3YAML("shop", "1.0.0", "{libraries: [{name: common, version: '>=1', repository: '"+repositoryURL+"'}], dependencies: [{name: db, version: 1.0.0, repository: 'file://../db'}]}"),
				"db/Chart.yaml":              chartV3YAML("db", "1.0.0", "{libraries: [{name: common, version: '<1.5', repository: '"+repositoryURL+"'}]}"),
				"shop/charts/web/Chart.yaml": chartV3YAML("web", "1.0.0", "{libraries: [{name: common, version: '<2', repository: '"+repositoryURL+"'}]}"),
			},
			[]string{"charts/db-1.0.0.tgz", "charts/web", "library/common-1.2.0.tgz"}, "",
		},
		{
			"that only a subchart of a subchart uses", map[string]string{
				"shop/Chart.yaml":                      chartV3YAML("shop", "1.0.0", "{libraries: [{name: common, version: ^1, repository: '"+repositoryURL+"'}], dependencies: [{name: web, version: '*'}]}"),
				"shop/charts/web/Chart.yaml":           chartV3YAML("web", "1.0.0", "{}"),
				"shop/charts/web/charts/db/Chart.yaml": chartV3YAML("db", "1.0.0", "{libraries: [{name: common, version: ^1}]}"),
			},
			[]string{"charts/web", "library/common-1.9.0.tgz"}, "",
		},
		{
			"with ranges that exclude each other", map[string]string{
				"shop/Chart.yaml":            chartV3YAML("shop", "1.0.0", "{libraries: [{name: common, version: '>=2', repository: '"+repositoryURL+"'}]}"),
				"shop/charts/web/Chart.yaml": chartV3YAML("web", "1.0.0", "{libraries: [{name: common, version: '<2', repository: '"+repositoryURL+"'}]}"),
			},
			[]string{"charts/web"}, "no version of the library common satisfies all charts that use it:\n  shop asks for >=2 (Chart.yaml:4)\n  shop/charts/web asks for <2 (Chart.yaml:4)",
		},
		{
			"in a directory", map[string]string{
				"shop/Chart.yaml": chartV3YAML("shop", "1.0.0", "{libraries: [{name: own, version: ^1, repository: 'file://../own'}, {name: mine, version: '*'}]}"),
				"own/Chart.yaml":  chartV3YAML("own", "1.3.0", "{type: library}"), "shop/library/mine/Chart.yaml": chartV3YAML("mine", "1.0.0", "{type: library}"),
			},
			[]string{"library/mine", "library/own-1.3.0.tgz"}, "",
		},
		{
			"of a library", map[string]string{
				"shop/Chart.yaml": chartV3YAML("shop", "1.0.0", "{libraries: [{name: own, version: ^1, repository: 'file://../own'}]}"),
				"own/Chart.yaml":  chartV3YAML("own", "1.3.0", "{libraries: [{name: shop, version: '*', repository: 'file://../shop'}]}"),
			},
			nil, "own/Chart.yaml:4: a library cannot depend on a library: name shop in the libraries of the chart that uses own instead",
		},
		{
			"that is missing", map[string]string{"shop/Chart.yaml": chartV3YAML("shop", "1.0.0", "{libraries: [{name: common, version: ^7, repository: '"+repositoryURL+"'}]}")},
			nil, `can't get a valid version`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			top := t.TempDir()
			for name, text := range c.files {
				write(t, filepath.Join(top, filepath.FromSlash(name)), text)
			}
			m, out := manager(filepath.Join(top, "shop"))
			libraryRepository(t, m, "1.0.0", "1.2.0", "1.9.0", "2.0.0")
			err := m.Update(t.Context())
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got\n%v\nwant\n%s", err, c.err)
				}
				expectPresent(t, m.ChartPath, c.want)
				return
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			expectPresent(t, m.ChartPath, c.want)
			if got := c.files["shop/requirements.yaml"]; got != "" {
				if text, err := os.ReadFile(filepath.Join(m.ChartPath, "requirements.yaml")); err != nil || string(text) != got {
					t.Errorf("requirements.yaml became %s, %v", text, err)
				}
			}
			if err := os.RemoveAll(filepath.Join(m.ChartPath, "charts", "db-1.0.0.tgz")); err != nil {
				t.Fatal(err)
			}
			if err := m.Build(t.Context()); err != nil {
				t.Fatal(err)
			}
			expectPresent(t, m.ChartPath, c.want)
		})
	}
}

// TestUpdateLibrariesFails updates charts whose archives or lock file cannot be written. Everything stays
// as it was.
func TestUpdateLibrariesFails(t *testing.T) {
	for _, c := range []struct {
		name    string
		prepare func(t *testing.T, dir string)
		present []string
		err     string
	}{
		{"the lock file is a link", func(t *testing.T, dir string) {
			t.Helper()
			write(t, filepath.Join(dir, "..", "elsewhere"), "digest: old\n")
			if err := os.Symlink(filepath.Join(dir, "..", "elsewhere"), filepath.Join(dir, "Chart.lock")); err != nil {
				t.Fatal(err)
			}
		}, nil, "the Chart.lock file is a symlink"},
		{"a directory has the name of a library", func(t *testing.T, dir string) {
			t.Helper()
			write(t, filepath.Join(dir, "library", "common-1.9.0.tgz", "a"), "")
		}, []string{"library/common-1.9.0.tgz"}, "common-1.9.0.tgz: it is a directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			top := t.TempDir()
			dir := filepath.Join(top, "shop")
			write(t, filepath.Join(dir, "Chart.yaml"), chartV3YAML("shop", "1.0.0",
				"{libraries: [{name: common, version: ^1, repository: '"+repositoryURL+"'}], dependencies: [{name: db, version: 1.0.0, repository: 'file://../db'}]}"))
			write(t, filepath.Join(top, "db", "Chart.yaml"), chartV3YAML("db", "1.0.0", "{}"))
			c.prepare(t, dir)
			m, _ := manager(dir)
			libraryRepository(t, m, "1.9.0")
			if err := m.Update(t.Context()); err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %v, want %s", err, c.err)
			}
			expectPresent(t, dir, c.present)
			if text, err := os.ReadFile(filepath.Join(dir, "Chart.lock")); err == nil && string(text) != "digest: old\n" {
				t.Errorf("the lock file became %s", text)
			}
		})
	}
}

// TestUpdateWithLinkedSubchart updates a chart with a subchart that is a symbolic link, and one that Helm
// ignores.
func TestUpdateWithLinkedSubchart(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "shop")
	asks := func(versions string) string {
		return "{libraries: [{name: common, version: '" + versions + "', repository: '" + repositoryURL + "'}]}"
	}
	write(t, filepath.Join(dir, "Chart.yaml"), chartV3YAML("shop", "1.0.0", asks("^1")))
	write(t, filepath.Join(dir, "charts", "_old", "Chart.yaml"), chartV3YAML("old", "1.0.0", asks("^2")))
	write(t, filepath.Join(top, "db", "Chart.yaml"), chartV3YAML("db", "1.0.0", asks("<1.5")))
	if err := os.Symlink(filepath.Join(top, "db"), filepath.Join(dir, "charts", "db")); err != nil {
		t.Fatal(err)
	}
	m, _ := manager(dir)
	libraryRepository(t, m, "1.2.0", "1.9.0", "2.0.0")
	if err := m.Update(t.Context()); err != nil {
		t.Fatal(err)
	}
	expectPresent(t, dir, []string{"charts/_old", "charts/db", "library/common-1.2.0.tgz"})
}

// TestUpdateRemovesOldLibraries updates a chart again after a library has a new version.
func TestUpdateRemovesOldLibraries(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop")
	write(t, filepath.Join(dir, "Chart.yaml"), chartV3YAML("shop", "1.0.0", "{libraries: [{name: common, version: ^1, repository: '"+repositoryURL+"'}]}"))
	for _, version := range []string{"1.0.0", "1.9.0"} {
		m, out := manager(dir)
		libraryRepository(t, m, version)
		if err := m.Update(t.Context()); err != nil {
			t.Fatal(err)
		}
		expectPresent(t, dir, []string{"library/common-" + version + ".tgz"})
		if want := "Saving 0 charts\nSaving 1 libraries\nDownloading common from repo " + repositoryURL + "\nDeleting outdated charts\nDeleting outdated libraries\n"; out.String() != want {
			t.Errorf("it says %q, want %q", out, want)
		}
	}
	lock, err := os.ReadFile(filepath.Join(dir, "Chart.lock"))
	if err != nil || !strings.Contains(string(lock), "dependencies:\n- name: common\n  repository: "+repositoryURL+"\n  version: 1.9.0\n") {
		t.Errorf("the lock file is\n%s, %v", lock, err)
	}
}

// serveDirectory returns getters that read files in a directory.
func serveDirectory(dir string) getter.Providers {
	return getter.Providers{{Schemes: []string{"https"}, New: func(...getter.Option) (getter.Getter, error) { return directoryGetter(dir), nil }}}
}

// directoryGetter is the path of a directory with files.
type directoryGetter string

func (d directoryGetter) Get(url string, _ ...getter.Option) (*bytes.Buffer, error) {
	data, err := os.ReadFile(filepath.Join(string(d), path.Base(url)))
	return bytes.NewBuffer(data), err
}

// expectPresent checks the paths of the dependencies in a chart.
func expectPresent(t *testing.T, dir string, want []string) {
	t.Helper()
	var got []string
	for _, below := range []string{"charts", "library"} {
		entries, _ := os.ReadDir(filepath.Join(dir, below))
		for _, entry := range entries {
			got = append(got, below+"/"+entry.Name())
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestListLibraries(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shop")
	for name, text := range map[string]string{
		"Chart.yaml":                  chartV3YAML("shop", "1.0.0", "{dependencies: [{name: db, version: '1', repository: r}], libraries: [{name: common, version: ^1, repository: r}, {name: base, version: ^2}, {name: none, version: ^2}]}"),
		"charts/db/Chart.yaml":        "apiVersion: v2\nname: db\nversion: 1.0.0\n",
		"library/common/Chart.yaml":   chartV3YAML("common", "1.0.0", "{type: library}"),
		"library/older/Chart.yaml":    chartV3YAML("base", "1.0.0", "{type: library}"),
		"library/another/Chart.yaml":  chartV3YAML("another", "1.0.0", "{type: library}"),
		"library/README.md":           "",
		"library/broken/NotChart.txt": "",
	} {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	var out bytes.Buffer
	if err := List(dir, &out, 80); err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(out.String(), dir, "shop")
	for _, want := range []string{
		"db    \t1      \tr         \tunpacked", "common\t^1     \tr         \tunpacked", "base  \t^2     \t          \twrong version", "none  \t^2     \t          \tmissing",
		`WARNING: "shop/library/another" is not in Chart.yaml.`, `WARNING: "shop/library/broken" is not a chart.`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}
