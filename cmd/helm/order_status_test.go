// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/cli/output"
	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/pkg/action"
)

const damagedRecord = "the order record of release shop, revision 3, cannot be used: unexpected end of JSON input"

// damage makes the order record of a revision unreadable.
func damage(t *testing.T, rel *release.Release) {
	t.Helper()
	i := slices.IndexFunc(rel.Chart.Files, func(f *chart.File) bool { return strings.HasSuffix(f.Name, "record.json") })
	if i < 0 {
		t.Fatal("there is no record to damage")
	}
	rel.Chart.Files[i].Data = []byte("{")
}

// storeHistory stores a release with four revisions. The first was deployed without an order,
// the second in order. The third has an unreadable order record. The fourth is a rollback to
// the second by a program that does not support ordering.
func storeHistory(t *testing.T) string {
	t.Helper()
	revisions := []*release.Release{
		revision(t, 1, action.WaitStrategyNone), revision(t, 2, action.WaitStrategyOrdered), revision(t, 3, action.WaitStrategyOrdered), revision(t, 4, action.WaitStrategyNone),
	}
	damage(t, revisions[2])
	revisions[3].Chart = revisions[1].Chart
	for _, rel := range revisions[:3] {
		rel.Info.Status = release.StatusSuperseded
	}
	return store(t, revisions...)
}

func TestOrderInOutput(t *testing.T) {
	t.Setenv("HELM_DRIVER", "memory")
	t.Setenv("HELM_MEMORY_DRIVER_DATA", storeHistory(t))
	tests := []struct {
		line  string
		has   []string // in this order
		lacks []string
	}{
		{line: "status shop --revision 1", has: []string{"STATUS: superseded\nREVISION: 1\nTEST SUITE: None\n"}, lacks: []string{"ORDER"}},
		{line: "status shop --revision 1 -o json", has: []string{`"name":"shop"`}, lacks: []string{"order"}},
		{line: "status shop --revision 2", has: []string{"REVISION: 2\nORDER: ordered, 2 nodes\nTEST SUITE: None\n"}},
		{line: "status shop --revision 2 --show-desc", has: []string{"REVISION: 2\nORDER: ordered, 2 nodes\nDESCRIPTION: Install complete\n"}},
		{line: "status shop --revision 2 -o json", has: []string{`"name":"shop"`, `,"order":{"ordered":true,"nodes":2}}`}, lacks: []string{"record"}},
		{line: "status shop --revision 2 -o yaml", has: []string{"name: shop\n", "order:\n  nodes: 2\n  ordered: true\n"}},
		{line: "status shop --revision 3", has: []string{"REVISION: 3\nORDER: unknown (" + damagedRecord + ")\n"}},
		{line: "status shop --revision 3 -o json", has: []string{`"order":{"error":"` + damagedRecord + `"}`}},
		{line: "get metadata shop --revision 1", has: []string{"REVISION: 1\n", "DEPLOYED_AT: 2026-01-01T12:00:00Z\n"}, lacks: []string{"ORDERED"}},
		{line: "get metadata shop --revision 1 -o json", has: []string{`"deployedAt":"2026-01-01T12:00:00Z"}`}},
		{line: "get metadata shop --revision 2", has: []string{"DEPLOYED_AT: 2026-01-02T12:00:00Z\nORDERED: true\n"}},
		{line: "get metadata shop --revision 2 -o json", has: []string{`"deployedAt":"2026-01-02T12:00:00Z","ordered":true}`}},
		{line: "get metadata shop --revision 2 -o yaml", has: []string{"ordered: true\n"}},
		{line: "get metadata shop --revision 3", has: []string{"DEPLOYED_AT: 2026-01-03T12:00:00Z\nORDERED: unknown (" + damagedRecord + ")\n"}},
		{line: "get metadata shop --revision 3 -o json", has: []string{`,"orderError":"` + damagedRecord + `"}`}},
		{line: "status shop", has: []string{"REVISION: 4\nORDER: ignored (rolled back by another program; uninstalled in reverse order), 2 nodes\n"}},
		{line: "status shop -o json", has: []string{`"order":{"ordered":false,"nodes":2}}`}},
		{line: "get metadata shop", has: []string{"REVISION: 4\n", "ORDERED: ignored\n"}},
		{line: "get metadata shop -o json", has: []string{`"revision":4`, `"orderIgnored":true`}, lacks: []string{`"ordered"`}},
	}
	for _, tt := range tests {
		t.Run(tt.line, func(t *testing.T) {
			got := runHelm(t, strings.Fields(tt.line)...)
			if got.code != 0 || got.stderr != "" || !containsInOrder(got.stdout, tt.has) {
				t.Errorf("%+v\nhas not, in this order: %q", got, tt.has)
			}
			for _, part := range tt.lacks {
				if strings.Contains(got.stdout, part) {
					t.Errorf("%q is in:\n%s", part, got.stdout)
				}
			}
		})
	}
}

func TestOrderStatus(t *testing.T) {
	rel := &release.Release{Name: "shop", Namespace: "default", Version: 4, Info: &release.Info{Status: release.StatusFailed}}
	tests := []struct {
		name        string
		order       *action.Order // nil if it is unknown
		table, json string
	}{
		{name: "complete", order: &action.Order{Followed: true, Nodes: 7},
			table: "ordered, 7 nodes", json: `{"ordered":true,"nodes":7}`},
		{name: "one node", order: &action.Order{Followed: true, Nodes: 1},
			table: "ordered, 1 node", json: `{"ordered":true,"nodes":1}`},
		{name: "interrupted", order: &action.Order{Followed: true, Nodes: 7, Interrupted: true, Done: []string{"shop", "shop/web"}},
			table: "ordered, 2 of 7 nodes done", json: `{"ordered":true,"nodes":7,"interrupted":true,"done":["shop","shop/web"]}`},
		{name: "interrupted in a node", order: &action.Order{Followed: true, Nodes: 7, Interrupted: true, At: []string{"shop:web"}},
			table: "ordered, 0 of 7 nodes done, not finished: shop:web", json: `{"ordered":true,"nodes":7,"interrupted":true,"at":["shop:web"]}`},
		{name: "interrupted before anything was done", order: &action.Order{Followed: true, Nodes: 1, Interrupted: true},
			table: "ordered, 0 of 1 node done", json: `{"ordered":true,"nodes":1,"interrupted":true}`},
		{name: "half deleted", order: &action.Order{Followed: true, Nodes: 7, Interrupted: true, Removing: true, Done: []string{"shop"}},
			table: "ordered, 1 of 7 nodes deleted", json: `{"ordered":true,"nodes":7,"removing":true,"interrupted":true,"done":["shop"]}`},
		{name: "copied", order: &action.Order{Nodes: 7},
			table: "ignored (rolled back by another program; uninstalled in reverse order), 7 nodes", json: `{"ordered":false,"nodes":7}`},
		{name: "unknown", table: "unknown (it is torn)", json: `{"error":"it is torn"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			note := &orderStatus{Order: tt.order}
			if tt.order == nil {
				note.Error = "it is torn"
			}
			printer := &releasePrinter{release: rel, order: note}
			var table, json bytes.Buffer
			if err := output.Table.Write(&table, printer); err != nil {
				t.Fatal(err)
			}
			if err := output.JSON.Write(&json, printer); err != nil {
				t.Fatal(err)
			}
			want := "NAME: shop\nNAMESPACE: default\nSTATUS: failed\nREVISION: 4\nORDER: " + tt.table + "\nTEST SUITE: None\n"
			if table.String() != want {
				t.Errorf("got:\n%swant:\n%s", &table, want)
			}
			if !strings.HasSuffix(strings.TrimSpace(json.String()), `,"order":`+tt.json+"}") {
				t.Errorf("%s does not end with the order %s", &json, tt.json)
			}
		})
	}
}
