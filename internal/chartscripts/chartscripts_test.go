// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartscripts_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/ordered-helm/helm/internal/annotation"
	"github.com/ordered-helm/helm/internal/chartscripts"
	"github.com/ordered-helm/helm/internal/library"
)

func file(name, text string) *chart.File { return &chart.File{Name: name, Data: []byte(text)} }

// newChart returns a chart whose scripts are enabled.
func newChart(name string, files ...*chart.File) *chart.Chart {
	return &chart.Chart{
		Metadata: &chart.Metadata{Name: name, Version: "1.0.0", Annotations: map[string]string{annotation.Scripts: annotation.ScriptsEnabled}},
		Files:    files,
	}
}

func with(ch *chart.Chart, subcharts ...*chart.Chart) *chart.Chart {
	ch.AddDependency(subcharts...)
	return ch
}

func annotated(ch *chart.Chart, value string) *chart.Chart {
	ch.Metadata.Annotations = map[string]string{annotation.Scripts: value}
	return ch
}

// describe returns the paths of charts, each with the names of its scripts.
func describe(charts []*chartscripts.Chart) []string {
	lines := []string{}
	for _, c := range charts {
		line := c.Path + ":"
		for _, f := range c.Files {
			line += " " + f.Name
		}
		if c.Library {
			line += " (library)"
		}
		lines = append(lines, line)
	}
	return lines
}

func TestRead(t *testing.T) {
	script := func() *chart.File { return file("ext/lua/a.lua", "") }
	library := func(ch *chart.Chart) *chart.Chart { ch.Metadata.Type = library.TypeLibrary; return ch }
	flat := func(name string) *chart.Chart {
		return &chart.Chart{Metadata: &chart.Metadata{Name: name}, Files: []*chart.File{script()}}
	}
	var many []*chart.File
	for i := range 201 {
		many = append(many, file(fmt.Sprintf("ext/lua/%03d.lua", i), ""))
	}
	half := strings.Repeat("-", 1<<19)
	for name, test := range map[string]struct {
		chart *chart.Chart
		want  []string
		err   string
	}{
		"no scripts":        {chart: newChart("shop", file("README.md", ""))},
		"no metadata":       {chart: &chart.Chart{Files: []*chart.File{script()}}},
		"not enabled":       {chart: flat("shop")},
		"disabled":          {chart: annotated(flat("shop"), "disabled")},
		"enabled":           {chart: annotated(flat("shop"), "enabled"), want: []string{"shop: ext/lua/a.lua"}},
		"invalid value":     {chart: annotated(flat("shop"), "yes"), err: `shop/Chart.yaml: the annotation helm.sh/scripts is "yes": must be "enabled" or "disabled"`},
		"files are sorted":  {chart: newChart("shop", file("ext/lua/b.lua", ""), file("ext/lua/a.lua", ""), file("ext/lua/B.lua", "")), want: []string{"shop: ext/lua/B.lua ext/lua/a.lua ext/lua/b.lua"}},
		"other files":       {chart: newChart("shop", file("ext/lua/below/a.lua", ""), file("ext/a.lua", ""), file("ext/lua/a.txt", ""), file("lua/a.lua", ""), file("files/ext/lua/a.lua", ""))},
		"permissions alone": {chart: newChart("shop", file("ext/permissions.yaml", "nonsense"))},
		"leaves up": {
			chart: with(newChart("shop", script()), with(newChart("api", script()), newChart("db", script())), newChart("web", script())),
			want:  []string{"shop/charts/api/charts/db: ext/lua/a.lua", "shop/charts/api: ext/lua/a.lua", "shop/charts/web: ext/lua/a.lua", "shop: ext/lua/a.lua"},
		},
		"a chart without scripts between": {chart: with(newChart("shop"), with(flat("api"), newChart("db", script()))), want: []string{"shop/charts/api/charts/db: ext/lua/a.lua"}},
		"the same chart under two aliases": {
			chart: with(newChart("shop"), newChart("first", script()), newChart("second", script())),
			want:  []string{"shop/charts/first: ext/lua/a.lua", "shop/charts/second: ext/lua/a.lua"},
		},
		"a chart with the name charts":       {chart: with(newChart("charts"), with(newChart("charts"), newChart("db", script()))), want: []string{"charts/charts/charts/charts/db: ext/lua/a.lua"}},
		"library":                            {chart: with(newChart("shop"), library(newChart("names", script()))), want: []string{"shop/charts/names: ext/lua/a.lua (library)"}},
		"an invalid value in a subchart":     {chart: with(newChart("shop"), annotated(flat("db"), "on")), err: `shop/charts/db/Chart.yaml: the annotation helm.sh/scripts is "on": must be "enabled" or "disabled"`},
		"as many files as possible":          {chart: newChart("shop", many[:200]...), want: []string{describe([]*chartscripts.Chart{{Path: "shop", Files: many[:200]}})[0]}},
		"too many files":                     {chart: newChart("shop", many...), err: "shop/ext/lua: contains 201 scripts: a chart can have at most 200"},
		"as large as possible":               {chart: newChart("shop", file("ext/lua/a.lua", half), file("ext/lua/b.lua", half)), want: []string{"shop: ext/lua/a.lua ext/lua/b.lua"}},
		"too large":                          {chart: newChart("shop", file("ext/lua/a.lua", half), file("ext/lua/b.lua", half+"-")), err: "shop/ext/lua: the scripts have 1048577 bytes: a chart can have scripts of at most 1048576"},
		"too many files that are not loaded": {chart: annotated(newChart("shop", many...), "disabled")},
	} {
		t.Run(name, func(t *testing.T) {
			charts, err := chartscripts.Read(test.chart)
			if test.err != "" {
				if invalid, is := errors.AsType[*chartscripts.FileError](err); !is || invalid.Error() != test.err {
					t.Fatalf("got the error %v, want a *FileError: %s", err, test.err)
				}
				return
			}
			if got := describe(charts); err != nil || !slices.Equal(got, test.want) {
				t.Errorf("got %q, %v, want %q", got, err, test.want)
			}
		})
	}
}

func TestReadPermissions(t *testing.T) {
	for name, test := range map[string]struct {
		text, want, err string
	}{
		"one":                    {text: "lua: [network]", want: "network"},
		"all, in their order":    {text: "lua:\n- cluster\n- environment\n- filesystem\n- network\n", want: "cluster environment filesystem network"},
		"twice":                  {text: "lua: [network, cluster, network]", want: "network cluster"},
		"empty file":             {text: ""},
		"a comment alone":        {text: "# none\n"},
		"null file":              {text: "null\n", err: `shop/ext/permissions.yaml:1: must contain a list of permissions, as in "lua: [network]"`},
		"empty mapping":          {text: "{}"},
		"null list":              {text: "lua:\n"},
		"empty list":             {text: "lua: []"},
		"anchors":                {text: "lua:\n- &n network\n- *n\n- cluster\n", want: "network cluster"},
		"a list":                 {text: "\n- network\n", err: `shop/ext/permissions.yaml:2: must contain a list of permissions, as in "lua: [network]"`},
		"a name":                 {text: "network", err: `shop/ext/permissions.yaml:1: must contain a list of permissions, as in "lua: [network]"`},
		"not a list":             {text: "# why\nlua: network", err: `shop/ext/permissions.yaml:2: must be a list of permissions, as in "lua: [network]"`},
		"unknown field":          {text: "lua: []\nlau: []\n", err: `shop/ext/permissions.yaml:2: unknown field "lau": the permissions of scripts are in the list "lua"`},
		"unknown, with nearest":  {text: "lua:\n- network\n- netwrok\n", err: `shop/ext/permissions.yaml:3: there is no permission "netwrok": did you mean "network"?`},
		"unknown":                {text: "lua:\n- everything\n", err: `shop/ext/permissions.yaml:2: there is no permission "everything": must be one of network, filesystem, environment, cluster`},
		"null permission":        {text: "lua:\n- \n", err: `shop/ext/permissions.yaml:2: there is no permission "": must be one of network, filesystem, environment, cluster`},
		"a number":               {text: "lua: [1]", err: `shop/ext/permissions.yaml:1: there is no permission "1": must be one of network, filesystem, environment, cluster`},
		"a list as a permission": {text: "lua:\n- [network]\n", err: `shop/ext/permissions.yaml:2: a permission must be a name, as in "lua: [network]"`},
		"no YAML":                {text: "lua: [network", err: "shop/ext/permissions.yaml:"},
		"a key twice":            {text: "lua: []\nlua: [network]\n", err: "shop/ext/permissions.yaml:"},
	} {
		t.Run(name, func(t *testing.T) {
			charts, err := chartscripts.Read(newChart("shop", file("ext/lua/a.lua", ""), file("ext/permissions.yaml", test.text)))
			if test.err != "" {
				if invalid, is := errors.AsType[*chartscripts.FileError](err); !is || !strings.HasPrefix(invalid.Error(), test.err) {
					t.Fatalf("got the error %v, want a *FileError: %s", err, test.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Trim(fmt.Sprint(charts[0].Permissions), "[]"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func FuzzPermissions(f *testing.F) {
	for _, text := range []string{"lua: [network]", "lua:\n- &n cluster\n- *n\n", "a: &a [*a]", "lua: {<<: *x}", "--- !!binary x", "lua: !!null", "? [a]\n: b", "\x00"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		charts, err := chartscripts.Read(newChart("shop", file("ext/lua/a.lua", ""), file("ext/permissions.yaml", text)))
		if err != nil {
			if _, is := errors.AsType[*chartscripts.FileError](err); !is {
				t.Fatalf("the error is not a *FileError: %v", err)
			}
			return
		}
		for i, p := range charts[0].Permissions {
			if _, err := chartscripts.ParsePermission(string(p)); err != nil || slices.Index(charts[0].Permissions, p) != i {
				t.Errorf("got the permissions %q", charts[0].Permissions)
			}
		}
	})
}
