// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ordered-helm/helm/test/binaries"
	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestSDKExample builds the example program in examples/sdk, and checks its output for a chart
// that becomes ready and for one that does not.
func TestSDKExample(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	run := buildExample(t, h, "sdk")
	stdout, stderr, ok := run("shop", harness.ExampleChart(t, "shop"))
	if !ok {
		t.Fatalf("the example failed:\n%s%s", stdout, stderr)
	}
	expectInOrder(t, stdout, "will create StatefulSet/shop-database in shop:database", "node-started shop:database", "node-ready shop:database", "node-started shop:migrations",
		"node-ready shop:migrations", "node-started shop:api", "node-ready shop:api", "node-started shop:web", "shop is deployed")
	h.MustRun("status", "shop")

	chart := charts.WriteFiles(t, map[string]string{
		"Chart.yaml": "apiVersion: v3\nname: stuck\nversion: 1.0.0\n",
		"templates/all.yaml": `apiVersion: v1
kind: Pod
metadata:
  name: db
  annotations: {helm.sh/layer: db, devcluster/pod: image-pull-back-off, helm.sh/readiness-timeout: 2s}
spec: {containers: [{name: db, image: nowhere.example/db}]}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: web
  annotations: {helm.sh/layer: web, helm.sh/depends-on/layers: db}
`,
	})
	stdout, stderr, ok = run("stuck", chart)
	if ok {
		t.Fatalf("the example did not fail:\n%s%s", stdout, stderr)
	}
	expectInOrder(t, stdout, "node-started stuck:db", "node-failed stuck:db")
	expectInOrder(t, stderr, "Pod/db of stuck:db: InProgress after 2s", "Pod "+h.Namespace+"/db: ImagePullBackOff", `skipped: ["stuck:web"]`)
	if status := h.MustRun("list", "--failed", "--short").Stdout; strings.TrimSpace(status) != "stuck" {
		t.Errorf("failed releases: %q", status)
	}
}

// buildExample builds a program in examples, and returns a function that runs it.
func buildExample(t *testing.T, h *harness.Helm, name string) func(args ...string) (stdout, stderr string, ok bool) {
	t.Helper()
	program := filepath.Join(t.TempDir(), name)
	// With the flags of `make build`, the packages are already compiled. Without debugging information,
	// linking is faster.
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", program, "./examples/"+name)
	build.Dir = binaries.Root(t)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return func(args ...string) (stdout, stderr string, ok bool) {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = append(slices.Clone(h.Env), "HELM_NAMESPACE="+h.Namespace)
		var out, errOut bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errOut
		err := cmd.Run()
		return out.String(), errOut.String(), err == nil
	}
}

// TestSDKOrderExample builds the example program in examples/sdk-order, and deploys a chart that declares no order.
func TestSDKOrderExample(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	run := buildExample(t, h, "sdk-order")
	definition := charts.Definition(h.Namespace+".example", "Gadget")
	h.DeleteAfter(t, harness.ParseManifest(t, definition.Manifest()))
	dir := charts.Chart{Name: "shop", APIVersion: "v2", Subcharts: []charts.Chart{
		{Name: "db", APIVersion: "v2", Objects: []charts.Object{{Kind: "Deployment", Name: "db"}}},
		{Name: "app", APIVersion: "v2", Objects: []charts.Object{{Name: "app"}}},
	}}.Write(t)
	harness.NoError(t, os.Mkdir(filepath.Join(dir, "crds"), 0o755))
	harness.NoError(t, os.WriteFile(filepath.Join(dir, "crds", "gadget.yaml"), []byte(definition.Manifest()), 0o600))
	order := filepath.Join(charts.WriteFiles(t, map[string]string{
		"given.yaml": "apiVersion: helm.sh/v1alpha1\nkind: Order\ncharts: [{path: app, dependsOn: [db]}]\n",
	}), "given.yaml")
	for _, c := range []struct {
		name string
		args []string
		want []string
	}{
		{"install with an order file", []string{order}, []string{"crd-applied CustomResourceDefinition/gadgets." + h.Namespace + ".example", "node-ready shop/db", "node-ready shop/app", "revision 1 of rel is deployed"}},
		{"upgrade that keeps the order", nil, []string{"node-ready shop/db", "node-ready shop/app", "revision 2 of rel is deployed"}},
		{"upgrade with an order file", []string{order}, []string{"node-ready shop/db", "node-ready shop/app", "revision 3 of rel is deployed"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			stdout, stderr, ok := run(append([]string{"rel", dir}, c.args...)...)
			if !ok || strings.Contains(stdout, "warning") {
				t.Fatalf("the example failed:\n%s%s", stdout, stderr)
			}
			expectInOrder(t, stdout, c.want...)
		})
	}
	h.ExpectOrder(t, "Deployment/db", "ConfigMap/app")
}

// TestSDKPlanExample builds the example program in examples/sdk-plan, saves a plan with it, and executes it.
func TestSDKPlanExample(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	run := buildExample(t, h, "sdk-plan")
	chart := func(value string) string { return charts.Write(t, charts.Object{Name: "settings", Value: value}) }
	h.MustRun("install", "rel", chart("1"))
	file := filepath.Join(t.TempDir(), "upgrade.plan")
	saved, stderr, ok := run("save", "rel", chart("2"), file)
	digest := strings.TrimSpace(strings.TrimPrefix(saved, "changes: true\ndigest: "))
	if !ok || digest == saved {
		t.Fatalf("the plan was not saved:\n%s%s", saved, stderr)
	}
	for _, c := range []struct {
		name string
		args []string
		ok   bool
		want string
	}{
		{"another digest", []string{"run", file, "sha256:0"}, false, "its digest is " + digest},
		{"as planned", []string{"run", file, digest}, true, "revision 2 of rel is deployed\n"},
		{"executed before", []string{"run", file, digest}, false, "save and review the plan again: "},
		{"no drift", []string{"drift", "rel"}, true, ""},
	} {
		stdout, stderr, ok := run(c.args...)
		if ok != c.ok || ok && stdout != c.want || !strings.Contains(stdout+stderr, c.want) {
			t.Errorf("%s: got %t\n%s%s", c.name, ok, stdout, stderr)
		}
	}
	h.Patch(t, "ConfigMap/settings", `{"data":{"value":"3"}}`)
	stdout, _, _ := run("drift", "rel")
	expectInOrder(t, stdout, "ConfigMap/settings is changed\n", "  data.value: 3 instead of 2, by ")
}

// expectInOrder fails the test unless the text contains the parts in this order.
func expectInOrder(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := text
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Errorf("%q is not where it should be in:\n%s", part, text)
			return
		}
		rest = after
	}
}
