// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"io"
	"log"
	"os"
	"slices"
	"testing"

	"github.com/ordered-helm/helm/internal/chartloader"
	"github.com/ordered-helm/helm/internal/lint/helmrules"
	"github.com/ordered-helm/helm/internal/lint/rule"
)

// FuzzOrder checks arbitrary charts. Every finding must have the name of an existing rule,
// and be in an existing file.
func FuzzOrder(f *testing.F) {
	const chart = "apiVersion: v3\nname: c\nversion: 1.0.0\n"
	for _, seed := range [][3]string{
		{chart, "a: b\n", "kind: Job\nmetadata: {name: j, annotations: {helm.sh/layer: a, helm.sh/depends-on/layers: [b]}}\n"},
		{chart + "annotations: {helm.sh/depends-on/subchart: [x], helm.sh/layer: 1, other: 2}\nrunHooksInParalel: true\n", "", "kind: List\nitems: [{kind: A, metadata: {name: {{ .Values.x }}}}]"},
		{chart + "dependencies: [{name: d, version: '*', depend-on: e}, null, {depends-on: 1}]\n", "d: {enabled: false}\n", "{{ range $i := list 1 2 }}\n---\nkind: Pod\nmetadata:\n  name: p{{ $i }}\n  annotations:\n    helm.sh/hook: crd-install\n    helm.sh/readiness-success: '{.status.a} == 1'\n{{ end }}"},
		{"apiVersion: v2\nname: c\nversion: 1.0.0\nannotations: {helm.sh/sequencing: enabled}\n", "&a {b: *a}", "kind: A\nmetadata: {annotations: &a {helm.sh/layer: x, b: *a}}"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	log.SetOutput(io.Discard)
	f.Cleanup(func() { log.SetOutput(os.Stderr) })
	f.Fuzz(func(t *testing.T, chart, values, template string) {
		files := []*chartloader.BufferedFile{
			{Name: "Chart.yaml", Data: []byte(chart)}, {Name: "values.yaml", Data: []byte(values)}, {Name: "templates/a.yaml", Data: []byte(template)},
		}
		canonical, err := helmrules.CanonicalFiles(files)
		if err != nil {
			canonical = nil
		}
		i, err := inspect(t.Context(), helmrules.Files{Dir: t.TempDir(), Original: files, Canonical: canonical}, RenderOptions{Namespace: "test"})
		if err != nil {
			t.Fatal(err)
		}
		for _, finding := range i.sorted() {
			known := slices.ContainsFunc(rule.All(), func(r rule.Rule) bool { return r.Name == finding.Rule })
			if !known || !slices.ContainsFunc(files, func(b *chartloader.BufferedFile) bool { return b.Name == finding.File }) {
				t.Fatalf("got %+v", finding)
			}
		}
	})
}
