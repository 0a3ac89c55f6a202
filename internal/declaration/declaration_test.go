// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package declaration_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	helmloader "helm.sh/helm/v3/pkg/chart/loader"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/declaration"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/testutil/chartpack"
	"github.com/ordered-helm/helm/internal/testutil/formatcharts"
)

// tree maps paths to the contents of files.
type tree map[string]string

// chartYAML returns a Chart.yaml with additional lines.
func chartYAML(name, more string) string {
	return "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n" + more
}

// buffered returns the files in the form that loaders accept.
func (files tree) buffered() []*chartloader.BufferedFile {
	var list []*chartloader.BufferedFile
	for name, text := range files {
		list = append(list, &chartloader.BufferedFile{Name: name, Data: []byte(text)})
	}
	return list
}

// archive returns an archive of the files.
func (files tree) archive(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := formatcharts.Files(files).Write(dir); err != nil {
		t.Fatal(err)
	}
	packed, err := chartpack.Pack(dir)
	if err != nil {
		t.Fatal(err)
	}
	return string(packed)
}

func load(t *testing.T, files tree) *chart.Chart {
	t.Helper()
	ch, err := chartloader.LoadFiles(files.buffered())
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

// declared returns the declaration of a chart with the given lines in its Chart.yaml.
func declared(t *testing.T, lines string) *declaration.Chart {
	t.Helper()
	d, err := declaration.Read(load(t, tree{"Chart.yaml": chartYAML("shop", lines)}))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestHookModes checks every notation of runHooksInParallel.
func TestHookModes(t *testing.T) {
	tests := []struct {
		name, lines string
		want        hookorder.Mode
		problem     string
	}{
		{"absent", "", hookorder.Sequential, ""},
		{"true", "runHooksInParallel: true\n", hookorder.Parallel, ""},
		{"false", "runHooksInParallel: false\n", hookorder.Sequential, ""},
		{"otherChartsOnly", "runHooksInParallel: otherChartsOnly\n", hookorder.OtherChartsOnly, ""},
		{"quoted true", "runHooksInParallel: \"true\"\n", hookorder.Parallel, ""},
		{"quoted false", "runHooksInParallel: 'false'\n", hookorder.Sequential, ""},
		{"quoted otherChartsOnly", "runHooksInParallel: 'otherChartsOnly'\n", hookorder.OtherChartsOnly, ""},
		{"empty", "runHooksInParallel:\n", hookorder.Sequential, ""},
		{"annotation", "annotations: {helm.sh/run-hooks-in-parallel: \"true\"}\n", hookorder.Parallel, ""},
		{"annotation that is no string", "annotations: {helm.sh/run-hooks-in-parallel: true}\n", hookorder.Parallel, ""},
		{"annotation otherChartsOnly", "annotations: {helm.sh/run-hooks-in-parallel: otherChartsOnly}\n", hookorder.OtherChartsOnly, ""},
		{"both, which agree", "runHooksInParallel: true\nannotations: {helm.sh/run-hooks-in-parallel: \"true\"}\n", hookorder.Parallel, ""},
		{
			"both, which differ", "runHooksInParallel: true\nannotations: {helm.sh/run-hooks-in-parallel: otherChartsOnly}\n", "",
			`shop/Chart.yaml: helm.sh/run-hooks-in-parallel: "otherChartsOnly": conflicts with runHooksInParallel: "true"`,
		},
		{
			"both, one the default", "runHooksInParallel: true\nannotations: {helm.sh/run-hooks-in-parallel: 'false'}\n", "",
			`conflicts with runHooksInParallel: "true"`,
		},
		{"another word", "runHooksInParallel: yes please\n", "", `shop/Chart.yaml: runHooksInParallel: "yes please": must be true, false or otherChartsOnly`},
		{"other letters", "runHooksInParallel: OtherChartsOnly\n", "", `"OtherChartsOnly": must be`},
		{"a number", "runHooksInParallel: 1\n", "", `runHooksInParallel: 1: must be`},
		{"a list", "runHooksInParallel: [true]\n", "", `runHooksInParallel: [true]: must be`},
		{"a map", "runHooksInParallel: {a: b}\n", "", `runHooksInParallel: {"a":"b"}: must be`},
		{"an annotation of another word", "annotations: {helm.sh/run-hooks-in-parallel: all}\n", "", `helm.sh/run-hooks-in-parallel: "all": must be`},
	}
	for _, tt := range tests {
		for _, version := range []string{"v1", "v2", "v3"} {
			t.Run(version+"/"+tt.name, func(t *testing.T) {
				text := strings.Replace(chartYAML("shop", tt.lines), "v2", version, 1)
				d, err := declaration.Read(load(t, tree{"Chart.yaml": text}))
				if tt.problem == "" {
					if err != nil || d.Hooks != tt.want {
						t.Fatalf("got %v, %v, want %s", d, err, tt.want)
					}
					return
				}
				var value *annotation.ValueError
				if !errors.As(err, &value) || !strings.Contains(err.Error(), tt.problem) {
					t.Errorf("got %v, want %s", err, tt.problem)
				}
			})
		}
	}
}

// TestSequencedCharts checks that charts of apiVersion v3 and charts that opt in are
// sequenced.
func TestSequencedCharts(t *testing.T) {
	tests := []struct {
		name, version, annotation string
		sequenced                 bool
		mistake                   string
	}{
		{"v3", "v3", "", true, ""},
		{"v2", "v2", "", false, ""},
		{"v1", "v1", "", false, ""},
		{"v2 that opts in", "v2", `"enabled"`, true, ""},
		{"v1 that opts in", "v1", "enabled", true, ""},
		{"v3 that opts in too", "v3", "enabled", true, ""},
		{"v2 that does not", "v2", "disabled", false, ""},
		{"v3 that opts out", "v3", "disabled", false, ""},
		{"v2 with an empty value", "v2", `""`, false, ""},
		{"v2 with another word", "v2", "on please", false, `shop/Chart.yaml: helm.sh/sequencing: "on please": must be "enabled" or "disabled"`},
		{"v3 with another word", "v3", "Enabled", true, `helm.sh/sequencing: "Enabled": must be`},
		{"v2 with a boolean", "v2", "true", false, `helm.sh/sequencing: true: must be`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(chartYAML("shop", ""), "v2", tt.version, 1)
			if tt.annotation != "" {
				text += "annotations: {helm.sh/sequencing: " + tt.annotation + "}\n"
			}
			d, err := declaration.Read(load(t, tree{"Chart.yaml": text}))
			if err != nil || d.Sequenced() != tt.sequenced {
				t.Fatalf("got %+v, %v", d, err)
			}
			if d.Problem != nil || d.Declares() || d.OptedOut != (tt.annotation == "disabled") {
				t.Errorf("got %+v", d)
			}
			mistake := errors.Join(d.Mistakes...)
			if (mistake != nil) != (tt.mistake != "") || mistake != nil && !strings.Contains(mistake.Error(), tt.mistake) {
				t.Errorf("mistake %v, want %q", mistake, tt.mistake)
			}
		})
	}
}

// TestMistakes checks that keys and fields that resemble those of Ordered Helm are found, in
// the chart and in its subcharts.
func TestMistakes(t *testing.T) {
	tests := []struct {
		name string
		text string
		want []string
	}{
		{"valid", "runHooksInParallel: true\nannotations: {helm.sh/sequencing: enabled}\ndependencies: [{name: a, version: '1', depends-on: [b]}]\n", nil},
		{"foreign", "annotations: {example.com/depends-on: a}\nkeywords: [dependsOn]\n", nil},
		{"fields", "dependsOn: [a]\nrunHookInParallel: true\n", []string{
			`dependsOn: ["a"]: has no effect here`, "runHookInParallel: true: unknown key: did you mean runHooksInParallel?",
		}},
		{"entries", "dependencies: [{name: a}, {name: b, dependsOn: [a]}]\n", []string{
			`dependency "b": dependsOn: ["a"]: unknown key: did you mean depends-on?`,
		}},
		{"annotations", "annotations: {helm.sh/depends-on/subchart: a, helm.sh/layer: b}\n", []string{
			`helm.sh/depends-on/subchart: "a": unknown key: did you mean depends-on.helm.sh/subcharts?`, `helm.sh/layer: "b": has no effect in Chart.yaml`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := declaration.Read(load(t, tree{
				"Chart.yaml": chartYAML("shop", ""), "charts/db/Chart.yaml": chartYAML("db", tt.text),
			}))
			if err != nil || len(d.Mistakes) > 0 {
				t.Fatalf("%v, mistakes of the chart: %v", err, d.Mistakes)
			}
			var got string
			if mistakes := d.Subcharts[0].Mistakes; len(mistakes) > 0 {
				got = errors.Join(mistakes...).Error()
			}
			if (got != "") != (tt.want != nil) || got != "" && !strings.Contains(got, "shop/charts/db/Chart.yaml: ") {
				t.Errorf("got %q", got)
			}
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			}
		})
	}
}

// TestDependsOnSubcharts checks every key and every form of the value.
func TestDependsOnSubcharts(t *testing.T) {
	for _, key := range []string{"helm.sh/depends-on/subcharts", "depends-on.helm.sh/subcharts"} {
		for value, want := range map[string][]string{
			` ["bar", "rabbitmq"]`:    {"bar", "rabbitmq"},
			` '["rabbitmq","bar"]'`:   {"bar", "rabbitmq"},
			"\n  - rabbitmq\n  - bar": {"bar", "rabbitmq"},
			" rabbitmq, bar":          {"bar", "rabbitmq"},
			` ["rabbitmq, bar"]`:      {"bar", "rabbitmq"},
			" bar":                    {"bar"},
			` [bar, " bar ", ""]`:     {"bar"},
			" []":                     nil,
			` ""`:                     nil,
			"":                        nil,
		} {
			d := declared(t, "annotations:\n  "+key+":"+value+"\n")
			wantKey := key
			if want == nil {
				wantKey = ""
			}
			if d.Problem != nil || !slices.Equal(d.DependsOnSubcharts, want) || d.DependsOnKey != wantKey || d.Declares() != (want != nil) {
				t.Errorf("%s:%s: got %q under %q, %v", key, value, d.DependsOnSubcharts, d.DependsOnKey, d.Problem)
			}
		}
	}
	t.Run("lists under two spellings are merged", func(t *testing.T) {
		d := declared(t, "annotations: {helm.sh/depends-on/subcharts: [b, c], depends-on.helm.sh/subcharts: 'a,b'}\n")
		if want := []string{"a", "b", "c"}; !slices.Equal(d.DependsOnSubcharts, want) || d.DependsOnKey != "helm.sh/depends-on/subcharts" {
			t.Errorf("got %q", d.DependsOnSubcharts)
		}
	})
	t.Run("a malformed list", func(t *testing.T) {
		d := declared(t, "annotations: {helm.sh/depends-on/subcharts: '[bar'}\n")
		var value *annotation.ValueError
		if !errors.As(d.Problem, &value) || !strings.HasPrefix(d.Problem.Error(), `shop/Chart.yaml: helm.sh/depends-on/subcharts: "[bar": a value that begins with "["`) {
			t.Errorf("got %v", d.Problem)
		}
	})
}

// TestDependsOn checks every form of depends-on in an entry of the dependencies.
func TestDependsOn(t *testing.T) {
	const entry = "dependencies:\n- name: bar\n  version: 0.1.0\n  alias: baz\n  tags: [front, web]\n  condition: bar.enabled\n  depends-on:"
	for value, want := range map[string][]string{
		` ["nginx", "rabbitmq"]`:        {"nginx", "rabbitmq"},
		"\n  - rabbitmq\n  - nginx":     {"nginx", "rabbitmq"},
		"\n    - rabbitmq\n    - nginx": {"nginx", "rabbitmq"},
		` '["rabbitmq", "nginx"]'`:      {"nginx", "rabbitmq"},
		" rabbitmq , nginx,":            {"nginx", "rabbitmq"},
		` ["rabbitmq, nginx"]`:          {"nginx", "rabbitmq"},
		" nginx":                        {"nginx"},
		" []":                           nil,
		"":                              nil,
	} {
		d := declared(t, entry+value+"\n")
		want := []declaration.Dependency{{Name: "bar", Alias: "baz", Version: "0.1.0", Tags: []string{"front", "web"}, DependsOn: want}}
		if d.Problem != nil || !reflect.DeepEqual(d.Dependencies, want) || d.Declares() != (want[0].DependsOn != nil) || d.Dependencies[0].NameInTree() != "baz" {
			t.Errorf("%s: got %+v, %v", value, d.Dependencies, d.Problem)
		}
	}
	for value, want := range map[string]string{
		" 5":        `shop/Chart.yaml: dependency "bar": depends-on: 5: must be a list of strings, not a number or boolean`,
		" true":     `depends-on: true: must be a list of strings, not a number or boolean`,
		" {a: b}":   `depends-on: {"a":"b"}: must be a list of strings, not a map`,
		" [[a]]":    `depends-on: [["a"]]: must be a list of strings, not a list of lists`,
		" [a, 1]":   `depends-on: ["a",1]: item 1 must be a string`,
		` '["a"'`:   `depends-on: "[\"a\"": a value that begins with "["`,
		" [a: b]":   `depends-on: [{"a":"b"}]: item {"a":"b"} must be a string`,
		" 2024":     `depends-on: 2024: must be a list of strings`,
		" [on, ok]": `depends-on: [true,"ok"]: item true must be a string: quote it`,
	} {
		d := declared(t, entry+value+"\n")
		if d.Problem == nil || !strings.Contains(d.Problem.Error(), want) || !d.Declares() {
			t.Errorf("%s: got %v, want %s", value, d.Problem, want)
		}
	}
	t.Run("all problems are reported together", func(t *testing.T) {
		d := declared(t, "annotations: {helm.sh/depends-on/subcharts: '[', depends-on.helm.sh/subcharts: '['}\n"+entry+" 5\n")
		for _, want := range []string{"helm.sh/depends-on/subcharts", "depends-on.helm.sh/subcharts", "depends-on: 5"} {
			if !strings.Contains(d.Problem.Error(), want) {
				t.Errorf("%v does not name %s", d.Problem, want)
			}
		}
	})
	t.Run("an empty entry is passed over", func(t *testing.T) {
		ch := load(t, tree{"Chart.yaml": chartYAML("shop", "")})
		ch.Raw[0].Data = []byte(chartYAML("shop", "dependencies: [null, {name: a}]\n"))
		if d, err := declaration.Read(ch); err != nil || len(d.Dependencies) != 1 {
			t.Errorf("got %+v, %v", d, err)
		}
	})
}

// TestDeclarationsOfATree reads the declarations of every chart in a tree, packed or not.
func TestDeclarationsOfATree(t *testing.T) {
	packed := tree{
		"Chart.yaml":              strings.Replace(chartYAML("packed", "runHooksInParallel: otherChartsOnly\nannotations: {helm.sh/depends-on/subcharts: [inner]}\n"), "v2", "v3", 1),
		"charts/inner/Chart.yaml": chartYAML("inner", "runHooksInParallel: true\n"),
	}
	files := tree{
		"Chart.yaml":              chartYAML("shop", "dependencies: [{name: packed, version: 1.0.0, depends-on: sub}, {name: sub, version: 1.0.0}]\n"),
		"charts/packed-1.0.0.tgz": packed.archive(t),
		"charts/sub/Chart.yaml":   chartYAML("sub", "annotations: {helm.sh/sequencing: enabled}\n"),
	}
	d, err := declaration.Read(load(t, files))
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(d.Subcharts, func(a, b *declaration.Chart) int { return strings.Compare(a.Name, b.Name) })
	want := &declaration.Chart{
		Name: "shop", Version: "1.0.0", APIVersion: "v2", File: "shop/Chart.yaml", Hooks: hookorder.Sequential,
		Dependencies: []declaration.Dependency{{Name: "packed", Version: "1.0.0", DependsOn: []string{"sub"}}, {Name: "sub", Version: "1.0.0"}},
		Subcharts: []*declaration.Chart{
			{
				Name: "packed", Version: "1.0.0", APIVersion: "v3", File: "shop/charts/packed/Chart.yaml", Hooks: hookorder.OtherChartsOnly,
				DependsOnSubcharts: []string{"inner"}, DependsOnKey: "helm.sh/depends-on/subcharts",
				Subcharts: []*declaration.Chart{{
					Name: "inner", Version: "1.0.0", APIVersion: "v2", File: "shop/charts/packed/charts/inner/Chart.yaml", Hooks: hookorder.Parallel,
				}},
			},
			{Name: "sub", Version: "1.0.0", APIVersion: "v2", File: "shop/charts/sub/Chart.yaml", Hooks: hookorder.Sequential, OptedIn: true},
		},
	}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("got %+v\nwant %+v", d, want)
	}
	t.Run("the mode of a subchart's hooks is an error of the whole", func(t *testing.T) {
		files["charts/sub/Chart.yaml"] = chartYAML("sub", "runHooksInParallel: x\n")
		if _, err := declaration.Read(load(t, files)); err == nil || !strings.HasPrefix(err.Error(), "shop/charts/sub/Chart.yaml: runHooksInParallel: ") {
			t.Errorf("got %v", err)
		}
	})
}

// TestDeclarationsOfOldCharts checks that requirements.yaml is also read.
func TestDeclarationsOfOldCharts(t *testing.T) {
	d, err := declaration.Read(load(t, tree{
		"Chart.yaml":        "apiVersion: v1\nname: old\nversion: 1.0.0\nannotations: {helm.sh/sequencing: enabled}\n",
		"requirements.yaml": "dependencies:\n- {name: a, version: 1.0.0, depends-on: b}\n- {name: b, version: 1.0.0}\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := []declaration.Dependency{{Name: "a", Version: "1.0.0", DependsOn: []string{"b"}}, {Name: "b", Version: "1.0.0"}}
	if !d.Sequenced() || d.APIVersion != "v1" || d.Version != "1.0.0" || !reflect.DeepEqual(d.Dependencies, want) {
		t.Errorf("got %+v", d)
	}
}

// TestDeclarationsOfAChartThatHelmLoaded checks that the raw Chart.yaml is read.
func TestDeclarationsOfAChartThatHelmLoaded(t *testing.T) {
	ch, err := helmloader.LoadFiles(tree{
		"Chart.yaml": strings.Replace(chartYAML("shop",
			"runHooksInParallel: true\nannotations: {helm.sh/depends-on/subcharts: '[\"a\"]'}\ndependencies: [{name: a, version: 1.0.0}, {name: b, version: 1.0.0, depends-on: [a]}]\n"), "v2", "v3", 1),
		"charts/a/Chart.yaml": chartYAML("a", ""), "charts/b/Chart.yaml": chartYAML("b", ""),
	}.buffered())
	if err != nil {
		t.Fatal(err)
	}
	d, err := declaration.Read(ch)
	if err != nil || !d.Sequenced() || d.Hooks != hookorder.Parallel || !slices.Equal(d.DependsOnSubcharts, []string{"a"}) ||
		!slices.Equal(d.Dependencies[1].DependsOn, []string{"a"}) {
		t.Errorf("got %+v, %v", d, err)
	}
}

// TestDeclarationsOfAChartMadeInMemory checks that the metadata is read.
func TestDeclarationsOfAChartMadeInMemory(t *testing.T) {
	ch := &chart.Chart{Metadata: &chart.Metadata{
		APIVersion: "v3", Name: "shop", Version: "1.0.0",
		Annotations: map[string]string{
			"helm.sh/depends-on/subcharts": `["db"]`, "helm.sh/run-hooks-in-parallel": "otherChartsOnly",
		},
		Dependencies: []*chart.Dependency{{Name: "postgresql", Alias: "db", Version: "1", Tags: []string{"t"}}},
	}}
	ch.AddDependency(&chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "postgresql", Version: "1.0.0"}})
	d, err := declaration.Read(ch)
	want := &declaration.Chart{
		Name: "shop", Version: "1.0.0", APIVersion: "v3", File: "shop/Chart.yaml", Hooks: hookorder.OtherChartsOnly,
		DependsOnSubcharts: []string{"db"}, DependsOnKey: "helm.sh/depends-on/subcharts",
		Dependencies: []declaration.Dependency{{Name: "postgresql", Alias: "db", Version: "1", Tags: []string{"t"}}},
		Subcharts: []*declaration.Chart{{
			Name: "postgresql", Version: "1.0.0", APIVersion: "v2", File: "shop/charts/postgresql/Chart.yaml", Hooks: hookorder.Sequential,
		}},
	}
	if err != nil || !reflect.DeepEqual(d, want) {
		t.Errorf("got %+v, %v\nwant %+v", d, err, want)
	}
	if d, err := declaration.Read(&chart.Chart{}); err != nil || d.Sequenced() || d.Declares() {
		t.Errorf("a chart without metadata: %+v, %v", d, err)
	}
}

func TestDeclarationsOfARawFileThatDoesNotParse(t *testing.T) {
	ch := &chart.Chart{Metadata: &chart.Metadata{Name: "shop"}, Raw: []*chart.File{{Name: "Chart.yaml", Data: []byte("a: b: c")}}}
	if _, err := declaration.Read(ch); err == nil || !strings.HasPrefix(err.Error(), "shop/Chart.yaml: cannot be read: ") {
		t.Errorf("got %v", err)
	}
}
