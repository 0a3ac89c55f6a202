// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartloader_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	helmloader "helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"

	"github.com/ordered-helm/helm/internal/chartloader"
)

// libraryYAML returns the Chart.yaml of a library with a version.
func libraryYAML(name, version string) string {
	return strings.Replace(chartV3YAML(name, "data: {type: library}\n"), "1.0.0", version, 1)
}

// greeting returns a library with one named template, whose text names the version.
func greeting(version string) tree {
	return tree{
		"Chart.yaml":        libraryYAML("greeting", version),
		"templates/hi.yaml": `kind: Ignored{{ define "hi" }}hello from ` + version + "{{ end }}",
	}
}

// asking returns a chart that asks for the library greeting, and says hello.
func asking(name, versions string) tree {
	return tree{
		"Chart.yaml":       chartV3YAML(name, "data:\n  libraries:\n  - {name: greeting, version: '"+versions+"', repository: https://charts.example.com}\n"),
		"templates/a.yaml": `{{ include "hi" . }}; {{ range $name, $_ := .Files }}{{ $name }} {{ end }}`,
	}
}

// and returns the files of several trees.
func (files tree) and(more ...tree) tree {
	all := maps.Clone(files)
	for _, m := range more {
		maps.Copy(all, m)
	}
	return all
}

// rendered returns what the templates of a chart render to.
func rendered(t *testing.T, ch *chart.Chart) map[string]string {
	t.Helper()
	if err := chartutil.ProcessDependencies(ch, ch.Values); err != nil {
		t.Fatal(err)
	}
	values, err := chartutil.ToRenderValues(ch, nil, chartutil.ReleaseOptions{Name: "r"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := engine.Render(ch, values)
	if err != nil {
		t.Fatal(err)
	}
	return manifests
}

func TestLibraries(t *testing.T) {
	for _, c := range []struct {
		name  string
		files tree
		want  map[string]string
	}{
		{"in a directory", asking("shop", "^1").and(greeting("1.2.0").below("library/greeting/")), map[string]string{"shop/templates/a.yaml": "hello from 1.2.0; "}},
		{
			"in an archive", asking("shop", "^1").with("library/greeting-1.2.0.tgz", greeting("1.2.0").archive(t, "greeting")),
			map[string]string{"shop/templates/a.yaml": "hello from 1.2.0; "},
		},
		{
			"several versions", asking("shop", "^1").and(greeting("1.2.0").below("library/old/"), greeting("1.10.0").below("library/new/"), greeting("2.0.0").below("library/next/")),
			map[string]string{"shop/templates/a.yaml": "hello from 1.10.0; "},
		},
		{
			"that is not declared", asking("shop", "^1").with("Chart.yaml", chartV3YAML("shop", "")).and(greeting("1.2.0").below("library/greeting/")),
			map[string]string{"shop/templates/a.yaml": "hello from 1.2.0; "},
		},
		{
			"that is flat, and other files", asking("shop", "^1").and(greeting("1.0.0").with("Chart.yaml", chartYAML("greeting", "type: library\n")).below("library/greeting/"), tree{
				"library/README.md": "about libraries", "library/.ignored/a": "", "library/_ignored/a": "",
			}),
			map[string]string{"shop/templates/a.yaml": "hello from 1.0.0; "},
		},
		{
			"that is an application chart", asking("shop", "^1").and(greeting("1.0.0").and(tree{
				"Chart.yaml": chartYAML("greeting", ""), "crds/a.yaml": "kind: CustomResourceDefinition", "values.yaml": "a: 1", "values.schema.json": `{"required": ["b"]}`,
				"charts/db/Chart.yaml": chartYAML("db", ""), "charts/db/templates/a.yaml": "kind: Database",
			}).below("library/greeting/")),
			map[string]string{"shop/templates/a.yaml": "hello from 1.0.0; "},
		},
		{
			"in requirements.yaml", asking("shop", "^1").and(tree{
				"Chart.yaml": chartV3YAML("shop", ""), "requirements.yaml": "libraries:\n- {name: greeting, version: ^1}\n",
			}, greeting("1.2.0").below("library/greeting/")), map[string]string{"shop/templates/a.yaml": "hello from 1.2.0; "},
		},
		{
			"the highest version that all charts accept", asking("shop", "^1").and(
				greeting("1.9.0").below("library/greeting/"), asking("db", "<1.5").below("charts/db/"), greeting("1.2.0").below("charts/db/library/greeting/"),
				tree{"charts/web.tgz": asking("web", ">=1.1").with("library/greeting.tgz", greeting("1.1.0").archive(t, "greeting")).archive(t, "web")},
			),
			map[string]string{
				"shop/templates/a.yaml": "hello from 1.2.0; ", "shop/charts/db/templates/a.yaml": "hello from 1.2.0; ", "shop/charts/web/templates/a.yaml": "hello from 1.2.0; ",
			},
		},
		{
			"of the chart around", asking("shop", "^1").and(greeting("1.9.0").below("library/greeting/"), asking("db", "^1").below("charts/db/")),
			map[string]string{"shop/templates/a.yaml": "hello from 1.9.0; ", "shop/charts/db/templates/a.yaml": "hello from 1.9.0; "},
		},
		{
			"of a subchart of a flat chart", tree{"Chart.yaml": chartYAML("shop", ""), "library/README.md": "not a library", "templates/a.yaml": `{{ .Files.Get "library/README.md" }}`}.and(
				asking("db", "^1").below("charts/db/"), greeting("1.9.0").below("charts/db/library/greeting/")),
			map[string]string{"shop/templates/a.yaml": "not a library", "shop/charts/db/templates/a.yaml": "hello from 1.9.0; "},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			ch, err := chartloader.LoadFiles(c.files.buffered())
			if err != nil {
				t.Fatal(err)
			}
			canonical, err := chartloader.CanonicalFiles(c.files.buffered())
			if err != nil {
				t.Fatal(err)
			}
			if canonical, err = chartloader.WithLibraries(canonical); err != nil {
				t.Fatal(err)
			}
			if stock, err := helmloader.LoadFiles(canonical); err != nil {
				t.Error(err)
			} else if got := rendered(t, stock); !sameTexts(got, c.want) {
				t.Errorf("Helm renders %q, want %q", got, c.want)
			}
			got := rendered(t, ch)
			if !maps.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if crds := ch.CRDObjects(); len(crds) > 0 {
				t.Errorf("it has the definitions %v", crds)
			}
		})
	}
}

func TestLibrariesErrors(t *testing.T) {
	lib := greeting("1.0.0").below("library/greeting/")
	for _, c := range []struct {
		name  string
		files tree
		want  string
	}{
		{
			"ranges that exclude each other", asking("shop", "^1").and(greeting("1.0.0").below("library/greeting/"), asking("db", "^2").below("charts/db/"), greeting("2.0.0").below("charts/db/library/greeting/")),
			"no version of the library greeting satisfies all charts that use it:\n  shop asks for ^1 (Chart.yaml:8)\n  shop/charts/db asks for ^2 (Chart.yaml:8)\n" +
				"  available: 2.0.0 (shop/charts/db/library/greeting), 1.0.0 (shop/library/greeting)",
		},
		{
			"missing in a subchart", tree{"Chart.yaml": chartYAML("shop", "")}.and(asking("db", "^2").below("charts/db/")),
			`shop/charts/db (Chart.yaml:8) asks for the library greeting, which is missing in library/: run "helm dependency build" for this chart`,
		},
		{
			"a library of a library", asking("shop", "^1").and(lib, tree{"library/greeting/Chart.yaml": chartV3YAML("greeting", "data:\n  type: library\n  libraries:\n  - {name: base, version: '1'}\n")}),
			"shop/library/greeting: Chart.yaml:9: a library cannot depend on a library: name base in the libraries of the chart that uses greeting instead",
		},
		{
			"a cycle of libraries", asking("shop", "^1").and(lib, tree{"library/greeting/Chart.yaml": chartV3YAML("greeting", "data: {libraries: [{name: base, version: '1'}]}\n"), "library/base/Chart.yaml": chartV3YAML("base", "data: {libraries: [{name: greeting, version: '1'}]}\n")}),
			"shop/library/base: Chart.yaml:6: a library cannot depend on a library: name greeting",
		},
		{
			"a library in charts/ of a library", asking("shop", "^1").and(lib, tree{
				"library/greeting/Chart.yaml": chartYAML("greeting", "dependencies:\n- name: base\n  version: 1.0.0\n"), "library/greeting/charts/base/Chart.yaml": libraryYAML("base", "1.0.0"),
			}),
			"shop/library/greeting: Chart.yaml:5: a library cannot depend on a library: name base",
		},
		{
			"a library in charts/ of a library of the format, in requirements.yaml", asking("shop", "^1").and(lib, tree{
				"library/greeting/Chart.yaml": chartV3YAML("greeting", ""), "library/greeting/requirements.yaml": "requirements:\n- name: base\n  version: 1.0.0\n",
				"library/greeting/charts/base/Chart.yaml": libraryYAML("base", "1.0.0"),
			}),
			"shop/library/greeting: requirements.yaml:2: a library cannot depend on a library: name base",
		},
		{
			"the name of a subchart", tree{"Chart.yaml": chartV3YAML("shop", "")}.and(lib, tree{"charts/greeting/Chart.yaml": chartYAML("greeting", "")}),
			"shop/library/greeting: a subchart of shop has the same name: remove one of them",
		},
		{
			"the alias of a dependency", tree{"Chart.yaml": chartV3YAML("shop", "data: {dependencies: [{name: db, version: '1', alias: greeting}]}\n")}.and(lib),
			"shop/library/greeting: a subchart of shop has the same name",
		},
		{
			"a copy in a chart without libraries", tree{
				"Chart.yaml":                 chartV3YAML("shop", ""),
				"charts/greeting/Chart.yaml": chartYAML("greeting", "type: library\nannotations: {helm.sh/library-copy: library}\n"),
			},
			"shop/charts/greeting does not agree with library/greeting",
		},
		{"a broken library", asking("shop", "^1").and(tree{"library/greeting/Chart.yaml": chartV3YAML("greeting", "icon: x\n")}), "shop/library/greeting: Chart.yaml:6: icon: belongs in data.icon"},
		{"a directory that is not a chart", asking("shop", "^1").and(tree{"library/greeting/README.md": "x"}), "shop/library/greeting: Chart.yaml file is missing"},
		{"an archive that is broken", asking("shop", "^1").and(tree{"library/greeting.tgz": "x"}), "shop/library/greeting.tgz: "},
		{
			"a copy that differs", asking("shop", "^1").and(lib, tree{
				"charts/greeting/Chart.yaml": chartYAML("greeting", "type: library\nannotations: {helm.sh/library-copy: library}\n"), "charts/greeting/templates/_hi.yaml": `{{ define "hi" }}bad{{ end }}`,
			}),
			"shop/charts/greeting does not agree with library/greeting, of which it is a copy: package the chart again",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := chartloader.LoadFiles(c.files.buffered()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got\n%v\nwant\n%s", err, c.want)
			}
			dir := c.files.write(t)
			ch, err := chartloader.LoadWithoutLibraries(dir)
			if strings.HasPrefix(c.name, "ranges") && (err != nil || len(ch.Dependencies()) != 1 || len(chartloader.LibraryRequests(ch)) != 2) {
				t.Errorf("without libraries, it is loaded as %+v, %v", ch, err)
			}
		})
	}
}

// TestLibraryCopies checks that each chart has exactly one copy of a library, also if the chart is
// packed, and that the outermost chart can lack its libraries.
func TestLibraryCopies(t *testing.T) {
	files := asking("shop", "^1").and(greeting("1.2.0").below("library/greeting/"), asking("db", "^1").below("charts/db/"))
	packed := files.and(
		greeting("1.2.0").with("Chart.yaml", "apiVersion: v2\nname: greeting\nversion: 1.2.0\ntype: library\nannotations: {helm.sh/library-copy: library}\n").
			rename("templates/hi.yaml", "templates/_hi.yaml").below("charts/greeting/"))
	for name, f := range map[string]tree{"as written": files, "packed": packed} {
		ch, err := chartloader.LoadFiles(f.buffered())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var names []string
		for _, sub := range ch.Dependencies() {
			names = append(names, sub.ChartFullPath())
			for _, subSub := range sub.Dependencies() {
				names = append(names, subSub.ChartFullPath())
			}
		}
		if want := []string{"shop/charts/db", "shop/charts/db/charts/greeting", "shop/charts/greeting"}; !slices.Equal(names, want) {
			t.Errorf("%s: got %q, want %q", name, names, want)
		}
	}
	if ch, err := chartloader.LoadFiles(asking("shop", "^1").buffered()); err != nil || len(ch.Dependencies()) > 0 || len(ch.Metadata.Dependencies) != 1 {
		t.Errorf("without its library, it is loaded as %+v, %v", ch, err)
	}
}

// sameTexts compares what is rendered, except for the list of files after a semicolon.
func sameTexts(a, b map[string]string) bool {
	return maps.EqualFunc(a, b, func(x, y string) bool {
		x, _, _ = strings.Cut(x, ";")
		y, _, _ = strings.Cut(y, ";")
		return x == y
	})
}

// TestAnnotationOfCopies loads a flat chart with a subchart that has the annotation of a copy, next to a chart
// with libraries. The subchart keeps all its files.
func TestAnnotationOfCopies(t *testing.T) {
	files := tree{
		"Chart.yaml": chartYAML("shop", ""), "charts/own/Chart.yaml": chartYAML("own", "annotations: {helm.sh/library-copy: library}\n"),
		"charts/own/values.yaml": "a: 1\n", "charts/own/templates/a.yaml": "a: {{ .Values.a }}",
	}.and(asking("db", "^1").below("charts/db/"), greeting("1.0.0").below("charts/db/library/greeting/"))
	canonical, err := chartloader.CanonicalFiles(files.buffered())
	if err != nil {
		t.Fatal(err)
	}
	if canonical, err = chartloader.WithLibraries(canonical); err != nil {
		t.Fatal(err)
	}
	stock, err := helmloader.LoadFiles(canonical)
	if err != nil {
		t.Fatal(err)
	}
	if got := rendered(t, stock)["shop/charts/own/templates/a.yaml"]; got != "a: 1" {
		t.Errorf("got %q", got)
	}
}

// rename returns the files with another name for one of them.
func (files tree) rename(name, newName string) tree {
	renamed := maps.Clone(files)
	renamed[newName] = renamed[name]
	delete(renamed, name)
	return renamed
}

// TestSameVersionOfLibrary loads charts with libraries of the same version and different content. The error
// names the same ones each time, although Helm loads subcharts in random order. What is not in the
// templates makes no difference.
func TestSameVersionOfLibrary(t *testing.T) {
	files := tree{"Chart.yaml": chartV3YAML("shop", "")}
	same := files
	for _, name := range []string{"a", "b", "c", "d"} {
		other := greeting("1.0.0").with("templates/hi.yaml", `{{ define "hi" }}hello from the library of `+name+"{{ end }}")
		files = files.and(asking(name, "^1").below("charts/"+name+"/"), other.below("charts/"+name+"/library/greeting/"))
		equal := greeting("1.0.0").with("README.md", "of "+name).archive(t, "greeting")
		same = same.and(asking(name, "^1").with("library/greeting.tgz", equal).below("charts/" + name + "/"))
	}
	for range 20 {
		_, err := chartloader.LoadFiles(files.buffered())
		want := "the library greeting 1.0.0 has different content in shop/charts/a/library/greeting and in shop/charts/b/library/greeting: " +
			"give one of them another version, or remove it"
		if err == nil || err.Error() != want {
			t.Fatalf("got %v, want %s", err, want)
		}
	}
	if _, err := chartloader.LoadFiles(same.buffered()); err != nil {
		t.Error(err)
	}
}
