// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	helmloader "helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"

	"github.com/ordered-helm/helm/internal/archive"
	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/chartscripts"
	"github.com/ordered-helm/helm/internal/declaration"
)

// resource is a chart of the format helm.sh/v3, with a subchart of the format.
var resource = map[string]string{
	"Chart.yaml": "# mine\napiVersion: helm.sh/v3\nkind: Chart\nmetadata:\n  name: shop\n  labels:\n    version: 1.10   # text\n    team: web\n" +
		"data: {runHooksInParallel: true, hookScope: chart}\n",
	"requirements.yaml":     "requirements:\n- {name: db, version: 0.1.0, repository: ''}\n- {name: web, version: 0.1.0, repository: '', depends-on: [db], hookScope: release}\n",
	"values.yaml":           "a: 1\n",
	"templates/a.yaml":      "a: b\n",
	"charts/db/Chart.yaml":  "apiVersion: helm.sh/v3\nkind: Chart\nmetadata: {name: db, labels: {version: 0.1.0}}\n",
	"charts/web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 0.1.0\n",
}

// TestFormatV3 packs a chart of the format helm.sh/v3, and unpacks it again.
func TestFormatV3(t *testing.T) {
	packed, err := archive.Save(chartOf(t, resource), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	stock, err := helmloader.LoadFile(packed)
	if err != nil || stock.Validate() != nil || stock.Metadata.APIVersion != "v2" || stock.Metadata.Version != "1.10" || len(stock.Dependencies()) != 2 {
		t.Fatalf("Helm loads %+v, %v", stock.Metadata, err)
	}
	ours, err := chartloader.LoadFile(packed)
	if err != nil || len(ours.Files) > 0 {
		t.Fatalf("loaded as %+v, %v", ours, err)
	}
	expectUnpacked(t, packed, resource)
	again, err := archive.Save(ours, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if a, b := files(t, packed), files(t, again); !maps.Equal(a, b) {
		t.Errorf("packed again, the archive has %q instead of %q", b, a)
	}
}

// TestFormatV3Versions packs a chart with other versions than those in its Chart.yaml.
func TestFormatV3Versions(t *testing.T) {
	ch := chartOf(t, resource)
	ch.Metadata.Version, ch.Metadata.AppVersion = "2.0.0", "3.6"
	packed, err := archive.Save(ch, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if ch, err = chartloader.LoadFile(packed); err != nil || ch.Metadata.Version != "2.0.0" || ch.Metadata.AppVersion != "3.6" {
		t.Fatalf("loaded as %+v, %v", ch.Metadata, err)
	}
	want := maps.Clone(resource)
	want["Chart.yaml"] = strings.Replace(want["Chart.yaml"], "    version: 1.10   # text", "    appVersion: '3.6'\n    version: '2.0.0'   # text", 1)
	expectUnpacked(t, packed, want)
}

// expectUnpacked checks the files that an archive contains when it is unpacked.
func expectUnpacked(t *testing.T, packed string, want map[string]string) {
	t.Helper()
	dir := t.TempDir()
	if err := archive.ExpandFile(dir, packed); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	root := filepath.Join(dir, "shop")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		got[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		if name != "charts/web/Chart.yaml" && got[name] != text {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got[name], text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got the files %q", got)
	}
}

// libraryChart returns the files of a chart of the format helm.sh/v3 with more in its Chart.yaml.
func libraryChart(name, version, data string) map[string]string {
	return map[string]string{"Chart.yaml": "apiVersion: helm.sh/v3\nkind: Chart\nmetadata: {name: " + name + ", labels: {version: " + version + "}}\ndata: " + data + "\n"}
}

// withFiles returns files and others, whose names get a prefix.
func withFiles(files map[string]string, prefix string, others map[string]string) map[string]string {
	all := maps.Clone(files)
	for name, text := range others {
		all[prefix+name] = text
	}
	return all
}

// packedText returns the content of the archive of a chart.
func packedText(t *testing.T, chart map[string]string) string {
	t.Helper()
	packed, err := archive.Save(chartOf(t, chart), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(packed)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestLibraries packs charts with libraries. Stock Helm renders the archive as Ordered Helm does.
func TestLibraries(t *testing.T) {
	lib := func(version string) map[string]string {
		return withFiles(libraryChart("names", version, "{type: library}"), "", map[string]string{
			"templates/name.tpl": `{{ define "name" }}from the library ` + version + `{{ end }}`, "values.yaml": "a: 1",
		})
	}
	user := func(name, versions string) map[string]string {
		return withFiles(libraryChart(name, "1.0.0", "{libraries: [{name: names, version: '"+versions+"'}]}"), "", map[string]string{"templates/a.yaml": `text: {{ include "name" . }}`})
	}
	packedUser := func(name, versions, version string) map[string]string {
		return map[string]string{name + ".tgz": packedText(t, withFiles(user(name, versions), "library/names/", lib(version)))}
	}
	for _, c := range []struct {
		name  string
		chart map[string]string
		want  string // the version that is rendered
	}{
		{"in directories", withFiles(withFiles(user("shop", "^1"), "library/", map[string]string{"README.md": "# Libraries\n"}), "library/names/", lib("1.0.0")), "1.0.0"},
		{"in archives", withFiles(user("shop", "^1"), "library/", map[string]string{"names-1.0.0.tgz": packedText(t, lib("1.0.0"))}), "1.0.0"},
		{"in a subchart in a directory", withFiles(withFiles(withFiles(user("shop", "^1"), "library/names/", lib("1.2.0")), "charts/db/", user("db", "<1.1")), "charts/db/library/names/", lib("1.0.0")), "1.0.0"},
		{"in a subchart with another directory name", withFiles(withFiles(withFiles(user("shop", "^1"), "library/names/", lib("1.2.0")), "charts/names/", user("db", "*")), "library/next/", lib("1.3.0")), "1.3.0"},
		{
			"in two subcharts with the same Chart.yaml", withFiles(withFiles(withFiles(libraryChart("shop", "1.0.0", "{}"), "charts/a/", withFiles(user("db", "^1"), "library/names/", lib("1.0.0"))),
				"charts/b/", withFiles(user("db", "^1"), "library/names/", lib("1.0.0"))), "", nil), "1.0.0",
		},
		{"older in the archive of a subchart", withFiles(withFiles(user("shop", "^1"), "library/names/", lib("1.2.0")), "charts/", packedUser("db", "^1", "1.0.0")), "1.2.0"},
		{
			"different in the archives of two subcharts", withFiles(withFiles(withFiles(libraryChart("shop", "1.0.0", "{}"), "charts/", packedUser("db", "^1", "1.0.0")), "charts/", packedUser("web", "^1", "1.1.0")),
				"", map[string]string{"templates/a.yaml": `text: {{ include "name" . }}`}), "1.1.0",
		},
		{"of a subchart of a flat chart", withFiles(withFiles(map[string]string{"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0.0\n"}, "charts/db/", user("db", "^1")), "charts/db/library/names/", lib("1.0.0")), "1.0.0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			packed, err := archive.Save(chartOf(t, c.chart), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			stock, err := helmloader.LoadFile(packed)
			if err != nil {
				t.Fatal(err)
			}
			ours, err := chartloader.LoadFile(packed)
			if err != nil {
				t.Fatal(err)
			}
			for _, ch := range []*chart.Chart{stock, chartloader.Copy(ours)} {
				if err := helmaction.CheckDependencies(ch, ch.Metadata.Dependencies); err != nil {
					t.Error(err)
				}
				expectRendered(t, ch, "text: from the library "+c.want)
			}
			expectUnpacked(t, packed, c.chart)
			again, err := archive.Save(ours, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if a, b := files(t, packed), files(t, again); !maps.Equal(a, b) {
				t.Errorf("packed again, the archive has %q instead of %q", slices.Sorted(maps.Keys(b)), slices.Sorted(maps.Keys(a)))
			}
		})
	}
}

// TestLibraryAndSubchart packs charts with a subchart that has the name of a library, of which an archive
// contains an older version. Stock Helm would use the older one.
func TestLibraryAndSubchart(t *testing.T) {
	lib := func(version string) map[string]string {
		return withFiles(libraryChart("names", version, "{type: library}"), "", map[string]string{"templates/name.tpl": `{{ define "name" }}` + version + `{{ end }}`})
	}
	user := func(name, version string) map[string]string {
		return withFiles(libraryChart(name, "1.0.0", "{libraries: [{name: names, version: '^1'}]}"), "library/names/", lib(version))
	}
	archived := map[string]string{"charts/db.tgz": packedText(t, user("db", "1.0.0"))}
	for _, c := range []struct {
		name, data, directory string
		web                   string // the version of the library in the subchart web
		err                   string
	}{
		{"of the same name", "{}", "names", "1.1.0", "the archive of shop/charts/db has another version of the library names than 1.1.0, which the whole tree uses, and shop has a subchart with this name"},
		{"with an alias", "{dependencies: [{name: own, version: '1', alias: names}]}", "own", "1.1.0", "shop has a subchart with this name"},
		{"and the same version", "{}", "names", "1.0.0", ""},
		{"of another name", "{}", "own", "1.1.0", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := withFiles(withFiles(libraryChart("shop", "1.0.0", c.data), "charts/"+c.directory+"/", libraryChart(c.directory, "1.0.0", "{}")), "", archived)
			_, err := archive.Save(chartOf(t, withFiles(files, "charts/web/", user("web", c.web))), t.TempDir())
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("got %v, want %q", err, c.err)
			}
		})
	}
}

// TestLibraryWithScripts packs a chart whose library has scripts, and one with scripts of its own, and checks
// that the same scripts are in the package.
func TestLibraryWithScripts(t *testing.T) {
	lib := withFiles(libraryChart("names", "1.0.0", "{type: library}"), "", map[string]string{"ext/lua/a.lua": "x = 1", "ext/permissions.yaml": "lua: [network]", "README.md": "text"})
	files := withFiles(libraryChart("shop", "1.0.0", "{libraries: [{name: names, version: '^1'}]}"), "library/names/", lib)
	files["ext/lua/b.lua"] = "y = 1"
	describe := func(ch *chart.Chart) (described string) {
		t.Helper()
		charts, err := chartscripts.Read(ch)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range charts {
			described += fmt.Sprintln(c.Path, c.Files[0].Name, len(c.Files), c.Permissions, c.Library, len(c.Chart.Files))
		}
		return described
	}
	const want = "shop/charts/names ext/lua/a.lua 1 [network] true 2\nshop ext/lua/b.lua 1 [] false 1\n"
	ch := chartOf(t, files)
	if got := describe(ch); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	packed, err := archive.Save(ch, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := chartloader.Load(packed)
	if err != nil {
		t.Fatal(err)
	}
	if got := describe(loaded); got != want {
		t.Errorf("packed: got\n%swant\n%s", got, want)
	}
}

// expectRendered checks that all templates of a chart render to the same text.
func expectRendered(t *testing.T, ch *chart.Chart, want string) {
	t.Helper()
	if err := chartutil.ProcessDependencies(ch, ch.Values); err != nil {
		t.Fatal(err)
	}
	values, err := chartutil.ToRenderValues(ch, nil, chartutil.ReleaseOptions{Name: "r"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := engine.Render(ch, values)
	if err != nil || len(got) == 0 {
		t.Errorf("got %q, %v", got, err)
	}
	for name, text := range got {
		if text != want {
			t.Errorf("%s: got %q, want %q", name, text, want)
		}
	}
}

// TestFormatV3AsWritten checks that files which Helm writes in another form, or not at all, are
// restored as they were written.
func TestFormatV3AsWritten(t *testing.T) {
	sub := tarball(t, file("db/Chart.yaml", "apiVersion: v2\nname: db\nversion: 1.0.0\n"))
	for _, c := range []struct{ name, file, text string }{
		{"lock file", "Chart.lock", "# by hand\ndigest: sha256:12\ngenerated: '2020-02-03T04:05:06Z'\ndependencies: []\n"},
		{"lock file of Helm 2", "requirements.lock", "digest: sha256:12 # by hand\n"},
		{"lock file of a subchart", "charts/db/Chart.lock", "digest: sha256:12 # by hand\n"},
		{"archive of a subchart", "charts/cache-1.0.0.tgz", string(sub)},
		{"flat subchart", "charts/web/Chart.yaml", "# mine\nname: web\nversion: \"0.1.0\"\napiVersion: v2\n"},
		{"disabled subchart", "charts/_old/Chart.yaml", "# not a chart"},
		{"hidden file", "charts/.keep", ""},
		{"values", "values.yaml", "# mine\na:   1\n"},
		{"appVersion of several lines", "Chart.yaml", strings.Replace(resource["Chart.yaml"], "    team: web", "    appVersion: \"3.6\\n\\tbeta\"\n    team: web", 1)},
		{"description of several lines", "Chart.yaml", strings.Replace(resource["Chart.yaml"], "{run", "{description: \"a\\n\\tb\", run", 1)},
	} {
		for _, root := range []string{"format", "flat"} {
			t.Run(c.name+" below a root chart: "+root, func(t *testing.T) {
				want := maps.Clone(resource)
				want[c.file] = c.text
				if root == "flat" {
					moved := map[string]string{"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 0.1.0\n"}
					for name, text := range want {
						moved["charts/shop/"+name] = text
					}
					want = moved
				}
				packed, err := archive.Save(chartOf(t, want), t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				if _, err := chartloader.LoadFile(packed); err != nil {
					t.Error(err)
				}
				expectUnpacked(t, packed, want)
			})
		}
	}
}

// TestRepackedByHelm packs a chart of the format helm.sh/v3, unpacks it with Helm, and packs it again with
// Helm, which drops depends-on and line breaks. It still is a chart of the format.
func TestRepackedByHelm(t *testing.T) {
	written := maps.Clone(resource)
	written["Chart.yaml"] = strings.Replace(written["Chart.yaml"], "{run", "{description: \"a\\nb\", run", 1)
	packed, err := archive.Save(chartOf(t, written), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := chartutil.ExpandFile(dir, packed); err != nil {
		t.Fatal(err)
	}
	ch, err := helmloader.LoadDir(filepath.Join(dir, "shop"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := chartutil.Save(ch, dir)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(files(t, again)["Chart.yaml"], "depends-on") {
		t.Fatal("Helm has kept depends-on, so this test checks nothing")
	}
	loaded, err := chartloader.LoadFile(again)
	if err != nil {
		t.Fatal(err)
	}
	d, err := declaration.Read(loaded)
	if err != nil || len(d.Dependencies) != 2 || !slices.Equal(d.Dependencies[1].DependsOn, []string{"db"}) {
		t.Errorf("it declares %+v, %v", d, err)
	}
	expectUnpacked(t, again, written)
	data, err := os.ReadFile(again)
	if err != nil {
		t.Fatal(err)
	}
	if canonical, err := chartloader.CanonicalArchive(data); err != nil || !bytes.Equal(canonical, data) {
		t.Errorf("it would not be pushed as it is: %v", err)
	}
}
