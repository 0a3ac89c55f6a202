// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"path/filepath"
	"testing"

	"github.com/ordered-helm/helm/internal/testutil/formatcharts"
	"github.com/ordered-helm/helm/test/bench/report"
)

// BenchmarkTemplateOfFormat runs `helm template` for flat charts and for the same charts in the format
// helm.sh/v3, as directories and packaged. It needs no cluster.
func BenchmarkTemplateOfFormat(b *testing.B) {
	helm := ours(b, nil)
	flat, format := tool{name: report.Flat}, tool{name: report.Format}
	archive, flags := stackChart(b)
	for _, chart := range []namedChart{
		{name: "one object", path: writeChart(b, "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\n")},
		{name: "30 subcharts", path: random(30).subcharts(b)},
		{"kube-prometheus-stack", archive, flags},
	} {
		if chart.path == "" {
			continue
		}
		flatDir, formatDir := inBothFormats(b, chart.path)
		flat.steps = append(flat.steps, templates(b, helm, chart, flatDir)...)
		format.steps = append(format.steps, templates(b, helm, chart, formatDir)...)
	}
	const rounds = 100 // the difference is small
	measure(b, nil, workload{
		name: report.FormatName, title: "Chart format helm.sh/v3",
		about: "`helm template` of flat charts (*ours, flat*) and of the same charts, with their subcharts, rewritten in the format helm.sh/v3 " +
			"(*ours, helm.sh/v3*). No cluster is used.",
		base: []string{report.Flat}, tools: []tool{flat, format}, rounds: rounds,
	})
}

// inBothFormats writes the files of a flat chart to a directory, and the same chart in the format
// helm.sh/v3 to another one.
func inBothFormats(b *testing.B, chart string) (flat, format string) {
	b.Helper()
	files, err := formatcharts.Read(chart)
	if err != nil {
		b.Fatal(err)
	}
	rewritten, err := formatcharts.Rewrite(files, formatcharts.BelowRequirements)
	if err != nil {
		b.Fatal(err)
	}
	return writeFiles(b, files), writeFiles(b, rewritten)
}

// templates returns the steps that render a chart from its directory and from its archive.
func templates(b *testing.B, helm program, chart namedChart, dir string) []step {
	b.Helper()
	render := func(name, path string) step {
		return helm.does(report.RenderStep(name), append([]string{"template", "rel", path}, chart.flags...)...)
	}
	return []step{render(chart.name, dir), render(chart.name+", packaged", packaged(b, helm, dir))}
}

// packaged returns the archive into which a program packages a chart.
func packaged(b *testing.B, p program, chart string) string {
	b.Helper()
	dir := b.TempDir()
	if _, err := p.run(b.Context(), "package", chart, "--destination", dir); err != nil {
		b.Fatal(err)
	}
	archives, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil {
		b.Fatal(err)
	}
	return archives[0]
}
