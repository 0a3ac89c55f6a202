// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package chartloader_test

import (
	"bytes"
	"compress/gzip"
	"path"
	"reflect"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	helmloader "helm.sh/helm/v3/pkg/chart/loader"

	"github.com/ordered-helm/helm/internal/chartformat"
	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/declaration"
)

// FuzzLoadArchive loads any archive. It checks that all paths are inside the chart, and
// that converting the canonical form again changes nothing.
func FuzzLoadArchive(f *testing.F) {
	listed := small + "annotations: {helm.sh/depends-on/subcharts: [d]}\n"
	for _, entries := range [][]string{
		{"c/Chart.yaml", small, "c/values.yaml", "a: &a 1\nb: *a\n"},
		{"c/Chart.yaml", listed, "c/charts/d/Chart.yaml", small, "c/charts/_x/Chart.yaml", "[", "c/charts/e.txt", "e"},
		{"c/Chart.yaml", listed, "c/charts/d.tgz", string(packed(f, "d/Chart.yaml", listed, "d/charts/e.tgz", "no archive"))},
		{`c\Chart.yaml`, small, `c\templates\..\a.yaml`, "x"},
		{"c/../Chart.yaml", small, "/c/x", "y", "c/C:/x", "z"},
		{"c/Chart.yaml", chartV3YAML("c", ""), "c/requirements.yaml", "requirements: []\n", "c/charts/d/Chart.yaml", listed},
		{"c/Chart.yaml", small, "c/Chart.v3.yaml", chartV3YAML("c", ""), "c/Chart.v3.yaml", small},
		{"c/Chart.yaml", listed, "c/charts/d.tgz", string(packed(f, "d/Chart.yaml", chartV3YAML("d", ""), "d/charts/e/Chart.yaml", small))},
	} {
		f.Add(unzipped(f, packed(f, entries...)))
	}
	f.Fuzz(func(t *testing.T, stream []byte) {
		var b bytes.Buffer
		zipped := gzip.NewWriter(&b)
		if _, err := zipped.Write(stream); err != nil {
			t.Fatal(err)
		}
		if err := zipped.Close(); err != nil {
			t.Fatal(err)
		}
		files, err := chartloader.LoadArchiveFiles(bytes.NewReader(b.Bytes()))
		for _, file := range files {
			if path.IsAbs(file.Name) || strings.HasPrefix(file.Name, "..") || path.Clean(file.Name) != file.Name {
				t.Fatalf("it has the file %q", file.Name)
			}
		}
		legal, legalErr := chartloader.CanonicalArchive(b.Bytes())
		if err != nil || legalErr != nil {
			return
		}
		again, err := chartloader.CanonicalArchive(legal)
		if err != nil || !bytes.Equal(again, legal) {
			t.Fatalf("the legal form has another: %v", err)
		}
		ch, err := chartloader.LoadArchive(bytes.NewReader(b.Bytes()))
		if err == nil {
			declaration.Inspect(ch)
		}
	})
}

func unzipped(tb testing.TB, data []byte) []byte {
	tb.Helper()
	zipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		tb.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := b.ReadFrom(zipped); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// FuzzChartYAML reads any Chart.yaml. It checks that the canonical form has the same
// meaning, that converting it again changes nothing, and that a file is accepted if Helm's
// loader accepts it unchanged.
func FuzzChartYAML(f *testing.F) {
	for _, more := range []string{
		"", "runHooksInParallel: true\n", "runHooksInParallel: otherChartsOnly\nannotations: {helm.sh/run-hooks-in-parallel: 'true'}\n",
		"annotations:\n  helm.sh/depends-on/subcharts: [a, b] # c\n  depends-on.helm.sh/subcharts: '[\"c\"]'\n",
		"annotations: {helm.sh/run-hooks-in-parallel: on, helm.sh/sequencing: enabled}\n",
		"dependencies:\n- name: a\n  alias: x\n  tags: [t]\n- name: b\n  depends-on: [a, t]\n- null\n",
		"dependencies: [{name: a, depends-on: {a: b}}]\n", "annotations: {<<: {helm.sh/depends-on/subcharts: [a]}}\n",
		"annotations: &a {helm.sh/depends-on/subcharts: [*a]}\n", "annotations:\n  helm.sh/depends-on/subcharts: |\n    a,\n    b\n",
	} {
		f.Add(small+more, "")
	}
	f.Add("apiVersion: v1\nname: c\nversion: 1.0.0\n", "dependencies: [{name: a, version: '*', depends-on: a}]\n")
	f.Fuzz(func(t *testing.T, text, requirements string) {
		files := func() []*chartloader.BufferedFile {
			list := []*chartloader.BufferedFile{{Name: "Chart.yaml", Data: []byte(text)}}
			if requirements != "" {
				list = append(list, &chartloader.BufferedFile{Name: "requirements.yaml", Data: []byte(requirements)})
			}
			return list
		}
		legal, err := chartloader.CanonicalFiles(files())
		if err != nil {
			return
		}
		again, err := chartloader.CanonicalFiles(legal)
		if err != nil || !reflect.DeepEqual(again, legal) {
			t.Fatalf("the legal form\n%s\nhas another: %v", legal[0].Data, err)
		}
		ch, err := chartloader.LoadFiles(files())
		helms, helmsErr := helmloader.LoadFiles(files())
		if helmsErr == nil && err != nil {
			t.Fatalf("Helm loads it, this does not: %v", err)
		}
		if err != nil {
			return
		}
		got, problems := declaration.Inspect(ch)
		if helmsErr != nil {
			return
		}
		want, wantProblems := declaration.Inspect(helms)
		if len(problems) != len(wantProblems) || len(problems) == 0 && got.Problem == nil && want.Problem == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("the legal form says %+v, %v, and the other %+v, %v", got, problems, want, wantProblems)
		}
	})
}

// FuzzFormat loads a chart that can be of the format helm.sh/v3, as it is written or packed, with a
// subchart. It checks that packing changes nothing, for Ordered Helm and for stock Helm, that
// unpacking is the inverse, and that the original of a chart that is accepted belongs to its
// metadata.
func FuzzFormat(f *testing.F) {
	const requirements = "requirements: [{name: d, version: ^1, repository: r}]\n"
	flat := func(name string) string {
		ch, err := chartloader.LoadFiles(tree{"Chart.yaml": chartV3YAML(name, "")}.buffered())
		if err != nil {
			f.Fatal(err)
		}
		return string(ch.Raw[0].Data)
	}
	format, other := chartV3YAML("c", "data: {description: \"a\\nb\", runHooksInParallel: true}\n"), chartV3YAML("d", "")
	for _, seed := range []struct{ chart, requirements, original, originalRequirements, sub, subOriginal string }{
		{chart: format, requirements: requirements, sub: other},
		{chart: format, sub: small},
		{chart: format, sub: flat("d"), subOriginal: other},
		{chart: small, sub: other, subOriginal: other},
		{chart: flat("c"), original: chartV3YAML("c", ""), sub: small},
		{chart: flat("c"), original: chartV3YAML("c", "data: {icon: x}\n"), sub: other},
		{chart: flat("c"), original: chartV3YAML("c", ""), originalRequirements: requirements, sub: flat("d"), subOriginal: other},
		{chart: flat("c"), requirements: requirements, original: chartV3YAML("c", ""), sub: "["},
		{chart: small, requirements: requirements, original: small, originalRequirements: requirements, sub: small, subOriginal: small},
	} {
		f.Add(seed.chart, seed.requirements, seed.original, seed.originalRequirements, seed.sub, seed.subOriginal)
	}
	f.Fuzz(func(t *testing.T, chartYAML, requirements, original, originalRequirements, sub, subOriginal string) {
		files := tree{
			"Chart.yaml": chartYAML, "requirements.yaml": requirements, "Chart.v3.yaml": original, "requirements.v3.yaml": originalRequirements,
			"charts/d/Chart.yaml": sub, "charts/d/Chart.v3.yaml": subOriginal, "templates/a.yaml": "a: b\n",
		}
		for name, text := range files {
			if text == "" {
				delete(files, name)
			}
		}
		ch, err := chartloader.LoadFiles(files.buffered())
		if err != nil {
			return
		}
		checkFormat(t, files, ch)
	})
}

// checkFormat checks the properties of FuzzFormat for a chart that was loaded from files.
func checkFormat(t *testing.T, files tree, ch *chart.Chart) {
	t.Helper()
	packed := packedForm(t, files)
	again, err := chartloader.LoadFiles(packed.buffered())
	if err != nil || !reflect.DeepEqual(withoutRaw(contentOf(again)), withoutRaw(contentOf(ch))) {
		t.Fatalf("packed, it is loaded as %+v, %v", again, err)
	}
	stock, err := helmloader.LoadFiles(packed.buffered())
	if err != nil || !reflect.DeepEqual(stock.Metadata, ch.Metadata) {
		t.Fatalf("Helm loads %+v, %v", stock, err)
	}
	unpacked := tree{}
	for _, file := range chartloader.AsWritten(packed.buffered()) {
		unpacked[file.Name] = string(file.Data)
	}
	if !reflect.DeepEqual(packedForm(t, unpacked), packed) {
		t.Fatalf("unpacked, it has %q", unpacked)
	}
	for _, ch := range append(ch.Dependencies(), ch) {
		text, found := chartloader.OriginalFile(ch, chartformat.OriginalChartFile)
		if !found {
			continue
		}
		source := chartformat.Source{ChartYAML: text}
		source.Requirements, _ = chartloader.OriginalFile(ch, chartformat.OriginalRequirementsFile)
		translated, err := chartformat.Translate(source)
		if err != nil {
			t.Fatal(err)
		}
		want, err := helmloader.LoadFiles(tree{"Chart.yaml": string(translated)}.buffered())
		if err != nil || !reflect.DeepEqual(want.Metadata, ch.Metadata) {
			t.Fatalf("the original of %+v is %s%v", ch.Metadata, text, err)
		}
	}
}

// withoutRaw returns the content of a chart without the files from which it was loaded.
func withoutRaw(c content) content {
	c.Raw = nil
	for i, sub := range c.Subcharts {
		c.Subcharts[i] = withoutRaw(sub)
	}
	return c
}
