// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package archive_test

import (
	"cmp"
	"fmt"
	"io"
	"log"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	helmloader "helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"

	"github.com/ordered-helm/helm/internal/archive"
	"github.com/ordered-helm/helm/internal/chartformat"
	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/declaration"
	"github.com/ordered-helm/helm/internal/testutil/formatcharts"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // Helm warns of unusual charts
	os.Exit(m.Run())
}

// TestRandomCharts packs random charts of the format helm.sh/v3. The archive must be loaded as the
// directory is, by Ordered Helm and by stock Helm, and must be unpacked to the files that were
// packed.
func TestRandomCharts(t *testing.T) {
	n := uint64(40)
	if testing.Short() {
		n = 10
	}
	for seed := range n {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { checkRandomChart(t, seed) })
	}
}

func checkRandomChart(t *testing.T, seed uint64) {
	files, err := formatcharts.Random(rand.New(rand.NewPCG(seed, 1)))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source := filepath.Join(dir, "source")
	if err := files.Write(source); err != nil {
		t.Fatal(err)
	}
	written, err := chartloader.LoadDir(source)
	if err != nil {
		t.Fatalf("%v\n%s", err, files["Chart.yaml"])
	}
	packed, err := archive.Save(written, filepath.Join(dir, "packed"))
	if err != nil {
		t.Fatal(err)
	}
	ours, err := chartloader.LoadFile(packed)
	if err != nil {
		t.Fatalf("%v\n%s", err, files["Chart.yaml"])
	}
	stock, err := helmloader.LoadFile(packed)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := contentOf(ours), contentOf(written); !reflect.DeepEqual(got, want) {
		t.Errorf("packed, it is\n%+v\nand was\n%+v", got, want)
	}
	if _, isFormat := chartloader.OriginalFile(written, chartformat.OriginalChartFile); isFormat {
		checkUnpacked(t, dir, packed, files)
		checkOtherVersions(t, dir, written)
	}
	checkRendered(t, written, ours, stock)
	if got, want := declared(t, written), declared(t, withoutOriginals(written)); !reflect.DeepEqual(got, want) {
		t.Errorf("declared is %+v, want %+v as in the flat chart", got, want)
	}
	if again, err := archive.Save(ours, filepath.Join(dir, "again")); err != nil {
		t.Error(err)
	} else if a, b := entries(t, packed), entries(t, again); !maps.Equal(a, b) {
		t.Errorf("packed again, the archive has\n%q\ninstead of\n%q", b, a)
	}
}

// declared returns what ch and its subcharts declare about order and hooks, without tags, in which Helm
// replaces line breaks, and without what the format itself implies about hooks.
func declared(t *testing.T, ch *chart.Chart) *declaration.Chart {
	t.Helper()
	d, err := declaration.Read(ch)
	if err != nil {
		t.Fatal(err)
	}
	removeOther(d)
	return d
}

func removeOther(d *declaration.Chart) {
	d.ManagesHooks = false
	for i := range d.Dependencies {
		d.Dependencies[i].Tags = nil
	}
	for _, sub := range d.Subcharts {
		removeOther(sub)
	}
}

// withoutOriginals returns a copy of a chart that is not of the format helm.sh/v3, as if its flat
// Chart.yaml had been written by hand.
func withoutOriginals(ch *chart.Chart) *chart.Chart {
	flat := *ch
	flat.Raw = slices.DeleteFunc(slices.Clone(ch.Raw), func(f *chart.File) bool { return f.Name == chartformat.OriginalChartFile })
	var subcharts []*chart.Chart
	for _, sub := range ch.Dependencies() {
		subcharts = append(subcharts, withoutOriginals(sub))
	}
	flat.SetDependencies(subcharts...)
	return &flat
}

// checkUnpacked checks that an archive is unpacked to the files of the chart that were packed, and
// that the result can be packed again.
func checkUnpacked(t *testing.T, dir, packed string, files formatcharts.Files) {
	t.Helper()
	if err := archive.ExpandFile(dir, packed); err != nil {
		t.Fatal(err)
	}
	unpacked := filepath.Join(dir, "c0")
	got, err := formatcharts.Read(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	want := maps.Clone(files)
	delete(want, formatcharts.IgnoredFile)
	for name, text := range want {
		if filepath.Base(name) == formatcharts.IgnoredFile && files[".helmignore"] != "" {
			delete(want, name)
		} else if got[name] != text {
			t.Errorf("%s is %q, and was %q", name, got[name], text)
		}
	}
	if len(got) != len(want) {
		t.Errorf("got the files %q, want %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	ch, err := chartloader.LoadDir(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	again, err := archive.Save(ch, filepath.Join(dir, "of unpacked"))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := entries(t, packed), entries(t, again); !maps.Equal(a, b) {
		t.Errorf("unpacked and packed again, the archive has\n%q\ninstead of\n%q", b, a)
	}
}

// checkOtherVersions checks that a chart can be packed with other versions than those in its
// Chart.yaml.
func checkOtherVersions(t *testing.T, dir string, ch *chart.Chart) {
	t.Helper()
	ch = chartloader.Copy(ch)
	ch.Metadata.Version, ch.Metadata.AppVersion = "9.10.0", "1.10"
	packed, err := archive.Save(ch, filepath.Join(dir, "other versions"))
	if err != nil {
		t.Fatal(err)
	}
	if loaded, err := chartloader.LoadFile(packed); err != nil || !reflect.DeepEqual(loaded.Metadata, ch.Metadata) {
		original, _ := chartloader.OriginalFile(ch, chartformat.OriginalChartFile)
		t.Errorf("got %+v, %v\nwant %+v\n%s", loaded.Metadata, err, ch.Metadata, original)
	}
}

// entries returns the content of the files in an archive. Archives contain no file twice.
func entries(t *testing.T, archivePath string) formatcharts.Files {
	t.Helper()
	found, err := formatcharts.Read(archivePath)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// checkRendered checks that a chart is rendered to the same text in whatever way it was loaded.
func checkRendered(t *testing.T, written *chart.Chart, packed ...*chart.Chart) {
	t.Helper()
	want := rendered(t, written)
	for i, ch := range packed {
		if got := rendered(t, ch); !maps.Equal(got, want) {
			t.Errorf("the archive, loaded in way %d, is rendered to\n%q\nwant\n%q", i, got, want)
		}
	}
}

// rendered renders a copy of a chart with Helm's engine.
func rendered(t *testing.T, ch *chart.Chart) map[string]string {
	t.Helper()
	ch = chartloader.Copy(ch)
	if err := chartutil.ProcessDependenciesWithMerge(ch, nil); err != nil {
		t.Fatal(err)
	}
	values, err := chartutil.ToRenderValues(ch, nil, chartutil.ReleaseOptions{Name: "rel", Namespace: "ns", Revision: 1, IsInstall: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := engine.Render(ch, values)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// content is what a chart consists of when it is used. Subcharts and files are sorted by name.
type content struct {
	Metadata         *chart.Metadata
	Lock             *chart.Lock
	Templates, Files []string
	Values           map[string]any
	Schema           string
	Subcharts        []content
}

func contentOf(ch *chart.Chart) content {
	c := content{Metadata: ch.Metadata, Lock: ch.Lock, Values: ch.Values, Schema: string(ch.Schema), Templates: sorted(ch.Templates), Files: sorted(ch.Files)}
	for _, sub := range ch.Dependencies() {
		c.Subcharts = append(c.Subcharts, contentOf(sub))
	}
	slices.SortFunc(c.Subcharts, func(a, b content) int { return cmp.Compare(a.Metadata.Name, b.Metadata.Name) })
	return c
}

// sorted returns the names and contents of files, sorted.
func sorted(files []*chart.File) []string {
	var texts []string
	for _, f := range files {
		texts = append(texts, f.Name+"\n"+string(f.Data))
	}
	slices.Sort(texts)
	return texts
}
