// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package orderrecord

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"

	"github.com/ordered-helm/helm/internal/sequencer"
)

// nested returns charts nested to a depth, in JSON.
func nested(depth int) string {
	return strings.Repeat(`{"name":"c","subcharts":[`, depth-1) + `{"name":"c"}` + strings.Repeat("]}", depth-1)
}

func TestReadWhatCannotBeUsed(t *testing.T) {
	tests := []struct{ name, data, want string }{
		{"empty", "", "unexpected end of JSON input"},
		{"no JSON", "\x1f\x8b", "invalid character"},
		{"cut off", `{"version":1,"sequenced":true`, "unexpected end of JSON input"},
		{"null", "null", "it has no version"},
		{"of another form", `[1]`, "cannot unmarshal array"},
		{"no version", `{"charts":{"name":"shop"}}`, "it has no version"},
		{"a version before the first", `{"version":-1,"charts":{"name":"shop"}}`, "it has no version"},
		{"a newer version", `{"version":3,"charts":"in a form of its own"}`, "it has version 3, but this program supports versions up to 2: upgrade Ordered Helm"},
		{"knowledge of no revision", `{"version":1,"earlier":{"removed":true},"charts":{"name":"shop"}}`, "its data about earlier revisions has the invalid revision 0"},
		{"no charts", `{"version":1,"sequenced":true}`, "it has no charts"},
		{"charts of another form", `{"version":1,"charts":["shop"]}`, "cannot unmarshal array"},
		{"a chart that is null", `{"version":1,"charts":{"name":"shop","subcharts":[{"name":"a"},null]}}`, "one of its charts is null"},
		{"a revision that cannot be", `{"version":1,"revision":-1,"charts":{"name":"shop"}}`, "it has the invalid revision -1"},
		{"progress of no revision", `{"version":1,"revision":1,"progress":{"nodes":1},"charts":{"name":"shop"}}`, "its progress has the invalid revision 0"},
		{"at more nodes than there are", `{"version":1,"progress":{"revision":1,"nodes":1,"at":["a","b"]},"charts":{"name":"shop"}}`, "its progress has 2 running nodes of 1"},
		{"more progress than there can be", `{"version":1,"progress":{"revision":1,"nodes":1,"done":["a","b"]},"charts":{"name":"shop"}}`, "its progress has 2 done nodes of 1"},
		{
			"something to delete without a name", `{"version":1,"earlier":{"revision":2,"leftovers":[{"apiVersion":"v1","kind":"Secret","name":"a"},{"apiVersion":"v1","kind":"Secret","namespace":"b"}]},"charts":{"name":"shop"}}`,
			`it has an invalid leftover object: apiVersion "v1", kind "Secret", name ""`,
		},
		{"hook objects of no revision", `{"version":1,"hookObjects":{},"charts":{"name":"shop"}}`, "its objects of hooks have the invalid revision 0"},
		{
			"a hook object without a kind", `{"version":1,"hookObjects":{"revision":1,"objects":[{"apiVersion":"v1","name":"a","uid":"u"}]},"charts":{"name":"shop"}}`,
			`it has an invalid leftover object: apiVersion "v1", kind "", name "a"`,
		},
		{"charts that are nested too deep", `{"version":1,"charts":` + nested(101) + `}`, "its charts are nested more than 100 levels deep"},
		{"charts without end", `{"version":1,"charts":` + nested(20000) + `}`, "exceeded max depth"},
		{"too many charts", `{"version":1,"charts":{"name":"a","subcharts":[` + strings.Repeat(`{"name":"b"},`, 9999) + `{"name":"b"}]}}`, "it has more than 10000 charts"},
		{
			"paths that are too long", `{"version":1,"charts":{"name":"` + strings.Repeat("a", 1<<20) + `","subcharts":[` + strings.Repeat(`{},`, 15) + `{}]}}`,
			"the paths of its charts exceed 16 MiB in total",
		},
		{
			"a name that stands for nothing", `{"version":1,"sequenced":true,"charts":{"name":"shop","sequenced":true,"dependsOnSubcharts":["a","x"],"subcharts":[{"name":"a"}]}}`,
			`its chart "shop" depends on the unknown subchart "x"`,
		},
		{
			"such a name of a subchart", `{"version":1,"sequenced":true,"charts":{"name":"shop","subcharts":[{"name":"a","sequenced":true,"dependencies":[{"name":"b","dependsOn":[""]}]}]}}`,
			`its chart "a" depends on the unknown subchart ""`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ch := shop()
			ch.Files = append(ch.Files, &chart.File{Name: ".ordered-helm/record.json", Data: []byte(tt.data)})
			got, err := Read(releaseOf(ch))
			var invalid *InvalidError
			if got != nil || !errors.As(err, &invalid) || invalid.Release != "shop" || invalid.Revision != 3 || errors.Unwrap(err) == nil {
				t.Fatalf("got %v, %v", got, err)
			}
			if want := "the order record of release shop, revision 3, cannot be used: "; !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q, want %q", err, tt.want)
			}
			if again, err := WithRecord(ch, sample()); err != nil || len(again.Files) != 2 {
				t.Errorf("it is not replaced: %v", err)
			}
		})
	}
}

// TestReadAtLimits decodes valid order records: some are at a limit, others contain unusual
// names or unknown fields.
func TestReadAtLimits(t *testing.T) {
	for name, data := range map[string]string{
		"no revision":   `{"version":1,"sequenced":true,"charts":{"name":"shop"}}`,
		"deep":          `{"version":1,"charts":` + nested(100) + `}`,
		"many":          `{"version":1,"charts":{"name":"a","subcharts":[` + strings.Repeat(`{"name":"b"},`, 9998) + `{"name":"b"}]}}`,
		"known names":   `{"version":1,"sequenced":true,"charts":{"name":"shop","sequenced":true,"dependsOnSubcharts":["n","a","t","s"],"dependencies":[{"name":"n","alias":"a","tags":["t"],"disabled":true}],"subcharts":[{"name":"s"}]}}`,
		"not sequenced": `{"version":1,"sequenced":true,"charts":{"name":"shop","dependsOnSubcharts":["x"]}}`,
		"not in order":  `{"version":1,"charts":{"name":"shop","sequenced":true,"dependsOnSubcharts":["x"]}}`,
		"leftovers":     `{"version":1,"earlier":{"revision":1,"leftovers":[{"apiVersion":"v1","kind":"Namespace","name":"a"}]},"charts":{"name":"shop"}}`,
		"hook objects":  `{"version":1,"hookObjects":{"revision":1,"objects":[{"apiVersion":"v1","kind":"Secret","name":"a"}]},"charts":{"name":"shop"}}`,
		"more besides":  `{"version":1,"charts":{"name":"shop","later":{}},"later":[]}`,
	} {
		r, err := decode([]byte(data))
		if err != nil || r.Revision != 0 {
			t.Errorf("%s: got %+v, %v", name, r, err)
		}
	}
}

// TestWithRecordRejectsWhatReadRejects checks that WithRecord rejects an order record that
// Read would reject, so that it is not stored.
func TestWithRecordRejectsWhatReadRejects(t *testing.T) {
	deep := &sequencer.Chart{Name: "c"}
	for range 100 {
		deep = &sequencer.Chart{Name: "c", Subcharts: []*sequencer.Chart{deep}}
	}
	for name, r := range map[string]*Record{"its charts are nested more than 100 levels deep": {Charts: deep}, "it has no charts": {}} {
		ch, err := WithRecord(shop(), r)
		if ch != nil || err == nil || err.Error() != "write the order record: "+name {
			t.Errorf("got %v, %v, want %s", ch, err, name)
		}
	}
}

// FuzzRead reads arbitrary data. It checks that an accepted order record can be written and
// read again, and that a deployment graph can be built from it.
func FuzzRead(f *testing.F) {
	good, err := encode(sample())
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		string(good), "", "null", "[]", `{"version":1}`, `{"version":2,"charts":{}}`, `{"version":1,"charts":` + nested(101) + `}`,
		`{"version":1,"charts":{"subcharts":[null]},"documents":[""]}`, `{"version":1,"sequenced":true,"charts":{"sequenced":true,"dependsOnSubcharts":["x"]}}`,
		`{"version":1,"sequenced":true,"charts":{"sequenced":true,"dependencies":[{"name":"a","dependsOn":["a","b"]},{"name":"b","dependsOn":["a"]}],"subcharts":[{"name":"a"},{"name":"b"},{"name":"a"}]}}`,
		`{"version":1,"revision":1,"progress":{"revision":1,"done":["a"],"nodes":1},"charts":{"name":"\xff"}}`,
		`{"version":1,"charts":{},"lease":{"revision":3,"id":"a","operation":"upgrade","host":"b","pid":1,"birth":"c","began":"2026-11-22T12:00:00Z","renewed":"2026-11-22T12:00:00Z","seconds":45}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		rel := releaseOf(&chart.Chart{Files: []*chart.File{{Name: fileName, Data: data}}})
		r, err := Read(rel)
		var invalid *InvalidError
		if err != nil {
			if r != nil || !errors.As(err, &invalid) {
				t.Fatalf("got %v, %v", r, err)
			}
			return
		}
		p := r.ProgressFor(3)
		if p != nil && (p.Revision != 3 || len(p.DoneNodes) > p.TotalNodes) {
			t.Fatalf("progress %+v", p)
		}
		plan(r)
		rel.Chart, err = WithRecord(rel.Chart, r)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Read(rel)
		if err != nil {
			t.Fatal(err)
		}
		want, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(again); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("got %s, %v\nwant %s", got, err, want)
		}
	})
}

// plan builds a deployment graph with one resource of each chart. It ignores errors in the
// declared order, such as cycles.
func plan(r *Record) {
	in := sequencer.Input{Root: r.Charts, Namespace: "test"}
	var walk func(c *sequencer.Chart, path string)
	walk = func(c *sequencer.Chart, path string) {
		in.Resources = append(in.Resources, sequencer.Resource{
			Chart: path, Object: map[string]any{"kind": "Job", "metadata": map[string]any{"name": path}},
		})
		for _, sub := range c.Subcharts {
			walk(sub, path+"/"+sub.Name)
		}
	}
	walk(r.Charts, r.Charts.Name)
	_, _ = sequencer.Build(in)
}
