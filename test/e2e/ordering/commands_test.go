// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package ordering

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestInterrupt interrupts an ordered install at its second node. It checks that Helm exits,
// the release is recorded as failed, no other objects are created, and the release can be
// uninstalled.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	chart := charts.HangingChart(t, "4m")

	p := h.Start(t, "install", "rel", chart, "--wait=ordered")
	p.AwaitLine(t, "app:second applied")
	p.Signal(t, syscall.SIGINT)
	p.ExpectExit(t, 1, "skipped (blocked by this failure)")
	if status := h.MustRun("status", "rel").Stdout; !strings.Contains(status, "STATUS: failed") {
		t.Errorf("the release is not recorded as failed:\n%s", status)
	}
	if len(h.ReadTrace(t)["ConfigMap/third"]) > 0 {
		t.Error("a node was started after the interrupt")
	}
	h.MustRun("uninstall", "rel")
	h.ExpectEmptyNamespace(t)
}

// TestUninstallBlockedByFinalizer checks an uninstall that times out because an object has a
// finalizer: its error names the object, the dependencies of the object and the stored release
// remain, and a repeated uninstall succeeds.
func TestUninstallBlockedByFinalizer(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	chart := charts.Write(t, charts.Object{Name: "first", Layer: "first"}, charts.Object{Name: "stuck", Layer: "second", DependsOn: "first"})
	charts.AddFinalizer(t, chart, "stuck")
	h.MustRun("install", "rel", chart, "--wait=ordered")
	r := h.Run("uninstall", "rel", "--timeout", "10s")
	harness.ExpectContains(t, r.Stderr, "stuck", "ordered.example/hold", "--timeout")
	if r.ExitCode != 1 {
		t.Errorf("exit code %d, want 1", r.ExitCode)
	}
	if deleted, _ := h.ReadTrace(t).Deleted("ConfigMap/first"); !deleted.IsZero() {
		t.Error("what the stuck object depends on was deleted")
	}
	if list := h.MustRun("list", "--all", "--short").Stdout; list != "rel\n" {
		t.Errorf("the record of the release is gone: %q", list)
	}
	h.RemoveFinalizers(t, "ConfigMap/stuck")
	h.MustRun("uninstall", "rel")
	h.ExpectEmptyNamespace(t)
}

// TestGraphOfRelease checks that `helm dag` prints the same graph for a release as for its
// chart, and rejects a release that was deployed without an order.
func TestGraphOfRelease(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	const name = "release-name" // for which dag renders a chart
	h.MustRun("install", name, harness.ExampleChart(t, "umbrella"), "--wait=ordered", "--timeout", "2m")
	want := h.MustRun("dag", harness.ExampleChart(t, "umbrella")).Stdout
	if got := h.MustRun("dag", name).Stdout; got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	h.MustRun("install", "plain", charts.Write(t, charts.Object{Name: "a", Layer: "a"}))
	h.ExpectFailure(t, []string{"dag", "plain"}, "order")
	h.MustRun("uninstall", name, "plain")
}

// TestUninstallWithoutOrder checks that uninstall --wait=false deletes all objects at the same
// time, without ordering.
func TestUninstallWithoutOrder(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.MustRun("install", "rel", harness.ExampleChart(t, "shop"), "--wait=ordered", "--timeout", "2m")
	r := h.MustRun("uninstall", "rel", "--wait=false")
	if strings.Contains(r.Stderr, "reverse") {
		t.Errorf("the order was kept:\n%s", r.Stderr)
	}
	h.ExpectEmptyNamespace(t)
}

// TestPublicChartsWithoutOrder checks that public charts, which declare no order, can be
// installed with --wait=ordered.
func TestPublicChartsWithoutOrder(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"keycloak-*.tgz", "redis-*.tgz"} {
		t.Run(pattern, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			o := &harness.Order{}
			chart := harness.PublicChart(t, pattern)
			o.AddManifest(t, h.MustRun("template", "rel", chart).Stdout)
			h.MustRun("install", "rel", chart, "--wait=ordered", "--timeout", "3m")
			recorded := h.ReadTrace(t)
			for _, x := range o.Objects {
				if recorded.Ready(x.String()).IsZero() {
					t.Errorf("%s never got ready", x)
				}
			}
			h.MustRun("uninstall", "rel")
		})
	}
}

// TestWaitFlagValues checks the values that --wait and $HELM_WAIT accept and reject, and when
// the chart is deployed in order.
func TestWaitFlagValues(t *testing.T) {
	t.Parallel()
	chart := charts.Write(t, charts.Object{Name: "first", Layer: "first"}, charts.Last("first"))
	v2 := charts.Chart{APIVersion: "v2", Objects: []charts.Object{{Name: "first"}}}.Write(t)
	tests := []struct {
		args    []string
		env     string // the value of $HELM_WAIT
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
		{args: []string{"rel", chart, "--wait"}, env: "ordered", ordered: true},
		{args: []string{"rel", chart, "--atomic"}, env: "ordered", ordered: true},
		{args: []string{"rel", chart, "--wait=true"}, env: "ordered"},
		{args: []string{"rel", chart}, env: "ordered"},
		{args: []string{"rel", v2, "--wait"}, env: "ordered"},
		{args: []string{"rel", chart, "--wait"}, env: "true", fails: "$HELM_WAIT"},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt.env, strings.Join(tt.args, " ")), func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			h.Env = append(h.Env, "HELM_WAIT="+tt.env)
			r := h.Run(append([]string{"install"}, tt.args...)...)
			if tt.fails != "" {
				h.ExpectRejected(t, r, tt.fails)
				return
			}
			if r.ExitCode != 0 {
				t.Fatalf("exit code %d\n%s", r.ExitCode, r.Stderr)
			}
			if ordered := strings.Contains(h.MustRun("get", "metadata", "rel").Stdout, "ORDERED: true"); ordered != tt.ordered {
				t.Errorf("ordered: %v, want %v\n%s", ordered, tt.ordered, r.Stderr)
			}
		})
	}
}
