// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartloader_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	helmloader "helm.sh/helm/v3/pkg/chart/loader"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/declaration"
	"github.com/ordered-helm/helm/internal/hookorder"
)

// chartV3YAML returns a Chart.yaml of the format helm.sh/v3 with additional lines.
func chartV3YAML(name, more string) string {
	return "apiVersion: helm.sh/v3\nkind: Chart\nmetadata:\n  name: " + name + "\n  labels: {version: 1.0.0}\n" + more
}

// TestFormatV3 loads charts of the format helm.sh/v3, as they are written and as they are
// packed, at the top and as subcharts.
func TestFormatV3(t *testing.T) {
	inner := tree{
		"Chart.yaml":        chartV3YAML("db", "data: {runHooksInParallel: true, description: a store}\n"),
		"requirements.yaml": "requirements: [{name: leaf, version: '1', repository: ''}]\n", "charts/leaf/Chart.yaml": chartYAML("leaf", ""),
		"templates/a.yaml": "kind: A\n", "README.md": "about it",
	}
	for _, c := range []struct {
		name  string
		files tree
		path  []string // to the chart
	}{
		{"at the top", inner, nil},
		{"subchart of a flat chart", inner.below("charts/db/").with("Chart.yaml", chartYAML("shop", "")), []string{"db"}},
		{"subchart of a chart of the format", inner.below("charts/db/").with("Chart.yaml", chartV3YAML("shop", "")), []string{"db"}},
		{"subchart in an archive", tree{"Chart.yaml": chartV3YAML("shop", ""), "charts/db.tgz": inner.archive(t, "db")}, []string{"db"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ch, err := chartloader.LoadFiles(c.files.buffered())
			if err != nil {
				t.Fatal(err)
			}
			packed, err := chartloader.CanonicalFiles(c.files.buffered())
			if err != nil {
				t.Fatal(err)
			}
			again, err := chartloader.LoadFiles(packed)
			if err != nil || !reflect.DeepEqual(again.Metadata, ch.Metadata) {
				t.Errorf("packed, it is loaded as %+v, %v", again.Metadata, err)
			}
			if stock, err := helmloader.LoadFiles(packed); err != nil || stock.Validate() != nil || !reflect.DeepEqual(stock.Metadata, ch.Metadata) {
				t.Errorf("Helm loads it as %+v, %v", stock, err)
			}
			for _, root := range []*chart.Chart{ch, again} {
				checkInner(t, findSubchart(t, root, c.path...))
			}
		})
	}
}

// below returns the files with a prefix before their names.
func (files tree) below(prefix string) tree {
	moved := tree{}
	for name, text := range files {
		moved[prefix+name] = text
	}
	return moved
}

// with returns the files and another one.
func (files tree) with(name, text string) tree {
	more := maps.Clone(files)
	more[name] = text
	return more
}

// checkInner checks the chart db of TestFormatV3.
func checkInner(t *testing.T, ch *chart.Chart) {
	t.Helper()
	if ch.Metadata.APIVersion != "v2" || ch.Metadata.Version != "1.0.0" || ch.Metadata.Description != "a store" || len(ch.Metadata.Dependencies) != 1 || len(ch.Dependencies()) != 1 {
		t.Errorf("got %+v", ch.Metadata)
	}
	if len(ch.Files) != 1 || ch.Files[0].Name != "README.md" {
		t.Errorf("templates can read %+v", ch.Files)
	}
	d, err := declaration.Read(ch)
	if err != nil || !d.Sequenced() || d.Hooks != hookorder.Parallel || len(d.Mistakes) > 0 {
		t.Errorf("got %+v, %v", d, err)
	}
}

func findSubchart(t *testing.T, ch *chart.Chart, path ...string) *chart.Chart {
	t.Helper()
	for _, name := range path {
		i := slices.IndexFunc(ch.Dependencies(), func(sub *chart.Chart) bool { return sub.Name() == name })
		if i < 0 {
			t.Fatalf("%s has no subchart %s", ch.Name(), name)
		}
		ch = ch.Dependencies()[i]
	}
	return ch
}

// TestOtherFileWithReservedName loads a flat chart that happens to have a file with the name of
// an original.
func TestOtherFileWithReservedName(t *testing.T) {
	ch, err := chartloader.LoadFiles(tree{"Chart.yaml": chartYAML("shop", ""), "Chart.v3.yaml": "version: 3\n"}.buffered())
	if err != nil || len(ch.Files) != 1 {
		t.Errorf("got %+v, %v", ch.Files, err)
	}
}

func TestFormatV3Errors(t *testing.T) {
	for _, c := range []struct {
		name  string
		files tree
		want  string
	}{
		{"at the top", tree{"Chart.yaml": chartV3YAML("shop", "icon: x\n")}, "Chart.yaml:6: icon: belongs in data.icon"},
		{
			"in a subchart", tree{"Chart.yaml": chartYAML("shop", ""), "charts/db/Chart.yaml": chartV3YAML("db", "icon: x\n")},
			"charts/db/Chart.yaml:6: icon: belongs in data.icon",
		},
		{
			"in requirements.yaml", tree{"Chart.yaml": chartV3YAML("shop", ""), "requirements.yaml": "a: b\n"},
			"requirements.yaml:1: a: unknown field: must be one of requirements,",
		},
		{
			"another apiVersion", tree{"Chart.yaml": chartV3YAML("shop", ""), "charts/db/Chart.yaml": strings.Replace(chartV3YAML("db", ""), "helm.sh/v3", "v3", 1)},
			"charts/db/Chart.yaml:1: apiVersion: must be helm.sh/v3 in a chart of this format",
		},
		{"reserved name", tree{"Chart.yaml": chartV3YAML("shop", ""), "Chart.v3.yaml": "a: b\n"}, "Chart.v3.yaml: the name is reserved for packed charts"},
		{
			"packed files that do not agree", tree{"Chart.yaml": chartYAML("shop", ""), "Chart.v3.yaml": chartV3YAML("shop", "")},
			"Chart.yaml does not agree with Chart.v3.yaml, from which it was made",
		},
		{
			"requirements.yaml in a packed chart",
			packedForm(t, tree{"Chart.yaml": chartV3YAML("shop", "")}).with("requirements.yaml", "dependencies: [{name: db, version: '1', repository: r}]\n"),
			"requirements.yaml is not part of the packed chart",
		},
		{"aliases that expand", tree{"Chart.yaml": chartV3YAML("shop", "data:\n  dependencies:\n  - name: a\n    import-values:\n"+aliasBomb("    - "))}, "aliases"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := chartloader.LoadFiles(c.files.buffered()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got\n%v\nwant\n%s", err, c.want)
			}
		})
	}
}

// packedForm returns the files of an archive of a chart.
func packedForm(t *testing.T, files tree) tree {
	t.Helper()
	canonical, err := chartloader.CanonicalFiles(files.buffered())
	if err != nil {
		t.Fatal(err)
	}
	packed := tree{}
	for _, f := range canonical {
		packed[f.Name] = string(f.Data)
	}
	return packed
}

// TestFormatV3Duplicates checks that an archive with several files of one name is rejected if they
// contain the metadata of a chart of the format, because Helm merges such files.
func TestFormatV3Duplicates(t *testing.T) {
	written := tree{"Chart.yaml": chartV3YAML("shop", ""), "requirements.yaml": "requirements: []\n"}
	for name, files := range map[string]tree{
		"Chart.yaml": packedForm(t, written), "Chart.v3.yaml": packedForm(t, written), "requirements.v3.yaml": packedForm(t, written),
		"requirements.yaml": written,
	} {
		for _, added := range []string{files[name], "a: b\n", chartV3YAML("other", "")} {
			list := files.buffered()
			duplicate := &chartloader.BufferedFile{Name: name, Data: []byte(added)}
			for _, list := range [][]*chartloader.BufferedFile{append(slices.Clone(list), duplicate), append([]*chartloader.BufferedFile{duplicate}, list...)} {
				if _, err := chartloader.LoadFiles(list); err == nil || !strings.Contains(err.Error(), "the archive contains "+name+" more than once") {
					t.Errorf("%s twice, with %q: %v", name, added, err)
				}
			}
		}
	}
	twice := append(tree{"Chart.yaml": chartYAML("shop", "")}.buffered(), tree{"Chart.yaml": chartYAML("shop", "")}.buffered()...)
	if _, err := chartloader.LoadFiles(twice); err != nil {
		t.Errorf("a flat chart is rejected, but Helm accepts it: %v", err)
	}
}

// aliasBomb returns list items that expand to a very long list.
func aliasBomb(prefix string) string {
	text := prefix + "&a0 [x, x, x, x, x, x, x, x, x, x]\n"
	for i := range 9 {
		from := string(rune('0' + i))
		text += prefix + "&a" + string(rune('1'+i)) + " [" + strings.TrimSuffix(strings.Repeat("*a"+from+", ", 10), ", ") + "]\n"
	}
	return text
}

// TestAllocationsOfFormat checks that loading charts of the format helm.sh/v3, as they are written or
// packed, takes about as many allocations as loading flat charts: what is parsed to translate them need
// not be parsed again to read what they declare.
func TestAllocationsOfFormat(t *testing.T) {
	flat, format := tree{"Chart.yaml": chartYAML("shop", "")}, tree{"Chart.yaml": chartV3YAML("shop", "")}
	for i := range 30 {
		name := fmt.Sprintf("sub%d", i)
		flat["charts/"+name+"/Chart.yaml"], format["charts/"+name+"/Chart.yaml"] = chartYAML(name, ""), chartV3YAML(name, "")
	}
	allocations := func(files []*chartloader.BufferedFile) float64 {
		return testing.AllocsPerRun(5, func() {
			ch, err := chartloader.LoadFiles(files)
			if err == nil {
				_, err = declaration.Read(ch)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
	limit := 1.1 * allocations(flat.buffered())
	for form, files := range map[string]tree{"written": format, "packed": packedForm(t, format)} {
		if got := allocations(files.buffered()); got > limit {
			t.Errorf("%s: %.0f allocations, want at most %.0f", form, got, limit)
		}
	}
}
