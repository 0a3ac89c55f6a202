// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestLifecycleInvalidValues installs and upgrades a chart with values that the schema of a
// subchart rejects. Nothing may be changed, not even the CRDs of the chart.
func TestLifecycleInvalidValues(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	group := h.Namespace + ".example.com"
	chart := charts.WriteFiles(t, map[string]string{
		"Chart.yaml":                   "apiVersion: helm.sh/v3\nkind: Chart\nmetadata: {name: shop, labels: {version: 0.1.0}}\ndata: {dependencies: [{name: db, version: 0.1.0}]}\n",
		"crds/gadget.yaml":             charts.Definition(group, "Gadget").Manifest(),
		"templates/all.yaml":           charts.ConfigMap("shop"),
		"templates/hook.yaml":          charts.ConfigMap("hook", "helm.sh/hook: 'pre-install,pre-upgrade'"),
		"charts/db/Chart.yaml":         "apiVersion: v2\nname: db\nversion: 0.1.0\n",
		"charts/db/values.yaml":        "port: 1\n",
		"charts/db/values.schema.yaml": "properties: {port: {$ref: 'schemas/port.yaml'}}\n",
		"charts/db/schemas/port.yaml":  "type: integer\n",
	})
	values := charts.WriteFiles(t, map[string]string{"values.yaml": "db: {port: http}\n"}) + "/values.yaml"
	const want = "shop/charts/db:\n- at '/db/port': got string, want integer"
	rejected := func(args ...string) {
		t.Helper()
		from := harness.Now()
		h.ExpectFailure(t, args, want)
		for _, e := range h.Cluster.Audit(t) {
			isWrite := e.Verb != "get" && e.Verb != "list" && e.Verb != "watch" && strings.HasPrefix(e.UserAgent, "Helm/")
			if isWrite && !e.Received.Before(from) && (e.Namespace == h.Namespace || strings.Contains(string(e.Request), group)) {
				t.Errorf("%q: %s %s %s", args, e.Verb, e.Resource, e.Name)
			}
		}
	}
	for _, wait := range []string{"--wait=true", "--wait=ordered"} {
		rejected("install", "rel", chart, "--values", values, wait)
	}
	h.ExpectNoReleases(t)
	h.MustRun("install", "rel", chart)
	rejected("upgrade", "rel", chart, "--values", values, "--wait=ordered")
	h.ExpectStatuses(t, "rel", "deployed")
}
