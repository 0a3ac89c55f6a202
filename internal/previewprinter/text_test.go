// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package previewprinter_test

import (
	"errors"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/internal/drift"
	"github.com/ordered-helm/helm/internal/hookorder"
	"github.com/ordered-helm/helm/internal/preview"
	"github.com/ordered-helm/helm/internal/previewprinter"
	"github.com/ordered-helm/helm/internal/testutil/golden"
)

func example() *preview.Preview {
	drifted := []drift.Field{{Path: "data.a", Declared: "x", Live: "a", Manager: "kubectl-edit"}, {Path: "data.b", Declared: "y"}}
	return &preview.Preview{
		Release: "shop", Namespace: "prod", Operation: "upgrade", Revision: 3, Ordered: true,
		First: []preview.Object{{Action: preview.Create, Kind: "Namespace", Name: "prod"}},
		Nodes: []preview.Node{
			{Node: "shop:base", Objects: []preview.Object{
				{Action: preview.Change, Kind: "ConfigMap", Namespace: "prod", Name: "a", Drift: drifted, Diff: "--- live\n+++ planned\n@@ -1 +1 @@\n-a\n+b\n"},
				{Action: preview.Fail, Kind: "Deployment", Namespace: "prod", Name: "web", Error: "refused:\nimmutable"},
				{Action: preview.Recreate, Kind: "Job", Namespace: "prod", Name: "migrate", Note: "spec.template is immutable"},
			}},
			{Node: "shop", Objects: []preview.Object{{Action: preview.Unchanged, Kind: "Service", Namespace: "prod", Name: "s"}}},
		},
		Removed: []preview.Node{{Node: "shop:old", Objects: []preview.Object{
			{Action: preview.Delete, Kind: "ConfigMap", Namespace: "prod", Name: "gone"},
			{Action: preview.Keep, Kind: "Secret", Namespace: "prod", Name: "kept", Note: "its policy"},
		}}},
		Hooks: hookorder.Plans([]*release.Hook{
			{Kind: "Job", Name: "after", Events: []release.HookEvent{release.HookPostUpgrade}},
			{Kind: "Job", Name: "before", Events: []release.HookEvent{release.HookPreUpgrade}},
		}, hookorder.ChartModes{}, nil),
	}
}

const text = `upgrade of release shop in namespace prod, to revision 3, in order: 1 to create, 1 to change, 1 to recreate, 1 to delete, 1 unchanged, 1 kept, 1 would fail

first
  + create Namespace/prod

pre-upgrade hooks
  weight 0
    - Job/before

shop:base
  ~ change ConfigMap/a in prod
      drift: data.a: declared x, is a (kubectl-edit)
      drift: data.b: declared y, is missing
      @@ -1 +1 @@
      -a
      +b
  ! would fail Deployment/web in prod
      refused:
      immutable
  ± recreate Job/migrate in prod (spec.template is immutable)

shop
  = unchanged Service/s in prod

no longer in the chart, in order of deletion

shop:old
  - delete ConfigMap/gone in prod
  = keep Secret/kept in prod (its policy)

post-upgrade hooks
  weight 0
    - Job/after
`

func TestText(t *testing.T) {
	var b strings.Builder
	if err := previewprinter.Text(&b, example(), previewprinter.Options{All: true}); err != nil || b.String() != text {
		t.Errorf("%v, got:\n%s\nwant:\n%s", err, b.String(), text)
	}
	b.Reset()
	if err := previewprinter.Text(&b, &preview.Preview{Release: "x", Namespace: "y", Operation: "install", Revision: 1}, previewprinter.Options{All: true}); err != nil ||
		b.String() != "install of release x in namespace y, to revision 1, without an order: nothing to do\n" {
		t.Errorf("%v, got %q", err, b.String())
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestTextReportsAFailingWriter(t *testing.T) {
	if err := previewprinter.Text(broken{}, example(), previewprinter.Options{All: true}); err == nil {
		t.Error("no error")
	}
}

// TestRepeatedErrors checks that an error that several objects have is printed once.
func TestRepeatedErrors(t *testing.T) {
	p := &preview.Preview{Release: "shop", Namespace: "prod", Operation: "upgrade", Revision: 3}
	for _, node := range []string{"shop:a", "shop:b"} {
		p.Nodes = append(p.Nodes, preview.Node{Node: node, Objects: []preview.Object{
			{Action: preview.Fail, Kind: "Service", Namespace: "other", Name: node[5:], Error: `namespaces "other" not found`},
			{Action: preview.Create, Kind: "Job", Namespace: "prod", Name: node[5:]},
		}})
	}
	const want = `upgrade of release shop in namespace prod, to revision 3, without an order: 2 to create, 2 would fail

shop:a
  ! would fail Service/a in other
      namespaces "other" not found
  + create Job/a in prod

shop:b
  ! would fail Service/b in other
      the same error as for Service/a
  + create Job/b in prod
`
	var b strings.Builder
	if err := previewprinter.Text(&b, p, previewprinter.Options{All: true}); err != nil || b.String() != want {
		t.Errorf("%v, got:\n%s\nwant:\n%s", err, b.String(), want)
	}
}

// TestLongErrorsKeepTheirEnd checks that the middle of a long error of the server is
// removed.
func TestLongErrorsKeepTheirEnd(t *testing.T) {
	p := &preview.Preview{Nodes: []preview.Node{{Node: "shop", Objects: []preview.Object{
		{Action: preview.Fail, Kind: "Job", Name: "j", Error: "Job is invalid: " + strings.Repeat("ü", 5000) + ": field is immutable"},
	}}}}
	var b strings.Builder
	if err := previewprinter.Text(&b, p, previewprinter.Options{All: true}); err != nil {
		t.Fatal(err)
	}
	if got := b.String(); len(got) > 2500 || !strings.Contains(got, "      Job is invalid: ü") || !strings.Contains(got, "ü … ü") || !strings.Contains(got, "ü: field is immutable\n") {
		t.Errorf("got:\n%s", got)
	}
}

// TestChartSteps checks where a plan lists external dependencies, the hooks of charts, and the resources that do not take
// part.
func TestChartSteps(t *testing.T) {
	hook := func(chart, name string, event release.HookEvent) *release.Hook {
		return &release.Hook{Kind: "Job", Name: name, Path: chart, Events: []release.HookEvent{event}}
	}
	object := func(kind, name string) []preview.Object {
		return []preview.Object{{Action: preview.Unchanged, Kind: kind, Name: name}}
	}
	p := &preview.Preview{
		Release: "shop", Namespace: "prod", Operation: "upgrade", Revision: 3, Ordered: true,
		External: []preview.External{
			{Dependency: "Secret/registry", Chart: "shop/web", Node: "shop/web:front", Ready: true, State: "Ready"},
			{Dependency: "release:dns", Chart: "shop/web", State: "Missing", Message: "there is no release dns in namespace prod"},
		},
		Nodes: []preview.Node{
			{Node: "shop/db:storage", Objects: object("StatefulSet", "db")}, {Node: "shop/dbx", Objects: object("ConfigMap", "x")},
			{Node: "shop/db/proxy", Objects: object("Deployment", "proxy")}, {Node: "shop/web:front", Objects: object("Deployment", "web")},
		},
		Skipped: []preview.Object{{Action: preview.Skip, Kind: "Job", Name: "seed", Namespace: "prod", Note: "helm.sh/deploy-on: install"}},
		Hooks: hookorder.Plans([]*release.Hook{
			hook("shop", "check", release.HookPreUpgrade), hook("shop/db", "backup", release.HookPreUpgrade), hook("shop/db", "migrate", release.HookPostUpgrade),
			hook("shop/db/proxy", "reload", release.HookPostUpgrade), hook("shop/mail", "queue", release.HookPreUpgrade), hook("shop", "notify", release.HookPostUpgrade),
		}, hookorder.ChartModes{ChartOf: func(h *release.Hook) string { return h.Path }}, func(chart string) string {
			return map[string]string{"shop/db": "shop/db", "shop/db/proxy": "shop/db/proxy", "shop/mail": "shop/mail"}[chart]
		}),
	}
	var b strings.Builder
	if err := previewprinter.Text(&b, p, previewprinter.Options{All: true}); err != nil {
		t.Fatal(err)
	}
	golden.Assert(t, b.String(), "chart-steps.txt")
}

// TestChangesOnly checks that unchanged objects, and nodes without others, are left out.
func TestChangesOnly(t *testing.T) {
	p := example()
	p.Nodes[0].Objects = append(p.Nodes[0].Objects, preview.Object{Action: preview.Unchanged, Kind: "ConfigMap", Name: "same"},
		preview.Object{Action: preview.Rename, Kind: "Job", Name: "migrate-3", Was: "migrate-2", Namespace: "prod"})
	var b strings.Builder
	if err := previewprinter.Text(&b, p, previewprinter.Options{}); err != nil {
		t.Fatal(err)
	}
	golden.Assert(t, b.String(), "changes-only.txt")
}
