// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package ordering

import (
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestOrderDoesNotChangeObjects installs the same chart with stock Helm, and with Ordered Helm
// with and without an order. It checks that the contents of the objects are the same, and that
// upgrades between them change nothing.
func TestOrderDoesNotChangeObjects(t *testing.T) {
	t.Parallel()
	const config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME, annotations: {helm.sh/layer: NAME}}\ndata:\n  f: "
	named := func(name, block string) string { return strings.ReplaceAll(config, "NAME", name) + block }
	chart := charts.WriteFiles(t, map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: app\nversion: 1.0.0\nannotations: {helm.sh/sequencing: enabled}\n",
		"templates/a.yaml": named("kept", "|\n    hello\n") + "---\n" + named("stripped", "|-\n    hello\n") + "---\n" +
			named("all-kept", "|+\n    hello\n\n\n") + "---\n" + named("folded", ">\n    hello\n    again\n"),
		"templates/list.yaml": "apiVersion: v1\nkind: ConfigMapList\nitems:\n- metadata: {name: item, annotations: {helm.sh/layer: item}}\n  data:\n    f: |\n      hello\n",
		"templates/last.yaml": named("last", "|\n    hello"),
	})
	data := func(h *harness.Helm) string {
		return kubectl(h, "", "get", "configmaps", "--selector=app.kubernetes.io/managed-by=Helm", "-o",
			`jsonpath={range .items[*]}{.metadata.name}{.data}{"\n"}{end}`)
	}
	stock := harness.New(t)
	stock.MustRunStock(t, "install", "app", chart)
	want := data(stock)
	if !strings.Contains(want, `kept{"f":"hello\n"}`) || strings.Count(want, "\n") != 6 {
		t.Fatalf("stock Helm makes:\n%s", want)
	}
	for _, flag := range []string{"--wait=ordered", "--wait=false"} {
		h := harness.New(t)
		h.MustRun("install", "app", chart, flag)
		if got := data(h); got != want {
			t.Errorf("with %s:\n%swant:\n%s", flag, got, want)
		}
		if out := stock.MustRun("plan", "app", chart, flag).Stdout; strings.Contains(out, "~ change") {
			t.Errorf("after stock Helm, with %s:\n%s", flag, out)
		}
	}
	stock.MustRun("upgrade", "app", chart, "--wait=ordered")
	if got := data(stock); got != want {
		t.Errorf("upgraded in order:\n%swant:\n%s", got, want)
	}
}
