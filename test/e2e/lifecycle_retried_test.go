// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
)

// TestLifecycleRetried tries again what the server has refused: it is refused again,
// in order or without, until it is mended.
func TestLifecycleRetried(t *testing.T) {
	t.Parallel()
	const secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: first, annotations: {helm.sh/layer: first}}\nstringData: {value: VALUE}\n"
	workload := func(tb testing.TB, value, quoted string) string {
		tb.Helper()
		dir := three(tb, value)
		charts.Edit(tb, dir, "templates/all.yaml", `name: V, value: "`+value+`"`, "name: V, value: "+quoted)
		return dir
	}
	hidden := func(tb testing.TB, _, quoted string) string {
		tb.Helper()
		return charts.WriteTemplate(tb, strings.Replace(secret, "VALUE", quoted, 1))
	}
	for name, c := range map[string]struct {
		chart func(tb testing.TB, value, quoted string) string
		id    string
		again []string
	}{
		"a workload, in order":    {chart: workload, id: "Deployment/app", again: []string{"--wait=ordered"}},
		"a workload, all at once": {chart: workload, id: "Deployment/app"},
		"a secret, in order":      {chart: hidden, id: "Secret/first", again: []string{"--wait=ordered"}},
		"a secret, all at once":   {chart: hidden, id: "Secret/first"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHelm(t)
			h.ok("install", "rel", c.chart(t, "1", `"1"`), "--wait=ordered")
			before := h.get(t, c.id)
			refused := c.chart(t, "8080", "8080")
			h.fails(t, []string{"upgrade", "rel", refused, "--wait=ordered"}, "cannot unmarshal number")
			for range 2 {
				h.fails(t, append([]string{"upgrade", "rel", refused}, c.again...), "cannot unmarshal number")
			}
			h.expectStatuses(t, "rel", "deployed failed failed failed")
			if got := h.get(t, c.id); valueOf(got) != valueOf(before) {
				t.Errorf("%s has the value %q, want %q", c.id, valueOf(got), valueOf(before))
			}
			h.ok(append([]string{"upgrade", "rel", c.chart(t, "8080", `"8080"`)}, c.again...)...)
			if got := valueOf(h.get(t, c.id)); got == valueOf(before) {
				t.Errorf("%s still has the value %q", c.id, got)
			}
		})
	}
}
