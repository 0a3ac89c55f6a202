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

	helmloader "helm.sh/helm/v3/pkg/chart/loader"

	"github.com/ordered-helm/helm/internal/chartloader"
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
			chartloader.InspectDeclarations(ch)
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
		got, problems := chartloader.InspectDeclarations(ch)
		if helmsErr != nil {
			return
		}
		want, wantProblems := chartloader.InspectDeclarations(helms)
		if len(problems) != len(wantProblems) || len(problems) == 0 && got.Problem == nil && want.Problem == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("the legal form says %+v, %v, and the other %+v, %v", got, problems, want, wantProblems)
		}
	})
}
