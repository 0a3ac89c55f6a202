// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package library_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/Masterminds/semver/v3"
	"helm.sh/helm/v3/pkg/chart"

	"github.com/ordered-helm/helm/internal/library"
)

// common returns a library with a version.
func common(version string) *chart.Chart {
	return &chart.Chart{Metadata: &chart.Metadata{Name: "common", Version: version, Type: library.TypeLibrary}}
}

// asked returns requests for the library common, each by another chart.
func asked(ranges ...string) []library.Request {
	requests := make([]library.Request, len(ranges))
	for i, r := range ranges {
		requests[i] = library.Request{
			Name: "common", Range: r, By: "shop/charts/" + string(rune('a'+i)), Position: func() string { return "Chart.yaml:7" },
		}
	}
	return requests
}

func found(versions ...string) []library.Candidate {
	candidates := make([]library.Candidate, len(versions))
	for i, v := range versions {
		candidates[i] = library.Candidate{Path: "shop/library/common-" + v + ".tgz", Library: common(v)}
	}
	return candidates
}

// changed returns a candidate with other content than those that found returns.
func changed(version string) library.Candidate {
	lib := common(version)
	lib.Templates = []*chart.File{{Name: "templates/a.tpl", Data: []byte(`{{ define "a" }}{{ end }}`)}}
	return library.Candidate{Path: "shop/charts/db/library/common", Library: lib}
}

func TestSelect(t *testing.T) {
	for _, c := range []struct {
		name       string
		requests   []library.Request
		candidates []library.Candidate
		want       string // the version, or "" if there is none
		err        string
	}{
		{"the highest version", asked("^1"), found("1.2.0", "1.10.0", "1.9.0"), "1.10.0", ""},
		{"the highest that all accept", asked("^1", "<1.5", ">=1.1"), found("1.2.0", "1.10.0", "1.0.0"), "1.2.0", ""},
		{"a version that is not in the ranges of all charts", asked("*"), found("2.0.0-rc.1", "1.0.0"), "1.0.0", ""},
		{"a pre-release without a range", asked(""), found("2.0.0-rc.1", "1.0.0"), "2.0.0-rc.1", ""},
		{"the same version twice", asked("1.0.0"), found("1.0.0", "1.0.0"), "1.0.0", ""},
		{"versions that differ only in their build", asked("1.0.0"), found("1.0.0+a", "1.0.0+b", "1.0.0"), "1.0.0+b", ""},
		{
			"the same version with other content", asked("^1"), append(found("1.0.0", "1.2.0"), changed("1.2.0")), "",
			"the library common 1.2.0 has different content in shop/library/common-1.2.0.tgz and in shop/charts/db/library/common: give one of them another version, or remove it",
		},
		{"other content in a version that is not selected", asked("^1"), append(found("1.0.0", "1.2.0"), changed("1.0.0")), "1.2.0", ""},
		{"other content, after the same content", asked("^1"), append(found("1.0.0", "1.0.0"), changed("1.0.0")), "", "has different content"},
		{"without candidates", asked("^1"), nil, "", ""},
		{
			"none that all accept", asked("^1", "", "~2.1"), found("1.2.0", "2.1.0", "2.2.0"), "",
			"no version of the library common satisfies all charts that use it:\n" +
				"  shop/charts/a asks for ^1 (Chart.yaml:7)\n  shop/charts/c asks for ~2.1 (Chart.yaml:7)\n" +
				"  available: 2.2.0 (shop/library/common-2.2.0.tgz), 2.1.0 (shop/library/common-2.1.0.tgz), 1.2.0 (shop/library/common-1.2.0.tgz)",
		},
		{"an invalid range", asked("newest"), found("1.0.0"), "", `shop/charts/a asks for the library common in an invalid range of versions, "newest"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			selected, err := library.Select(c.requests, c.candidates)
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got\n%v\nwant\n%s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if s, isFound := selected["common"]; isFound != (c.want != "") || isFound && s.Library.Metadata.Version != c.want {
				t.Errorf("got %+v, want %s", s.Library, c.want)
			}
		})
	}
}

// TestLongConflict checks that the error about a conflict of many charts is short.
func TestLongConflict(t *testing.T) {
	ranges := append(slices.Repeat([]string{"^1"}, 30), "^2")
	_, err := library.Select(asked(ranges...), found("1.0.0"))
	if err == nil || strings.Count(err.Error(), "asks for") != 20 || !strings.Contains(err.Error(), "\n  and 11 more\n") {
		t.Errorf("got %v", err)
	}
}

// TestSelectProperties checks random requests and candidates: what is selected satisfies all
// requests, is the highest version that does, and does not depend on their order.
func TestSelectProperties(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not for security
	ranges := []string{"", "*", "^1", "~1.1", ">=1.1 <2.1", "1.x || 2.x", ">1.0.0", "2.0.0"}
	versions := []string{"1.0.0", "1.1.0", "1.1.5", "1.2.0", "2.0.0", "2.1.0"}
	pick := func(from []string) []string {
		some := slices.Clone(from)
		random.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		return some[:1+random.IntN(len(some))]
	}
	for range 2000 {
		wanted, available := pick(ranges), pick(versions)
		satisfies := func(version string) bool {
			return !slices.ContainsFunc(wanted, func(r string) bool {
				constraint, err := semver.NewConstraint(r)
				return r != "" && (err != nil || !constraint.Check(semver.MustParse(version)))
			})
		}
		want := ""
		for _, v := range slices.Sorted(slices.Values(available)) {
			if satisfies(v) {
				want = v
			}
		}
		selected, err := library.Select(asked(wanted...), found(available...))
		if conflict, is := errors.AsType[*library.ConflictError](err); want == "" && is && conflict.Library == "common" {
			continue
		}
		if err != nil || selected["common"].Library.Metadata.Version != want {
			t.Fatalf("%q of %q: got %+v, %v, want %s", wanted, available, selected, err, want)
		}
	}
}

func TestNewCopy(t *testing.T) {
	original := common("1.0.0")
	original.Metadata.Dependencies = []*chart.Dependency{{Name: "x"}}
	original.Values = map[string]any{"a": 1}
	original.Templates = []*chart.File{
		{Name: "templates/_names.tpl", Data: []byte("a")}, {Name: "templates/below/names.yaml", Data: []byte("b")}, {Name: "templates/NOTES.txt", Data: []byte("c")},
	}
	c := library.NewCopy(original)
	var names []string
	for _, f := range c.Templates {
		names = append(names, f.Name)
	}
	if want := []string{"templates/__names.tpl", "templates/below/_names.yaml", "templates/_NOTES.txt"}; !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	if c.Values != nil || c.Metadata.Dependencies != nil || c.Metadata.Type != library.TypeLibrary || c.Metadata.APIVersion != "v2" {
		t.Errorf("got %+v", c)
	}
	if !library.IsCopy(c.Metadata) || library.IsCopy(original.Metadata) || library.IsCopy(nil) {
		t.Error("copies are not recognized")
	}
}

// TestEqual changes one thing at a time in a copy.
func TestEqual(t *testing.T) {
	original := common("1.0.0")
	original.Templates = []*chart.File{{Name: "templates/a.tpl", Data: []byte("a")}, {Name: "templates/b.tpl"}}
	for name, change := range map[string]func(*chart.Chart){
		"type":     func(c *chart.Chart) { c.Metadata.Type = "application" },
		"version":  func(c *chart.Chart) { c.Metadata.Version = "1.0.1" },
		"text":     func(c *chart.Chart) { c.Templates[0].Data = []byte("b") },
		"template": func(c *chart.Chart) { c.Templates = c.Templates[1:] },
		"file":     func(c *chart.Chart) { c.Files = []*chart.File{{Name: "crds/a.yaml"}} },
		"values":   func(c *chart.Chart) { c.Values = map[string]any{"a": 1} },
		"schema":   func(c *chart.Chart) { c.Schema = []byte("{}") },
		"subchart": func(c *chart.Chart) { c.AddDependency(common("1.0.0")) },
	} {
		changed, c := library.NewCopy(original), library.NewCopy(original)
		slices.Reverse(changed.Templates)
		if !library.Equal(changed, c) {
			t.Error("two copies of a library differ")
		}
		change(changed)
		if library.Equal(changed, c) {
			t.Errorf("another %s is not noticed", name)
		}
	}
}

func TestSplit(t *testing.T) {
	a, b := &chart.Dependency{Name: "a"}, &chart.Dependency{Name: "b"}
	m := &chart.Metadata{Annotations: map[string]string{"helm.sh/libraries": `["b"]`}}
	charts, libraries := library.Split(m, []*chart.Dependency{a, b})
	if !reflect.DeepEqual(charts, []*chart.Dependency{a}) || !reflect.DeepEqual(libraries, []*chart.Dependency{b}) {
		t.Errorf("got %v, %v", charts, libraries)
	}
	if library.Names(nil) != nil || library.Names(&chart.Metadata{Annotations: map[string]string{"helm.sh/libraries": "["}}) != nil {
		t.Error("there are libraries in a chart without any")
	}
}

func TestApplicationCharts(t *testing.T) {
	root, sub, ordinary := common("1.0.0"), common("1.0.0"), common("1.0.0")
	root.Metadata.Name, sub.Metadata.Name, ordinary.Metadata.Name, ordinary.Metadata.Type = "shop", "db", "web", ""
	sub.AddDependency(library.NewCopy(ordinary), library.NewCopy(common("1.0.0")))
	root.AddDependency(sub)
	if got, want := library.ApplicationCharts(root), []library.ApplicationChart{{Name: "web", UsedBy: "shop/charts/db"}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
