// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestScripts deploys the example chart with scripts, in order, in all operations.
func TestScripts(t *testing.T) {
	h := harness.New(t)
	chart := harness.ExampleChart(t, "scripts")
	t.Cleanup(func() { // the definition is not part of a release
		_ = h.Resource("apiextensions.k8s.io/v1", "CustomResourceDefinition").Delete(t.Context(), "databases.scripts.example.com", metav1.DeleteOptions{})
	})
	accept := []string{"--accept-perms", "cluster"}
	setPhase := func(phase string) {
		t.Helper()
		_, err := h.Resource("scripts.example.com/v1", "Database").Patch(t.Context(), "shop", types.MergePatchType,
			[]byte(`{"status": {"phase": "`+phase+`"}}`), metav1.PatchOptions{})
		harness.NoError(t, err)
	}
	expectTeam := func(want string) {
		t.Helper()
		database, err := h.Resource("scripts.example.com/v1", "Database").Get(t.Context(), "shop", metav1.GetOptions{})
		harness.NoError(t, err)
		for _, object := range []*unstructured.Unstructured{database, h.Get(t, "Deployment/shop-web")} {
			if got := object.GetLabels()["example.com/team"]; got != want {
				t.Errorf("%s/%s belongs to the team %q, want %q", object.GetKind(), object.GetName(), got, want)
			}
		}
	}

	refused := []string{`the scripts of chart "scripts/charts/database" ask for permissions that were not accepted: cluster`, "--accept-perms cluster"}
	h.ExpectFailure(t, []string{"install", "shop", chart, "--wait=ordered"}, refused...)
	h.ExpectFailure(t, []string{"install", "shop", chart, "--wait=ordered", "--accept-perms", "network"}, refused...)
	h.ExpectNoReleases(t)

	install := append([]string{"install", "shop", chart, "--wait=ordered"}, accept...)
	h.ExpectFailure(t, append(install, "--set", "environment=production"),
		`chart "scripts": ext/lua/check.lua:4: production needs at least 2 replicas: increase the value replicas`, "ext/lua/check.lua:4: in function <ext/lua/check.lua:2>")
	h.ExpectNoReleases(t)

	file := filepath.Join(t.TempDir(), "timeline.json")
	// The website is deployed after the database is ready, which a script decides.
	h.MustRunWhile(t, "scripts/database: waiting for handlers of scripts/charts/database", func() {
		if web, _ := h.Resource("apps/v1", "Deployment").Get(t.Context(), "shop-web", metav1.GetOptions{}); web != nil {
			t.Error("the website is deployed before the database is ready")
		}
		setPhase("Running")
	}, append(install, "--timeline", file)...)
	expectTeam("checkout")
	timeline, err := os.ReadFile(file)
	harness.NoError(t, err)
	harness.ExpectContains(t, string(timeline), `"kind": "handler",`, `"id": "scripts/charts/database",`, `"handlerEvent": "wait",`)

	h.MustRun(append([]string{"upgrade", "shop", chart, "--wait=ordered", "--set", "team=search"}, accept...)...)
	expectTeam("search")

	h.ExpectFailure(t, []string{"rollback", "shop"}, refused...)
	expectTeam("search")
	h.MustRun(append([]string{"rollback", "shop", "1"}, accept...)...)
	expectTeam("checkout")

	// A handler that fails ends the operation.
	setPhase("Failed")
	h.ExpectFailure(t, append([]string{"upgrade", "shop", chart, "--wait=ordered", "--set", "team=broken"}, accept...),
		"chart scripts/charts/database is not ready", "ext/lua/wait.lua:7: the database cannot be started", "| output:", "the database is in the phase", "Failed",
		"skipped (blocked by this failure): scripts")
	h.ExpectStatuses(t, "shop", "superseded superseded deployed failed")

	h.ExpectFailure(t, []string{"uninstall", "shop"}, refused...)
	h.ExpectStatuses(t, "shop", "superseded superseded deployed failed")
	h.MustRun("uninstall", "shop", "--no-scripts")
	h.ExpectEmptyNamespace(t)
}

// TestScriptsShowNoSecrets checks that the contents of Secrets that pass through scripts are masked in
// everything that helm prints and stores in descriptions.
func TestScriptsShowNoSecrets(t *testing.T) {
	h := harness.New(t)
	const secret = "hunter2-is-secret"
	show := func(event string) string {
		return `events.on("` + event + `", 0.5, function(name, namespace, chart, values)
  println("printed in ` + event + `: ", values.password)
  log("logged: ", values.password)
  if values.fail == "` + event + `" then error("failed with " .. values.password) end
end)
`
	}
	chart := charts.WriteFiles(t, map[string]string{
		"Chart.yaml":           "apiVersion: v2\nname: app\nversion: 0.1.0\nannotations: {helm.sh/scripts: enabled}\n",
		"values.yaml":          "password: " + secret + "\n",
		"templates/s.yaml":     "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\nstringData: {password: {{ quote .Values.password }}}\n",
		"ext/lua/printer.lua":  show("pre-render") + show("post-render") + show("pre-install"),
		"ext/lua/printer2.lua": show("pre-rollback") + show("pre-delete") + show("wait"),
	})
	check := func(r harness.Result, want ...string) {
		t.Helper()
		harness.ExpectContains(t, r.Stderr, want...)
		if strings.Contains(r.Stderr, secret) {
			t.Errorf("the secret is on stderr:\n%s", r.Stderr)
		}
	}
	check(h.Run("install", "rel", chart, "--debug", "--set", "fail=post-render"), "a handler of post-render failed", "printed in pre-render: \t******", "failed with ******")
	check(h.Run("install", "rel", chart, "--set", "fail=pre-install"), "a handler of pre-install failed", "failed with ******")
	if last := h.LastRevision(t, "rel"); strings.Contains(last.Info.Description, secret) || !strings.Contains(last.Info.Description, "failed with ******") {
		t.Errorf("the description is %q", last.Info.Description)
	}
	check(h.Run("plan", "rel", chart, "--debug"), "printed in pre-render: ******", "printed in post-render: ******", "logged: \t******")
	check(h.Run("plan", "rel", chart, "--set", "fail=post-render"), "failed with ******")
	check(h.Run("upgrade", "rel", chart, "--progress", "json"), "printed in post-render: \\t******")
	check(h.MustRun("rollback", "rel", "1"), "printed in pre-rollback: ******")
	check(h.Run("uninstall", "rel", "--debug"), "printed in pre-delete: ******", "logged: \t******")
}
