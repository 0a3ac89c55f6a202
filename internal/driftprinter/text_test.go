// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package driftprinter_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ordered-helm/helm/internal/drift"
	"github.com/ordered-helm/helm/internal/driftprinter"
)

const text = `release shop in namespace prod, revision 3: 1 changed, 1 missing, 1 unknown, 4 unchanged

  ~ changed Deployment/web in prod (it now belongs to release other in namespace prod)
      spec.replicas: declared 3, is 5 (kubectl-edit, 2026-11-27 20:51 UTC)
      spec.paused: declared false, is missing
      data.text: declared "", is "a\nb" (kubectl)
      spec.list: declared [1,"a"], is {"a":1}
      metadata.labels.x: not declared, is y z
      data.long: declared ` + "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…" + `, is *** (changed)

  - missing ConfigMap/settings in prod

  ? unknown Widget/w

release cart in namespace prod, revision 1: no drift, 2 unchanged
release old in namespace prod: not compared
`

// TestText checks the text about several releases.
func TestText(t *testing.T) {
	at := time.Date(2026, 11, 27, 20, 51, 7, 0, time.UTC)
	shop := &drift.Report{Release: "shop", Namespace: "prod", Revision: 3, Unchanged: 4, Objects: []drift.Object{
		{Kind: "Deployment", Namespace: "prod", Name: "web", State: drift.Changed, Note: "it now belongs to release other in namespace prod", Fields: []drift.Field{
			{Path: "spec.replicas", Declared: int64(3), Live: int64(5), Manager: "kubectl-edit", Time: &at},
			{Path: "spec.paused", Declared: false},
			{Path: "data.text", Declared: "", Live: "a\nb", Manager: "kubectl"},
			{Path: "spec.list", Declared: []any{int64(1), "a"}, Live: map[string]any{"a": int64(1)}},
			{Path: "metadata.labels.x", Live: "y z"},
			{Path: "data.long", Declared: strings.Repeat("a", 100), Live: "*** (changed)"},
		}},
		{Kind: "ConfigMap", Namespace: "prod", Name: "settings", State: drift.Missing},
		{Kind: "Widget", Name: "w", State: drift.Unknown, Error: "its kind is gone"},
	}}
	var out strings.Builder
	err := driftprinter.Text(&out, []*drift.Report{shop, {Release: "cart", Namespace: "prod", Revision: 1, Unchanged: 2}, {Release: "old", Namespace: "prod", Error: "it is locked"}})
	if err != nil || out.String() != text {
		t.Errorf("got %v\n%s\nwant\n%s", err, out.String(), text)
	}
	if got := shop.Objects[0].Cause(); got != "spec.replicas, spec.paused, data.text and 3 more, set by kubectl and kubectl-edit" {
		t.Errorf("got the cause %q", got)
	}
}
