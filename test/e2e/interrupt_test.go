// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ordered-helm/helm/test/charts"
)

// TestInterrupt stops an ordered install at its second node: it ends, the
// release is recorded as failed, nothing more is created, and it can be
// removed.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
	chart := hangingChart(t, "4m")

	p := h.start(t, "install", "rel", chart, "--wait=ordered")
	p.awaitLine(t, "app:second applied")
	p.signal(t, syscall.SIGINT)
	p.expectEnd(t, 1, "never started")
	if status := h.ok("status", "rel").stdout; !strings.Contains(status, "STATUS: failed") {
		t.Errorf("the release is not recorded as failed:\n%s", status)
	}
	if len(h.readTrace(t)["ConfigMap/third"]) > 0 {
		t.Error("a node was started after the interrupt")
	}
	h.ok("uninstall", "rel")
	h.empty(t)
}

// TestHangingFinalizer names the object that does not go, leaves what it
// depends on and the release's record, and finishes when it is repeated.
func TestHangingFinalizer(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
	chart := charts.WriteFiles(t, map[string]string{"Chart.yaml": charts.Metadata, "templates/all.yaml": charts.ConfigMap("first", "helm.sh/layer: first") +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: stuck\n  finalizers: [ordered.example/hold]\n  annotations:\n" +
		"    helm.sh/layer: second\n    helm.sh/depends-on/layers: first\n"})
	h.ok("install", "rel", chart, "--wait=ordered")
	r := h.run("uninstall", "rel", "--timeout", "2s")
	expectSaid(t, r.stderr, "stuck", "ordered.example/hold", "--timeout")
	if r.code != 1 {
		t.Errorf("exit code %d, want 1", r.code)
	}
	if deleted, _ := h.readTrace(t).deleted("ConfigMap/first"); !deleted.IsZero() {
		t.Error("what the stuck object depends on was deleted")
	}
	if list := h.ok("list", "--all", "--short").stdout; list != "rel\n" {
		t.Errorf("the record of the release is gone: %q", list)
	}
	_, err := h.cluster.Client().CoreV1().ConfigMaps(h.namespace).Patch(t.Context(), "stuck", types.MergePatchType,
		[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	h.ok("uninstall", "rel")
	h.empty(t)
}

// TestGraphOfARelease shows that an installed release has the graph of its
// chart, and one that was deployed without an order has none.
func TestGraphOfARelease(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
	h.ok("install", "rel", example(t, "umbrella"), "--wait=ordered", "--timeout", "2m")
	want := strings.ReplaceAll(h.ok("dag", example(t, "umbrella")).stdout, "release-name-", "rel-")
	if got := h.ok("dag", "rel").stdout; got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	h.ok("install", "plain", charts.WriteFiles(t, map[string]string{"Chart.yaml": charts.Metadata, "templates/a.yaml": charts.ConfigMap("a", "helm.sh/layer: a")}))
	if r := h.run("dag", "plain"); r.code != 1 || !strings.Contains(r.stderr, "order") {
		t.Errorf("a release without an order: exit code %d\n%s", r.code, r.stderr)
	}
	h.ok("uninstall", "rel", "plain")
}

// TestWithoutTheOrder removes everything at once where it is told to.
func TestWithoutTheOrder(t *testing.T) {
	t.Parallel()
	h := newHelm(t)
	h.ok("install", "rel", example(t, "shop"), "--wait=ordered", "--timeout", "2m")
	r := h.ok("uninstall", "rel", "--wait=false")
	if strings.Contains(r.stderr, "reverse") {
		t.Errorf("the order was kept:\n%s", r.stderr)
	}
	h.empty(t)
}

// TestRealChartsWithoutAnOrder installs public charts as they are: there is
// nothing to order, and all of it gets ready.
func TestRealChartsWithoutAnOrder(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"keycloak-*.tgz", "redis-*.tgz"} {
		t.Run(pattern, func(t *testing.T) {
			t.Parallel()
			h := newHelm(t)
			o := &oracle{}
			chart := realChart(t, pattern)
			o.readObjects(t, h.ok("template", "rel", chart).stdout)
			h.ok("install", "rel", chart, "--wait=ordered", "--timeout", "3m")
			recorded := h.readTrace(t)
			for _, x := range o.objects {
				if recorded.ready(x.String()).IsZero() {
					t.Errorf("%s never got ready", x)
				}
			}
			h.ok("uninstall", "rel")
		})
	}
}

// TestWaitSpellings goes through the ways to write --wait.
func TestWaitSpellings(t *testing.T) {
	t.Parallel()
	chart := charts.WriteFiles(t, map[string]string{"Chart.yaml": charts.Metadata, "templates/all.yaml": charts.ConfigMap("first", "helm.sh/layer: first") + charts.Last("first").Manifest()})
	tests := []struct {
		args    []string
		ordered bool
		fails   string
	}{
		{args: []string{"rel", chart, "--wait"}},
		{args: []string{"rel", chart, "--wait=true"}},
		{args: []string{"rel", chart, "--wait=false"}},
		{args: []string{"rel", chart, "--wait=T"}},
		{args: []string{"rel", chart, "--wait=ordered"}, ordered: true},
		{args: []string{"rel", chart, "--wait", "--timeout", "1m"}},
		{args: []string{"--wait", "rel", chart}},
		{args: []string{"--wait", "ordered", chart}, fails: "--wait=ordered"},
		{args: []string{"rel", chart, "--wait=perhaps"}, fails: "perhaps"},
		{args: []string{"rel", chart, "--wait=ordered", "--readiness-timeout", "6m"}, fails: "--readiness-timeout"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(strings.Join(tt.args, " ")), func(t *testing.T) {
			t.Parallel()
			h := newHelm(t)
			r := h.run(append([]string{"install"}, tt.args...)...)
			if tt.fails != "" {
				h.refused(t, r, tt.fails)
				return
			}
			if r.code != 0 {
				t.Fatalf("exit code %d\n%s", r.code, r.stderr)
			}
			if ordered := strings.Contains(r.stderr, "app:last ready") || strings.Contains(r.stderr, "app:last applied"); ordered != tt.ordered {
				t.Errorf("ordered: %v, want %v\n%s", ordered, tt.ordered, r.stderr)
			}
		})
	}
}
