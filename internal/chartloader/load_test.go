// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartloader_test

import (
	"bytes"
	"io"
	"log"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	helmloader "helm.sh/helm/v3/pkg/chart/loader"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/declaration"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // the loaders log the links that they follow
	os.Exit(m.Run())
}

// TestRealChartsLoadAsHelmLoadsThem loads real charts, packed and unpacked.
func TestRealChartsLoadAsHelmLoadsThem(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "..", "shared", "charts")
	archives, err := filepath.Glob(filepath.Join(folder, "*.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	if len(archives) == 0 {
		t.Skip("the folder ../shared/charts beside the repository has no charts: put some there to try them")
	}
	for _, archive := range archives {
		t.Run(filepath.Base(archive), func(t *testing.T) {
			likeHelm(t, archive)
			data, err := os.ReadFile(archive)
			if err != nil {
				t.Fatal(err)
			}
			files, err := chartloader.LoadArchiveFiles(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			unpacked := tree{}
			for _, f := range files {
				unpacked[f.Name] = string(f.Data)
			}
			ch := likeHelm(t, unpacked.write(t))
			d, err := declaration.Read(ch)
			if err != nil || d.Problem != nil || d.Name != ch.Name() || len(d.Subcharts) != len(ch.Dependencies()) {
				t.Errorf("declarations %+v, %v", d, err)
			}
		})
	}
}

// plain is a chart with a file of each kind.
func plain(t *testing.T) tree {
	sub := tree{"Chart.yaml": chartYAML("packed", ""), "templates/x.yaml": "x", "charts/inner/Chart.yaml": chartYAML("inner", "")}
	return tree{
		"Chart.yaml":                       chartYAML("shop", "dependencies:\n- {name: sub, version: 1.0.0, alias: other, tags: [t]}\n"),
		"Chart.lock":                       "digest: x\ndependencies: []\n",
		"values.yaml":                      "a: 1\n",
		"values.schema.json":               "{}",
		"README.md":                        "read me",
		"crds/c.yaml":                      "kind: CustomResourceDefinition",
		"templates/a.yaml":                 "a: b",
		"templates/sub/_helpers.tpl":       "{{/* x */}}",
		"charts/sub/Chart.yaml":            chartYAML("sub", ""),
		"charts/sub/values.yaml":           "b: 2\n",
		"charts/sub/charts/deep-1.0.0.tgz": tree{"Chart.yaml": chartYAML("deep", "")}.archive(t, "deep"),
		"charts/packed-1.0.0.tgz":          sub.archive(t, "packed"),
		"charts/packed-1.0.0.tgz.prov":     "signed",
		"charts/_ignored/Chart.yaml":       "[",
		"charts/.ignored/Chart.yaml":       "[",
		"charts/README.md/x":               "no chart",
	}
}

func TestChartsLoadAsHelmLoadsThem(t *testing.T) {
	everything := plain(t)
	delete(everything, "charts/README.md/x")
	ignoring := plain(t)
	ignoring[".helmignore"] = "# comment\n*.md\n/secret/\ntemplates/b*\n!templates/bb.yaml\n"
	for _, name := range []string{"secret/x", "templates/b.yaml", "deep/secret/x", "templates/.hidden"} {
		ignoring[name] = "ignored, or not"
	}
	tests := map[string]tree{
		"everything":                       everything,
		"a folder in charts that is none":  plain(t),
		".helmignore":                      ignoring,
		".helmignore that is malformed":    {"Chart.yaml": chartYAML("shop", ""), ".helmignore": "a**b\n"},
		"apiVersion v1 with requirements":  {"Chart.yaml": "name: old\nversion: 1.0.0\n", "requirements.yaml": "dependencies:\n- {name: sub, version: 1.0.0}\n", "requirements.lock": "digest: x\n"},
		"apiVersion v2 with requirements":  {"Chart.yaml": chartYAML("shop", ""), "requirements.yaml": "dependencies:\n- {name: sub, version: 1.0.0}\n"},
		"a byte order mark":                {"Chart.yaml": "\ufeff" + chartYAML("shop", ""), "templates/a.yaml": "\ufeffa: b", "values.yaml": "\ufeffa: 1"},
		"lines that end with CR LF":        {"Chart.yaml": strings.ReplaceAll(chartYAML("shop", ""), "\n", "\r\n")},
		"annotations that are not ours":    {"Chart.yaml": chartYAML("shop", "annotations: {a: b, category: db}\n")},
		"no Chart.yaml":                    {"values.yaml": "a: 1"},
		"a Chart.yaml that does not parse": {"Chart.yaml": "a: b: c"},
		"a Chart.yaml that is a list":      {"Chart.yaml": "- a"},
		"no name":                          {"Chart.yaml": "apiVersion: v2\nversion: 1.0.0\n"},
		"a version that is a number":       {"Chart.yaml": "apiVersion: v2\nname: shop\nversion: 1.0\n"},
		"a list under a foreign key":       {"Chart.yaml": chartYAML("shop", "annotations: {a: [b]}\n")},
		"values that do not parse":         {"Chart.yaml": chartYAML("shop", ""), "values.yaml": "a: b: c"},
		"a subchart that does not parse":   {"Chart.yaml": chartYAML("shop", ""), "charts/sub/Chart.yaml": "a: b: c"},
		"a subchart that is no archive":    {"Chart.yaml": chartYAML("shop", ""), "charts/sub-1.0.0.tgz": "no archive"},
		"a subchart without Chart.yaml":    {"Chart.yaml": chartYAML("shop", ""), "charts/sub/values.yaml": "a: 1"},
	}
	for name, files := range tests {
		t.Run(name, func(t *testing.T) {
			likeHelm(t, files.write(t))
			likeHelm(t, writeFile(t, "chart-1.0.0.tgz", files.archive(t, "chart")))
			want, wantErr := helmloader.LoadFiles(files.buffered())
			got, err := chartloader.LoadFiles(files.buffered())
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("LoadFiles: got %v, Helm's is %v", err, wantErr)
			}
			if err == nil && !reflect.DeepEqual(contentOf(got), contentOf(want)) {
				t.Error("LoadFiles loads something else")
			}
		})
	}
}

// TestWhatIsNoChart checks that the errors are the same as Helm's.
func TestWhatIsNoChart(t *testing.T) {
	for name, path := range map[string]string{
		"nothing":             filepath.Join(t.TempDir(), "nothing"),
		"an empty folder":     t.TempDir(),
		"a text file":         writeFile(t, "chart.tgz", "hello"),
		"an empty file":       writeFile(t, "chart.tgz", ""),
		"a YAML file":         writeFile(t, "Chart.yaml", chartYAML("shop", "")),
		"an archive of none":  writeFile(t, "chart.tgz", tree{}.archive(t, "chart")),
		"an archive cut off":  writeFile(t, "chart.tgz", plain(t).archive(t, "chart")[:200]),
		"files out of it":     writeFile(t, "chart.tgz", tree{"../../x": "x", "Chart.yaml": chartYAML("shop", "")}.archive(t, "chart")),
		"Chart.yaml at a top": writeFile(t, "chart.tgz", tree{"Chart.yaml": chartYAML("shop", "")}.archive(t, ".")),
	} {
		t.Run(name, func(t *testing.T) { likeHelm(t, path) })
	}
}

// TestSymbolicLinks checks that symbolic links are followed, as in Helm.
func TestSymbolicLinks(t *testing.T) {
	outside := tree{"a.yaml": "a: b", "more/b.yaml": "b: c", "more/secret.txt": "x"}.write(t)
	chart := func(t *testing.T) string {
		return tree{"Chart.yaml": chartYAML("shop", ""), ".helmignore": "secret.txt\nignored/\n", "templates/x.yaml": "x: y"}.write(t)
	}
	link := func(t *testing.T, dir, name, target string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("to a file", func(t *testing.T) {
		dir := chart(t)
		link(t, dir, "templates/linked.yaml", filepath.Join(outside, "a.yaml"))
		ch := likeHelm(t, dir)
		if len(ch.Templates) != 2 || ch.Templates[0].Name != "templates/linked.yaml" || string(ch.Templates[0].Data) != "a: b" {
			t.Errorf("templates %v", ch.Templates)
		}
	})
	t.Run("to a folder, minding .helmignore", func(t *testing.T) {
		dir := chart(t)
		link(t, dir, "templates/linked", outside)
		if ch := likeHelm(t, dir); len(ch.Templates) != 3 {
			t.Errorf("templates %v", ch.Templates)
		}
	})
	t.Run("to a folder that .helmignore leaves out", func(t *testing.T) {
		dir := chart(t)
		link(t, dir, "ignored", outside)
		likeHelm(t, dir)
	})
	t.Run("relative, and one to another", func(t *testing.T) {
		dir := chart(t)
		link(t, dir, "one", "templates")
		link(t, dir, "two", "one")
		likeHelm(t, dir)
	})
	t.Run("to a subchart", func(t *testing.T) {
		dir := chart(t)
		link(t, dir, "charts", tree{"sub/Chart.yaml": chartYAML("sub", "")}.write(t))
		if ch := likeHelm(t, dir); len(ch.Dependencies()) != 1 {
			t.Errorf("subcharts %v", ch.Dependencies())
		}
	})
	t.Run("to the chart itself", func(t *testing.T) {
		dir := chart(t)
		to := filepath.Join(t.TempDir(), "linked")
		link(t, filepath.Dir(to), "linked", dir)
		likeHelm(t, to)
	})
	t.Run("that leads nowhere", func(t *testing.T) {
		dir := chart(t)
		link(t, dir, "broken", "nowhere")
		if _, err := helmloader.Load(dir); err == nil {
			t.Error("Helm accepts it")
		}
		if _, err := chartloader.Load(dir); err == nil || !strings.Contains(err.Error(), filepath.Join(dir, "broken")) {
			t.Errorf("got %v", err)
		}
	})
	for name, target := range map[string]string{"to the folder above it": "..", "to its own folder": ".", "back to it from outside": ""} {
		t.Run(name, func(t *testing.T) {
			dir := chart(t)
			if target == "" {
				far := t.TempDir()
				link(t, far, "back", dir)
				target = far
			}
			link(t, dir, "templates/loop", target)
			if _, err := chartloader.Load(dir); err == nil || !strings.Contains(err.Error(), "a chart cannot contain itself") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestIrregularFiles(t *testing.T) {
	dir := tree{"Chart.yaml": chartYAML("shop", "")}.write(t)
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Skipf("no pipe can be made here: %v", err)
	}
	if ch := likeHelm(t, dir); ch != nil && ch.Metadata != nil {
		t.Error("a pipe is loaded")
	}
}

func TestFilesThatAreTooLarge(t *testing.T) {
	dir := tree{"Chart.yaml": chartYAML("shop", "")}.write(t)
	large, err := os.Create(filepath.Join(dir, "large"))
	if err != nil {
		t.Fatal(err)
	}
	if err := large.Truncate(helmloader.MaxDecompressedFileSize + 1); err != nil {
		t.Fatal(err)
	}
	if err := large.Close(); err != nil {
		t.Fatal(err)
	}
	likeHelm(t, dir)
}

// TestLoaders checks that each loader has the same name as in Helm.
func TestLoaders(t *testing.T) {
	files := tree{"Chart.yaml": chartYAML("shop", "")}
	dir, file := files.write(t), writeFile(t, "shop.tgz", files.archive(t, "shop"))
	for name, load := range map[string]func() (*chart.Chart, error){
		"Load folder": func() (*chart.Chart, error) { return chartloader.Load(dir) },
		"Load file":   func() (*chart.Chart, error) { return chartloader.Load(file) },
		"DirLoader":   chartloader.DirLoader(dir).Load,
		"FileLoader":  chartloader.FileLoader(file).Load,
		"LoadDir":     func() (*chart.Chart, error) { return chartloader.LoadDir(dir) },
		"LoadFile":    func() (*chart.Chart, error) { return chartloader.LoadFile(file) },
		"LoadArchive": func() (*chart.Chart, error) { return chartloader.LoadArchive(strings.NewReader(files.archive(t, "x"))) },
		"LoadFiles":   func() (*chart.Chart, error) { return chartloader.LoadFiles(files.buffered()) },
	} {
		if ch, err := load(); err != nil || ch.Name() != "shop" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := chartloader.LoadArchive(strings.NewReader("no archive")); err == nil {
		t.Error("LoadArchive accepts anything")
	}
}

// TestLegalForm checks that only values in Chart.yaml that Helm's loader rejects are
// rewritten, in the root chart and in subcharts, packed or not.
func TestLegalForm(t *testing.T) {
	const (
		illegal = "# shop\nannotations:\n  a: \"b\" # c\n  helm.sh/depends-on/subcharts: [\"bar\", 'rabbitmq'] # why\n  depends-on.helm.sh/subcharts:\n  - x\n  helm.sh/depends-on/external: [Secret/a]\n  helm.sh/run-hooks-in-parallel: true\nkeywords:   [x]\n"
		legal   = "# shop\nannotations:\n  a: \"b\" # c\n  helm.sh/depends-on/subcharts: '[\"bar\",\"rabbitmq\"]' # why\n  depends-on.helm.sh/subcharts: '[\"x\"]'\n  helm.sh/depends-on/external: '[\"Secret/a\"]'\n  helm.sh/run-hooks-in-parallel: 'true'\nkeywords:   [x]\n"
	)
	write := func(more string) tree {
		packed := tree{"Chart.yaml": chartYAML("packed", more), "charts/inner/Chart.yaml": chartYAML("inner", more), "templates/x": "kept"}
		return tree{
			"Chart.yaml":                       chartYAML("shop", more),
			"charts/sub/Chart.yaml":            chartYAML("sub", more),
			"charts/sub/charts/low/Chart.yaml": chartYAML("low", more),
			"charts/packed-1.0.0.tgz":          packed.archive(t, "chart"),
		}
	}
	given := write(illegal)
	others := tree{
		"files/Chart.yaml":            chartYAML("data", illegal),
		"charts/sub/files/Chart.yaml": chartYAML("data", illegal),
		"charts/sub/files/data.tgz":   tree{"Chart.yaml": chartYAML("data", illegal)}.archive(t, "data"),
		"charts/_off/Chart.yaml":      chartYAML("off", illegal),
	}
	want := write(legal)
	for name, data := range others {
		given[name], want[name] = data, data
	}
	files := given.buffered()
	before := given.buffered()
	got, err := chartloader.LoadFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(files, before) {
		t.Error("the files given have changed")
	}
	expected, err := helmloader.LoadFiles(want.buffered())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(contentOf(got), contentOf(expected)) {
		t.Errorf("got %+v\nwant %+v", contentOf(got), contentOf(expected))
	}
	if got := got.Metadata.Annotations; got["helm.sh/depends-on/subcharts"] != `["bar","rabbitmq"]` || got["helm.sh/run-hooks-in-parallel"] != "true" {
		t.Errorf("annotations %v", got)
	}
	for name, path := range map[string]string{"folder": given.write(t), "archive": writeFile(t, "shop.tgz", given.archive(t, "shop"))} {
		ch, err := chartloader.Load(path)
		if err != nil || len(ch.Dependencies()) != 2 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestIllegalValues checks that errors name the file, the key and the value.
func TestIllegalValues(t *testing.T) {
	bad := chartYAML("sub", "annotations: {helm.sh/depends-on/subcharts: [a, 5]}\n")
	root := chartYAML("shop", "")
	for want, files := range map[string]tree{
		`Chart.yaml: helm.sh/depends-on/subcharts: ["a",5]: item 5 must be a string: quote it`:              {"Chart.yaml": bad},
		`charts/sub/Chart.yaml: helm.sh/depends-on/subcharts: ["a",5]: item 5 must be a string`:             {"Chart.yaml": root, "charts/sub/Chart.yaml": bad},
		`charts/sub-1.tgz: Chart.yaml: helm.sh/depends-on/subcharts: ["a",5]: item 5 must be a string`:      {"Chart.yaml": root, "charts/sub-1.tgz": tree{"Chart.yaml": bad}.archive(t, "x")},
		`Chart.yaml: depends-on.helm.sh/subcharts: {"a":"b"}: must be a list of strings, not a map`:         {"Chart.yaml": chartYAML("shop", "annotations: {depends-on.helm.sh/subcharts: {a: b}}\n")},
		`Chart.yaml: depends-on.helm.sh/subcharts: 5: must be a list of strings, not a number or boolean`:   {"Chart.yaml": chartYAML("shop", "annotations: {depends-on.helm.sh/subcharts: 5}\n")},
		`Chart.yaml: depends-on.helm.sh/subcharts: on: must be a list of strings, not a number or boolean`:  {"Chart.yaml": chartYAML("shop", "annotations: {depends-on.helm.sh/subcharts: on}\n")},
		`Chart.yaml: depends-on.helm.sh/subcharts: [["a"]]: must be a list of strings, not a list of lists`: {"Chart.yaml": chartYAML("shop", "annotations: {depends-on.helm.sh/subcharts: [[a]]}\n")},
	} {
		if _, err := chartloader.LoadFiles(files.buffered()); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	}
}

// TestPackedSubchartsStay checks that an archive is unchanged, byte for byte, if it needs
// no changes.
func TestPackedSubchartsStay(t *testing.T) {
	archive := tree{"Chart.yaml": chartYAML("sub", "annotations: {helm.sh/depends-on/subcharts: a}\n")}.archive(t, "odd name")
	ch, err := chartloader.LoadFiles(tree{"Chart.yaml": chartYAML("shop", ""), "charts/sub.tgz": archive}.buffered())
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(ch.Raw, func(f *chart.File) bool { return f.Name == "charts/sub.tgz" })
	if string(ch.Raw[i].Data) != archive {
		t.Error("the archive has changed")
	}
}
