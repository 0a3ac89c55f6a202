// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	helmaction "helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	helmloader "helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"

	"github.com/ordered-helm/helm/internal/archive"
	"github.com/ordered-helm/helm/internal/chartloader"
)

// resource is a chart of the format helm.sh/v3, with a subchart of the format.
var resource = map[string]string{
	"Chart.yaml": "# mine\napiVersion: helm.sh/v3\nkind: Chart\nmetadata:\n  name: shop\n  labels:\n    version: 1.10   # text\n    team: web\n" +
		"data: {runHooksInParallel: true}\n",
	"requirements.yaml":     "requirements:\n- {name: db, version: 0.1.0, repository: ''}\n- {name: web, version: 0.1.0, repository: '', depends-on: [db]}\n",
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

// withLibraries is resource with a library that both charts of the format use, as a directory and
// as an archive.
func withLibraries(t *testing.T) map[string]string {
	t.Helper()
	lib := map[string]string{
		"Chart.yaml":         "apiVersion: helm.sh/v3\nkind: Chart\nmetadata: {name: names, labels: {version: 1.0.0}}\ndata: {type: library}\n",
		"templates/name.tpl": `{{ define "name" }}from the library{{ end }}`,
	}
	all := maps.Clone(resource)
	for name, text := range lib {
		all["library/names/"+name] = text
	}
	all["library/README.md"] = "# Libraries\n"
	for _, dir := range []string{"", "charts/db/"} {
		all[dir+"Chart.yaml"] = strings.ReplaceAll(strings.ReplaceAll(all[dir+"Chart.yaml"], "\ndata: {", "\ndata: {libraries: [{name: names, version: ^1}], "),
			"0.1.0}}\n", "0.1.0}}\ndata: {libraries: [{name: names, version: '*'}]}\n")
		all[dir+"templates/a.yaml"] = `text: {{ include "name" . }}`
	}
	packed, err := archive.Save(chartOf(t, lib), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(packed)
	if err != nil {
		t.Fatal(err)
	}
	all["charts/db/library/names-1.0.0.tgz"] = string(text)
	return all
}

// TestLibraries packs charts with libraries. Stock Helm renders the archive as Ordered Helm does.
func TestLibraries(t *testing.T) {
	written := withLibraries(t)
	packed, err := archive.Save(chartOf(t, written), t.TempDir())
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
		if err := chartutil.ProcessDependencies(ch, ch.Values); err != nil {
			t.Fatal(err)
		}
		values, err := chartutil.ToRenderValues(ch, nil, chartutil.ReleaseOptions{Name: "r"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := engine.Render(ch, values)
		want := map[string]string{"shop/templates/a.yaml": "text: from the library", "shop/charts/db/templates/a.yaml": "text: from the library"}
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	expectUnpacked(t, packed, written)
	again, err := archive.Save(ours, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if a, b := files(t, packed), files(t, again); !maps.Equal(a, b) {
		t.Errorf("packed again, the archive has %q instead of %q", b, a)
	}
}

// TestLibrariesOfArchives packs charts whose subcharts are archives with other versions of a library.
// Stock Helm renders the version that was selected for the tree.
func TestLibrariesOfArchives(t *testing.T) {
	const head, template = "apiVersion: helm.sh/v3\nkind: Chart\n", `text: {{ include "name" . }}`
	lib := func(version string) map[string]string {
		return map[string]string{
			"library/names/Chart.yaml":         head + "metadata: {name: names, labels: {version: " + version + "}}\ndata: {type: library}\n",
			"library/names/templates/name.tpl": `{{ define "name" }}` + version + `{{ end }}`,
		}
	}
	sub := func(name, version string) string {
		files := lib(version)
		files["Chart.yaml"] = head + "metadata: {name: " + name + ", labels: {version: 1.0.0}}\ndata: {libraries: [{name: names, version: '*'}]}\n"
		files["templates/a.yaml"] = template
		packed, err := archive.Save(chartOf(t, files), t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(packed)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, c := range map[string]struct {
		data  string
		files map[string]string
		want  string
	}{
		"the chart has the highest version":           {"{libraries: [{name: names, version: '*'}]}", lib("1.2.0"), "1.2.0"},
		"the chart asks for a lower version":          {"{libraries: [{name: names, version: <1.1}]}", nil, "1.0.0"},
		"only the archives ask":                       {"{}", nil, "1.1.0"},
		"another chart has the directory of the copy": {"{}", map[string]string{"charts/names/Chart.yaml": "apiVersion: v2\nname: other\nversion: 1.0.0\n"}, "1.1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			written := map[string]string{"charts/a-1.0.0.tgz": sub("a", "1.1.0"), "charts/b-1.0.0.tgz": sub("b", "1.0.0")}
			maps.Copy(written, c.files)
			written["Chart.yaml"] = head + "metadata: {name: shop, labels: {version: 1.0.0}}\ndata: " + c.data + "\n"
			packed, err := archive.Save(chartOf(t, written), t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			ours, err := chartloader.LoadFile(packed)
			if err != nil {
				t.Fatal(err)
			}
			stock, err := helmloader.LoadFile(packed)
			if err != nil {
				t.Fatal(err)
			}
			want := map[string]string{"shop/charts/a/templates/a.yaml": "text: " + c.want, "shop/charts/b/templates/a.yaml": "text: " + c.want}
			for _, ch := range []*chart.Chart{stock, ours} {
				if got := rendered(t, ch); !maps.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			}
			expectUnpacked(t, packed, written)
			again, err := archive.Save(ours, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if a, b := files(t, packed), files(t, again); !maps.Equal(a, b) {
				t.Errorf("packed again, the archive has %q instead of %q", b, a)
			}
		})
	}
}
