// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartscripts_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/chartscripts"
	"github.com/ordered-helm/helm/internal/luasandbox"
)

// randomTree returns a chart with random subcharts, of which some have scripts and some are declared.
func randomTree(r *rand.Rand, name string, depth int) *chart.Chart {
	ch := newChart(name)
	if r.IntN(2) == 0 {
		ch.Files = []*chart.File{file("ext/lua/b.lua", fmt.Sprintf("println(%d)", r.Int())), file("README.md", name), file("ext/lua/a.lua", "\xff\x00")}
		if r.IntN(2) == 0 {
			ch.Files = append(ch.Files, file("ext/permissions.yaml", "lua: [cluster, network]"))
		}
	}
	names := []string{"a", "b", "charts"}
	ch.Values = randomValues(r, names, 3)
	if depth == 0 {
		return ch
	}
	for _, sub := range names[:r.IntN(len(names)+1)] {
		below := randomTree(r, sub, depth-1)
		ch.AddDependency(below)
		if r.IntN(2) == 0 {
			d := &chart.Dependency{Name: sub, Version: "1.0.0"}
			if r.IntN(3) == 0 {
				d.Condition = "on"
			}
			ch.Metadata.Dependencies = append(ch.Metadata.Dependencies, d)
		}
	}
	return ch
}

// randomValues returns values some of which are for subcharts with the names.
func randomValues(r *rand.Rand, names []string, depth int) map[string]any {
	keys := append([]string{"x", "y", "on", "global", "a-alias"}, names...)
	values := map[string]any{}
	for _, key := range keys[:] {
		isTable := key != "x" && key != "y" && key != "on"
		switch r.IntN(4) {
		case 0:
			continue
		case 1:
			if isTable && depth > 0 {
				values[key] = randomValues(r, names, depth-1)
			}
		case 2:
			if key == "on" {
				values[key] = r.IntN(3) > 0
			} else if !isTable {
				values[key] = float64(r.IntN(100))
			}
		case 3:
			if key == "x" {
				values[key] = map[string]any{"n": float64(r.IntN(100)), "s": "text"}
			} else if key == "y" {
				values[key] = []any{float64(r.IntN(100))}
			}
		}
	}
	return values
}

// storedAs returns what is read from a release with the chart after it was stored as JSON.
func storedAs(t *testing.T, ch *chart.Chart) *chartscripts.Stored {
	t.Helper()
	text, err := json.Marshal(&release.Release{Name: "shop", Version: 3, Chart: ch})
	if err != nil {
		t.Fatal(err)
	}
	rel := &release.Release{}
	if err := json.Unmarshal(text, rel); err != nil {
		t.Fatal(err)
	}
	stored, err := chartscripts.FromRelease(rel)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func TestRecord(t *testing.T) {
	for seed := range uint64(500) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			ch := randomTree(r, "shop", 3)
			config := randomValues(r, []string{"a", "b", "charts"}, 3)
			if err := chartutil.ProcessDependenciesWithMerge(ch, config); err != nil {
				t.Fatal(err)
			}
			charts, err := chartscripts.Read(ch)
			if err != nil {
				t.Fatal(err)
			}
			accepted := map[string][]luasandbox.Permission{}
			if len(charts) > 0 && len(charts[0].Permissions) > 0 {
				accepted[charts[0].Path] = charts[0].Permissions
			}
			before, _ := json.Marshal(ch)
			recorded, err := chartscripts.WithRecord(ch, charts, accepted)
			if err != nil {
				t.Fatal(err)
			}
			if after, _ := json.Marshal(ch); string(before) != string(after) {
				t.Error("the chart was changed")
			}
			stored := storedAs(t, recorded)
			if len(accepted) > 0 && !reflect.DeepEqual(stored.Accepted, accepted) {
				t.Errorf("got the accepted permissions %v, want %v", stored.Accepted, accepted)
			}
			restored, err := chartscripts.Read(stored.Chart)
			if err != nil {
				t.Fatal(err)
			}
			compareScripts(t, restored, charts)
		})
	}
}

// compareScripts compares the scripts that were restored with those of the original charts. Charts whose
// order does not count can be in another order.
func compareScripts(t *testing.T, restored, charts []*chartscripts.Chart) {
	t.Helper()
	if len(restored) != len(charts) {
		t.Fatalf("got the scripts %q, want %q", describe(restored), describe(charts))
	}
	for i, want := range charts {
		got := restored[i]
		if got.Path != want.Path || !reflect.DeepEqual(got.Files, want.Files) || !reflect.DeepEqual(got.Permissions, want.Permissions) || got.Chart.Metadata.Version != want.Chart.Metadata.Version {
			t.Errorf("got the scripts %v of %s, want %v of %s", got.Files, got.Path, want.Files, want.Path)
		}
	}
}

func TestWithRecordOfChartWithoutScripts(t *testing.T) {
	ch := with(newChart("shop"), newChart("db"))
	if got, err := chartscripts.WithRecord(ch, nil, nil); err != nil || got != ch {
		t.Errorf("got %v, %v, want the chart itself", got, err)
	}
	own := newChart("shop", file("ext/lua/a.lua", ""))
	charts, _ := chartscripts.Read(own)
	if got, err := chartscripts.WithRecord(own, charts, nil); err != nil || got != own {
		t.Errorf("with scripts of the outermost chart alone, got %v, %v, want the chart itself", got, err)
	}
}

func TestWithoutRecord(t *testing.T) {
	script := file("ext/lua/a.lua", "")
	if ch := newChart("shop", script); chartscripts.WithoutRecord(ch) != ch {
		t.Error("a chart without a record was copied")
	}
	ch := releaseWith(`{"version":1}`).Chart
	ch.Files = append(ch.Files, script)
	if bare := chartscripts.WithoutRecord(ch); len(ch.Files) != 2 || len(bare.Files) != 1 || bare.Files[0] != script {
		t.Errorf("got the files %v from %v", bare.Files, ch.Files)
	}
}

// releaseWith returns a release with a record.
func releaseWith(record string) *release.Release {
	return &release.Release{Name: "shop", Version: 3, Chart: newChart("shop", file(".ordered-helm/scripts.json", record))}
}

func TestFromInvalidRelease(t *testing.T) {
	const metadata = `"metadata":{"name":"db"}`
	const files = `"files":[{"name":"ext/lua/a.lua","data":""}]`
	names := func(n int) string {
		return `["` + strings.Join(strings.Split(strings.Repeat("a", n), ""), `","`) + `"]`
	}
	for name, test := range map[string]struct{ record, err string }{
		"no JSON":          {`{`, "unexpected end of JSON input"},
		"a list":           {`[]`, "json: cannot unmarshal array"},
		"no version":       {`{}`, "the record has no version"},
		"null":             {`null`, "the record has no version"},
		"negative version": {`{"version":-1}`, "the record has no version"},
		"later version":    {`{"version":2}`, "the record has version 2, but this program supports versions up to 1: upgrade Ordered Helm"},
		"no metadata":      {`{"version":1,"charts":[{"path":["db"]}]}`, "the record contains a chart without a name, or in too many charts"},
		"no path":          {`{"version":1,"charts":[{` + metadata + `}]}`, "the record contains a chart without a name, or in too many charts"},
		"empty name":       {`{"version":1,"charts":[{"path":[""],` + metadata + `}]}`, `the record contains a chart with the invalid name ""`},
		"slash":            {`{"version":1,"charts":[{"path":["a/b"],` + metadata + `}]}`, `the record contains a chart with the invalid name "a/b"`},
		"twice":            {`{"version":1,"charts":[{"path":["db"],` + metadata + `,` + files + `},{"path":["db"],` + metadata + `}]}`, "the record contains the chart db twice"},
		"twice, no files":  {`{"version":1,"charts":[{"path":["db"],` + metadata + `},{"path":["db"],` + metadata + `}]}`, "the record contains the chart db twice"},
		"too deep":         {`{"version":1,"charts":[{"path":` + names(101) + `,` + metadata + `}]}`, "the record contains a chart without a name, or in too many charts"},
		"too many":         {`{"version":1,"charts":[` + strings.TrimSuffix(strings.Repeat("{},", 10_001), ",") + `]}`, "the record contains 10001 charts: at most 10000 are possible"},
	} {
		t.Run(name, func(t *testing.T) {
			stored, err := chartscripts.FromRelease(releaseWith(test.record))
			invalid, is := errors.AsType[*chartscripts.InvalidRecordError](err)
			if want := "the scripts of release shop, revision 3, cannot be read: " + test.err; !is || stored != nil || !strings.HasPrefix(invalid.Error(), want) || !strings.HasSuffix(invalid.Error(), ": use --no-scripts to run none") {
				t.Errorf("got %v and the error %v, want %s", stored, err, want)
			}
		})
	}
}

func TestFromUnusualRelease(t *testing.T) {
	for name, rel := range map[string]*release.Release{
		"no chart":            {},
		"no metadata":         {Chart: &chart.Chart{}},
		"no record":           {Chart: newChart("shop")},
		"null file":           {Chart: newChart("shop", nil, file("ext/lua/a.lua", ""))},
		"null file, record":   releaseWith(`{"version":1,"charts":[{"path":["db"],"metadata":{},"files":[null]}]}`),
		"as deep as possible": releaseWith(`{"version":1,"charts":[{"path":["` + strings.Repeat(`a","`, 99) + `a"],"metadata":{"name":"other"}}]}`),
	} {
		t.Run(name, func(t *testing.T) {
			stored, err := chartscripts.FromRelease(rel)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := chartscripts.Read(stored.Chart); err != nil {
				t.Error(err)
			}
			if _, err := chartutil.CoalesceValues(stored.Chart, map[string]any{}); err != nil {
				t.Error(err)
			}
		})
	}
}

func FuzzFromRelease(f *testing.F) {
	f.Add(`{"version":1,"charts":[{"path":["a","b"],"metadata":{"annotations":{"helm.sh/scripts":"enabled"}},"values":{"a":{"b":null}},"files":[{"name":"ext/lua/a.lua","data":"YQ=="},null]}],"accepted":{"shop":["network"]}}`)
	f.Add(`{"version":1,"charts":[{"path":["a"],"metadata":{"dependencies":[null]},"files":null}]}`)
	f.Add(`{"version":2}`)
	f.Fuzz(func(t *testing.T, record string) {
		stored, err := chartscripts.FromRelease(releaseWith(record))
		if err != nil {
			if _, is := errors.AsType[*chartscripts.InvalidRecordError](err); !is {
				t.Fatalf("the error is not an *InvalidRecordError: %v", err)
			}
			return
		}
		charts, err := chartscripts.Read(stored.Chart)
		if err == nil {
			_ = chartscripts.Text(charts, stored.Accepted)
		}
		_, _ = chartutil.CoalesceValues(stored.Chart, map[string]any{})
	})
}
