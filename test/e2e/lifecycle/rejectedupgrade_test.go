// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestLifecycleRejectedUpgradeIsRepeated checks that an upgrade that the API server has
// rejected is rejected again when it is repeated, both with --wait=ordered and without, until
// the chart is corrected.
func TestLifecycleRejectedUpgradeIsRepeated(t *testing.T) {
	t.Parallel()
	const secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: first, annotations: {helm.sh/layer: first}}\nstringData: {value: VALUE}\n"
	workload := func(tb testing.TB, value, quoted string) string {
		tb.Helper()
		dir := charts.ThreeLayers(tb, value)
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
			h := harness.New(t)
			h.MustRun("install", "rel", c.chart(t, "1", `"1"`), "--wait=ordered")
			before := h.Get(t, c.id)
			refused := c.chart(t, "8080", "8080")
			h.ExpectFailure(t, []string{"upgrade", "rel", refused, "--wait=ordered"}, "cannot unmarshal number")
			for range 2 {
				h.ExpectFailure(t, append([]string{"upgrade", "rel", refused}, c.again...), "cannot unmarshal number")
			}
			h.ExpectStatuses(t, "rel", "deployed failed failed failed")
			if got := h.Get(t, c.id); harness.ValueOf(got) != harness.ValueOf(before) {
				t.Errorf("%s has the value %q, want %q", c.id, harness.ValueOf(got), harness.ValueOf(before))
			}
			h.MustRun(append([]string{"upgrade", "rel", c.chart(t, "8080", `"8080"`)}, c.again...)...)
			if got := harness.ValueOf(h.Get(t, c.id)); got == harness.ValueOf(before) {
				t.Errorf("%s still has the value %q", c.id, got)
			}
		})
	}
}
