// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"io"
	"log"
	"os"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/releaseutil"

	"github.com/ordered-helm/helm/internal/yamledit"
)

// FuzzSortLikeHelm checks, for any template without annotations of Ordered Helm, that its
// documents are sorted into hooks and other documents as Helm does.
func FuzzSortLikeHelm(f *testing.F) {
	for _, seed := range []string{
		"kind: Zebra\n---\nkind: Ant\nn: 1\n---\nkind: Service\n---\nkind: Ant\nn: 2\n---\nkind: Namespace\n---\n# nothing\n",
		"kind: ConfigMap\nKind: Service\n---\nkind: Service\n---\nKIND: Secret\napiVersion: v1",
		"kind: Job\nmetadata: {annotations: {helm.sh/hook: pre-install, weight: 1}}\n---\nkind: Service\nmetadata: {annotations: {a: true}}",
		"kind: Job\nMetadata: {annotations: {helm.sh/hook: pre-install}}\n---\nkind: Job\nmetadata: {Annotations: {helm.sh/hook: test}}",
		`{"kind": "Job", "metadata": {"annotations": {"helm.sh\/hook": "pre-install"}}}`,
		"kind: Job\nmetadata: {annotations: {helm.sh/hook: soon}}\n---\nkind: Job\nmetadata: {annotations: {helm.sh/hook: 'post-delete, test'}}",
		"kind: Service\nmetadata: null\n---\nkind: Job\nmetadata: {annotations: null, name: 3}\n---\nkind: 7\n---\nkind: [a]",
		"------0", "---\n---\nkind: Service\n---\n---\n---\nkind: Job\n--- # c\n--- \nkind: Pod", "text\n---\nkind: Service", "- a", "kind: Service\nspec: {port: 1.5}\n---\n1: a\nkind: Job",
		"\ufeffkind: Service\n---\nkind: Job", "a: &a {helm.sh/hook: test}\nkind: Pod\nmetadata: {annotations: *a}\n---\nkind: Job\nmetadata: {annotations: {<<: {helm.sh/hook: test}}}",
	} {
		f.Add(seed)
	}
	p := prepare(f, inFiles(map[string]string{"x": ""}))
	log.SetOutput(io.Discard)
	f.Cleanup(func() { log.SetOutput(os.Stderr) })
	f.Fuzz(func(t *testing.T, text string) {
		lower := strings.ToLower(text)
		for _, ours := range []string{"helm.sh/depends", "depends-on.helm.sh", "readiness-", "helm.sh/layer", "resource-group", "runhooks", "crd-install", "test-failure", "hook-delete-timeout"} {
			if strings.Contains(lower, ours) {
				return
			}
		}
		for _, doc := range releaseutil.SplitManifests(text) {
			if yamledit.CheckAliases(doc) != nil {
				return
			}
		}
		hooks, manifests, want := releaseutil.SortManifests(map[string]string{"shop/templates/x": text}, nil, releaseutil.InstallOrder)
		p.chart.Templates[0].Data = []byte(literalTemplate(text))
		r, err := p.render()
		switch {
		case want == nil && err == nil:
			compare(t, r, hooks, manifests)
		case want == nil || err == nil || want.Error() != err.Error():
			t.Fatalf("got %v, want %v", err, want)
		}
	})
}
