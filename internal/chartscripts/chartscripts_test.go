// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartscripts_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/chartscripts"
	"github.com/ordered-helm/helm/internal/luasandbox"
)

// newChart returns a chart whose scripts are enabled. files are names and contents in turn.
func newChart(name string, files ...string) *chart.Chart {
	c := &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: name, Version: "1.0.0", Annotations: map[string]string{"helm.sh/scripts": "enabled"}}}
	for i := 0; i < len(files); i += 2 {
		c.Files = append(c.Files, &chart.File{Name: files[i], Data: []byte(files[i+1])})
	}
	return c
}

func TestRead(t *testing.T) {
	shop := newChart("shop", "ext/lua/b.lua", "b", "ext/lua/a.lua", "a", "ext/lua/lib/c.lua", "c", "ext/lua/d.txt", "d", "ext/permissions.yaml", "lua: [network]")
	db := newChart("db", "ext/lua/a.lua", "a")
	inner := newChart("inner", "ext/lua/a.lua", "a")
	inner.Metadata.Type = "library"
	without, disabled, flat := newChart("without", "ext/permissions.yaml", "lua: wrong"), newChart("disabled", "ext/lua/a.lua", "a"), newChart("flat", "ext/lua/a.lua", "a")
	disabled.Metadata.Annotations["helm.sh/scripts"] = "disabled"
	flat.Metadata.Annotations = nil
	db.AddDependency(inner)
	shop.AddDependency(db, without, disabled, flat)
	charts, err := chartscripts.Read(shop)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range charts {
		var files []string
		for _, f := range c.Files {
			files = append(files, f.Name)
		}
		got = append(got, fmt.Sprint(c.Path, " ", files, c.Permissions, c.Library))
	}
	want := []string{"shop/charts/db/charts/inner [ext/lua/a.lua] [] true", "shop/charts/db [ext/lua/a.lua] [] false", "shop [ext/lua/a.lua ext/lua/b.lua] [network] false"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReadErrors(t *testing.T) {
	many := newChart("shop")
	for i := range 201 {
		many.Files = append(many.Files, &chart.File{Name: fmt.Sprintf("ext/lua/%d.lua", i)})
	}
	unknown := newChart("shop", "ext/lua/a.lua", "a")
	unknown.Metadata.Annotations["helm.sh/scripts"] = "on"
	for _, c := range []struct {
		name  string
		chart *chart.Chart
		want  string
	}{
		{"too many scripts", many, "shop/ext/lua: contains 201 scripts: a chart can have at most 200"},
		{"too large", newChart("shop", "ext/lua/a.lua", strings.Repeat("-", 1<<20+1)), "shop/ext/lua: the scripts have 1048577 bytes: a chart can have scripts of at most 1048576"},
		{"annotation", unknown, `shop/Chart.yaml: the annotation helm.sh/scripts is "on": must be "enabled" or "disabled"`},
		{"permissions", newChart("shop", "ext/lua/a.lua", "a", "ext/permissions.yaml", "lua:\n- network\n- clustr\n"), `shop/ext/permissions.yaml:3: there is no permission "clustr": did you mean "cluster"?`},
	} {
		t.Run(c.name, func(t *testing.T) {
			parent := &chart.Chart{Metadata: &chart.Metadata{Name: "parent"}}
			parent.AddDependency(c.chart)
			_, err := chartscripts.Read(parent)
			if _, is := errors.AsType[*chartscripts.FileError](err); !is || err.Error() != "parent/charts/"+c.want {
				t.Errorf("got %v, want parent/charts/%s", err, c.want)
			}
		})
	}
}

func TestPermissionsFile(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"all", "lua: [network, filesystem, environment, cluster]", "[network filesystem environment cluster]"},
		{"block list with comments", "# why\nlua:\n  - cluster # to wait\n", "[cluster]"},
		{"named twice", "lua: [network, network]", "[network]"},
		{"empty list", "lua: []", "[]"},
		{"null", "lua:\n", "[]"},
		{"empty", "", "[]"},
		{"comment", "# nothing\n", "[]"},
		{"empty mapping", "{}", "[]"},
		{"alias", "lua: [&a network, *a]", "[network]"},
		{"unknown", "lua: [everything]", `:1: there is no permission "everything": must be one of network, filesystem, environment, cluster`},
		{"number", "lua: [7]", `:1: there is no permission "7"`},
		{"text instead of a list", "lua: network", `:1: must be a list of permissions, as in "lua: [network]"`},
		{"nested list", "lua:\n- [network]\n", `:2: a permission must be a name`},
		{"list at the top", "- network", `:1: must contain a list of permissions`},
		{"other key", "lua: [network]\nshell: [all]\n", `:2: unknown field "shell": the permissions of scripts are in the list "lua"`},
		{"key twice", "lua: [network]\nlua: [cluster]\n", `:2: the field "lua" is given twice`},
		{"two documents", "lua: [network]\n---\nlua: [cluster]\n", ":2: must contain one YAML document"},
		{"no YAML", "lua: [", "did not find expected node content"},
		{"as large as possible", "lua: []\n" + strings.Repeat("#", 64<<10-8), "[]"},
		{"too large", "lua: []\n" + strings.Repeat("#", 64<<10-7), "ext/permissions.yaml: has 65537 bytes: can have at most 65536"},
	} {
		t.Run(c.name, func(t *testing.T) {
			charts, err := chartscripts.Read(newChart("shop", "ext/lua/a.lua", "a", "ext/permissions.yaml", c.text))
			got := fmt.Sprint(err)
			if err == nil {
				got = fmt.Sprint(charts[0].Permissions)
			}
			if !strings.Contains(got, c.want) || (err == nil) != (c.want[0] == '[') {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

func FuzzPermissions(f *testing.F) {
	for _, text := range []string{"lua: [network]", "lua: [&a network, *a]", "lua:\n- x", "lua: {a: b}", "a: &a [*a]"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		charts, err := chartscripts.Read(newChart("shop", "ext/lua/a.lua", "a", "ext/permissions.yaml", text))
		if err != nil {
			return
		}
		for _, p := range charts[0].Permissions {
			if !slices.Contains(chartscripts.AllPermissions(), p) {
				t.Errorf("got the permission %q", p)
			}
		}
	})
}

func TestGrant(t *testing.T) {
	charts := []*chartscripts.Chart{
		{Path: "shop/charts/db", Permissions: []luasandbox.Permission{"network", "cluster"}}, {Path: "shop/charts/none"}, {Path: "shop", Permissions: []luasandbox.Permission{"network"}},
	}
	all := map[string][]luasandbox.Permission{"shop": charts[2].Permissions, "shop/charts/db": charts[0].Permissions}
	for _, c := range []struct {
		name     string
		accepted []string
		answers  []bool // nil: nobody can be asked
		asked    []string
		want     string
	}{
		{name: "accepted", accepted: []string{"cluster", "network", "filesystem"}},
		{name: "refused", want: `the scripts of chart "shop" ask for permissions that were not accepted: network: read them (helm show scripts, helm get scripts), and accept with --accept-perms network,`},
		{name: "some accepted", accepted: []string{"network"}, answers: []bool{true, true}, want: `the scripts of chart "shop/charts/db" ask for permissions that were not accepted: cluster:`},
		{name: "unknown", accepted: []string{"networks"}, want: `there is no permission "networks": did you mean "network"?`},
		{name: "asked", answers: []bool{true, true}, asked: []string{"shop", "shop/charts/db"}},
		{name: "declined", answers: []bool{false, true}, asked: []string{"shop"}, want: `the permissions of chart "shop" were not accepted: network`},
		{name: "declined in the end", answers: []bool{true, false}, asked: []string{"shop", "shop/charts/db"}, want: `the permissions of chart "shop/charts/db" were not accepted: network, cluster`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked []string
			a := chartscripts.Acceptance{Accepted: c.accepted}
			if c.answers != nil {
				a.Ask = func(_ context.Context, r chartscripts.PermissionRequest) (bool, error) {
					asked = append(asked, r.Chart)
					return c.answers[len(asked)-1], nil
				}
			}
			got, err := a.Grant(t.Context(), charts)
			if c.want == "" && (err != nil || !reflect.DeepEqual(got, all)) || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
				t.Errorf("got %v, %v, want %s", got, err, c.want)
			}
			if !slices.Equal(asked, c.asked) {
				t.Errorf("asked for %q, want %q", asked, c.asked)
			}
		})
	}
}

func TestText(t *testing.T) {
	shop := newChart("shop", "ext/lua/a.lua", "x = 1\n\n", "ext/lua/b.lua", "print('\x1b[31m\u202e')", "ext/permissions.yaml", "lua: [cluster, network]")
	shop.AddDependency(newChart("db", "ext/lua/a.lua", "y = 2"))
	charts, err := chartscripts.Read(shop)
	if err != nil {
		t.Fatal(err)
	}
	const want = `---
-- Chart: shop
-- Permissions: cluster, network
-- Accepted when the revision was created: network
-- Source: shop/ext/lua/a.lua
x = 1
-- Source: shop/ext/lua/b.lua
print('')
---
-- Chart: shop/charts/db
-- Permissions: none
-- Source: shop/charts/db/ext/lua/a.lua
y = 2
`
	if got := chartscripts.Text(charts, map[string][]luasandbox.Permission{"shop": {"network"}}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// stored returns ch as it is read from a stored release: without subcharts.
func stored(t *testing.T, ch *chart.Chart) *release.Release {
	t.Helper()
	data, err := json.Marshal(&release.Release{Name: "rel", Version: 2, Chart: ch})
	if err != nil {
		t.Fatal(err)
	}
	rel := &release.Release{}
	if err := json.Unmarshal(data, rel); err != nil {
		t.Fatal(err)
	}
	return rel
}

// randomChart returns a chart with random scripts, values and subcharts, of which it declares some.
func randomChart(random *rand.Rand, name string, depth int) *chart.Chart {
	c := newChart(name)
	c.Values = map[string]any{"own": name, "shared": float64(random.IntN(9)), "global": map[string]any{"by" + name: true}}
	if random.IntN(3) > 0 {
		c.Files = append(c.Files, &chart.File{Name: "ext/lua/a.lua", Data: []byte("x = '" + name + "'")}, &chart.File{Name: "README.md", Data: []byte("text")})
	}
	if random.IntN(3) == 0 {
		c.Files = append(c.Files, &chart.File{Name: "ext/permissions.yaml", Data: []byte("lua: [network]")})
	}
	for i := range random.IntN(3) {
		if depth == 0 {
			break
		}
		sub := randomChart(random, fmt.Sprint(name, i), depth-1)
		c.AddDependency(sub)
		if random.IntN(2) == 0 {
			declared := &chart.Dependency{Name: sub.Name(), Version: "1.0.0", Enabled: true}
			c.Metadata.Dependencies = append(c.Metadata.Dependencies, declared)
			if random.IntN(3) == 0 {
				declared.Alias = "as" + sub.Name()
				second := *declared
				second.Alias = "also" + sub.Name()
				c.Metadata.Dependencies = append(c.Metadata.Dependencies, &second)
			}
		}
		if random.IntN(2) == 0 {
			c.Values[sub.Name()] = map[string]any{"shared": "of " + name}
		}
	}
	return c
}

// walk calls visit with a chart and its subcharts, and with their paths in the tree of charts.
func walk(ch *chart.Chart, at string, visit func(ch *chart.Chart, at string)) {
	for _, sub := range ch.Dependencies() {
		walk(sub, at+"/charts/"+sub.Name(), visit)
	}
	visit(ch, at)
}

// describe returns the scripts of a chart and its subcharts, with the values that they see, and the sources among
// sources that belong to each.
func describe(t *testing.T, ch *chart.Chart, charts []*chartscripts.Chart, config map[string]any, sources []string) (described []string) {
	t.Helper()
	values, err := chartutil.CoalesceValues(ch, config)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range charts {
		own := any(map[string]any(values))
		for _, name := range strings.Split(c.Path, "/charts/")[1:] {
			table, _ := own.(map[string]any)
			own = table[name]
		}
		owned := slices.DeleteFunc(slices.Clone(sources), func(source string) bool { return !c.Owns(source) })
		described = append(described, fmt.Sprint(c.Path, " ", owned, " ", string(c.Files[0].Data), c.Permissions, own))
	}
	return described
}

// TestRecord stores random charts, and checks that the same scripts are read from the release, and that they
// see the same values.
func TestRecord(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // not for security
	for range 300 {
		ch := randomChart(random, "a", 3)
		config := map[string]any{"shared": "given", "a0": map[string]any{"own": "given"}, "global": map[string]any{"given": true}}
		if err := chartutil.ProcessDependenciesWithMerge(ch, config); err != nil {
			t.Fatal(err)
		}
		charts, err := chartscripts.Read(ch)
		if err != nil {
			t.Fatal(err)
		}
		accepted := map[string][]luasandbox.Permission{}
		if random.IntN(2) == 0 {
			accepted["a"] = []luasandbox.Permission{"network"}
		}
		recorded, err := chartscripts.WithRecord(ch, charts, accepted)
		if err != nil {
			t.Fatal(err)
		}
		isNeeded := len(accepted) > 0 || len(charts) > 0 && len(ch.Dependencies()) > 0
		if (recorded != ch) != isNeeded {
			t.Errorf("is recorded: %v, want %v", recorded != ch, isNeeded)
		}
		if bare := chartscripts.WithoutRecord(recorded); len(bare.Files) != len(ch.Files) {
			t.Errorf("without the record, the chart has %d files, want %d", len(bare.Files), len(ch.Files))
		}
		found, err := chartscripts.FromRelease(stored(t, recorded))
		if err != nil {
			t.Fatal(err)
		}
		var sources []string
		walk(ch, ch.Name(), func(ch *chart.Chart, at string) {
			sources = append(sources, ch.ChartFullPath()+"/templates/x.yaml", at+"/ext/lua/a.lua")
		})
		if got, want := describe(t, found.Chart, found.Charts, config, sources), describe(t, ch, charts, config, sources); !slices.Equal(got, want) {
			t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		if len(accepted) > 0 && !reflect.DeepEqual(found.Accepted, accepted) {
			t.Errorf("accepted %v, want %v", found.Accepted, accepted)
		}
	}
}

// TestOwns renders random charts, in which each document says with the values of which chart it was rendered, and
// checks that it belongs to this chart and the charts around it.
func TestOwns(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // not for security
	renamed := 0
	for range 300 {
		ch := randomChart(random, "a", 3)
		if err := chartutil.ProcessDependenciesWithMerge(ch, map[string]any{}); err != nil {
			t.Fatal(err)
		}
		charts, err := chartscripts.Read(ch)
		if err != nil {
			t.Fatal(err)
		}
		config := map[string]any{}
		walk(ch, "a", func(ch *chart.Chart, at string) {
			ch.Templates = []*chart.File{{Name: "templates/x.yaml", Data: []byte("{{ .Values.at }}")}}
			own := config
			for _, name := range strings.Split(at, "/charts/")[1:] {
				if own[name] == nil {
					own[name] = map[string]any{}
				}
				own, _ = own[name].(map[string]any)
			}
			own["at"] = at
		})
		values, err := chartutil.ToRenderValues(ch, config, chartutil.ReleaseOptions{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		rendered, err := engine.Render(ch, values)
		if err != nil {
			t.Fatal(err)
		}
		for source, at := range rendered {
			if at+"/templates/x.yaml" != source {
				renamed++
			}
			for _, c := range charts {
				if want := strings.HasPrefix(at+"/", c.Path+"/"); c.Owns(source) != want {
					t.Errorf("%s, rendered for %s, belongs to %s: %v, want %v", source, at, c.Path, !want, want)
				}
			}
		}
	}
	if renamed == 0 {
		t.Error("all sources are paths of charts")
	}
}

// withRecord returns a release with this text as its record of scripts.
func withRecord(text string) *release.Release {
	return &release.Release{Name: "rel", Version: 2, Chart: newChart("shop", ".ordered-helm/scripts.json", text)}
}

func TestInvalidRecords(t *testing.T) {
	deep, err := json.Marshal(strings.Split(strings.Repeat("a,", 101)+"a", ","))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, text, want string }{
		{"no JSON", "{", "unexpected end of JSON input"},
		{"no version", "{}", "the record has no version"},
		{"later version", `{"version": 2}`, "the record has version 2, but this program supports versions up to 1: upgrade Ordered Helm"},
		{"no metadata", `{"version": 1, "charts": [{"path": ["a"]}]}`, "a chart without a name"},
		{"no path", `{"version": 1, "charts": [{"metadata": {}}]}`, "a chart without a name"},
		{"too deep", `{"version": 1, "charts": [{"metadata": {}, "path": ` + string(deep) + `}]}`, "in too many charts"},
		{"invalid name", `{"version": 1, "charts": [{"metadata": {}, "path": ["../a"]}]}`, `the invalid name "../a"`},
		{"empty name", `{"version": 1, "charts": [{"metadata": {}, "path": [""]}]}`, `the invalid name ""`},
		{"twice", `{"version": 1, "charts": [{"metadata": {}, "path": ["a"], "files": [{"name": "x"}]}, {"metadata": {}, "path": ["a"]}]}`, "contains the chart a twice"},
		{"too many", `{"version": 1, "charts": [` + strings.Repeat("{},", 10_000) + `{}]}`, "the record contains 10001 charts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := chartscripts.FromRelease(withRecord(c.text))
			if _, is := errors.AsType[*chartscripts.InvalidRecordError](err); !is || !strings.Contains(err.Error(), c.want) ||
				!strings.HasPrefix(err.Error(), "the scripts of release rel, revision 2, cannot be read: ") || !strings.HasSuffix(err.Error(), ": use --no-scripts to run none") {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
	null := newChart("shop")
	null.Files = append(null.Files, nil)
	if found, err := chartscripts.FromRelease(&release.Release{Chart: null}); err != nil || len(found.Chart.Files) > 0 {
		t.Errorf("with a file that is null: got %v, %v", found, err)
	}
	if found, err := chartscripts.FromRelease(&release.Release{}); err != nil || found.Chart == nil {
		t.Errorf("without a chart: got %v, %v", found, err)
	}
}

func FuzzFromRelease(f *testing.F) {
	for _, text := range []string{
		"{}", `{"version": 1, "charts": [{"path": ["db", "x"], "metadata": {"annotations": {"helm.sh/scripts": "enabled"}}, "values": {"a": 1}, "files": [null, {"name": "ext/lua/a.lua", "data": "eA=="}]}]}`,
		`{"version": 1, "charts": [{"path": ["db"], "metadata": {"dependencies": [null]}}], "accepted": {"a": ["network"]}}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found, err := chartscripts.FromRelease(withRecord(text))
		if err != nil {
			return
		}
		charts, err := chartscripts.Read(found.Chart)
		if err != nil {
			return
		}
		_ = chartscripts.Text(charts, found.Accepted)
		if _, err := chartutil.CoalesceValues(found.Chart, map[string]any{}); err != nil {
			return
		}
		if _, err := chartscripts.WithRecord(found.Chart, charts, found.Accepted); err != nil {
			t.Error(err)
		}
	})
}
