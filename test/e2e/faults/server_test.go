// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"helm.sh/helm/v3/pkg/release"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/fault"
	"github.com/ordered-helm/helm/test/harness"
)

// faultPercent is the percentage of requests that fail in TestRequestFaults.
const faultPercent = 10

// allFaults is the name of the case with all faults in turn, including watches that end.
const allFaults = "all of it"

// TestRequestFaults checks that installs, upgrades, rollbacks and uninstalls succeed and keep
// their order while one request in ten fails. Each case injects one kind of fault, or all
// kinds.
func TestRequestFaults(t *testing.T) {
	t.Parallel()
	seed := harness.NewSeed(t)
	dir := charts.FullChart(t)
	const unavailable, internal = 503, 500
	type trouble struct {
		name  string
		rules []fault.Rule
	}
	troubles := []trouble{
		{"delays", []fault.Rule{fault.Delay(300 * time.Millisecond)}},
		{"too many requests", []fault.Rule{fault.TooMany(1)}},
		{"errors", []fault.Rule{fault.Answer(internal, "InternalError"), fault.Answer(unavailable, "ServiceUnavailable")}},
		{"dropped connections", []fault.Rule{fault.Drop, fault.HalfClose}},
		{"lost answers", []fault.Rule{fault.DropAfter, fault.HalfAnswer}},
	}
	all := trouble{name: allFaults}
	for _, one := range troubles {
		all.rules = append(all.rules, one.rules...)
	}
	for _, trouble := range append(troubles, all) {
		t.Run(trouble.name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			p := h.UseProxy(t)
			p.Intercept(fault.Random(seed, faultPercent, trouble.rules...))
			if trouble.name == allFaults {
				p.Intercept(fault.CutAfter(seed, 0, time.Second))
				p.Intercept(fault.StaleReads(1, time.Second, fault.AnyVersion))
			}
			runLifecycle(t, h, dir)
		})
	}
}

// runLifecycle installs, upgrades, rolls back and uninstalls a chart, and checks the order
// of each operation.
func runLifecycle(t *testing.T, h *harness.Helm, dir string) {
	t.Helper()
	for _, args := range [][]string{charts.FullChartArgs("install", dir, "1"), charts.FullChartArgs("upgrade", dir, "2"), {"rollback", "rel", "1"}} {
		h.Started = harness.Now()
		h.MustRun(args...)
		h.CheckOrder(t, "rel", h.ReadTrace(t))
		h.ExpectFullChart(t)
	}
	manifest, _ := h.Uninstall(t)
	h.CheckUninstallOrder(t, manifest)
	h.ExpectNoFullChart(t)
}

// TestUnresponsiveServer checks that each operation succeeds although the API server does not
// respond, or cannot be reached, for half a minute. This time counts only towards --timeout,
// not towards readiness timeouts.
func TestUnresponsiveServer(t *testing.T) {
	t.Parallel()
	const silence = 30 * time.Second
	dir := charts.FullChart(t)
	for name, fall := range map[string]func(*testing.T, *fault.Proxy) (back func()){
		"silent": func(_ *testing.T, p *fault.Proxy) func() { return p.Silence(silence) },
		"away": func(t *testing.T, p *fault.Proxy) func() {
			p.Down()
			timer := time.AfterFunc(silence, func() {
				if err := p.Up(); err != nil {
					t.Error(err)
				}
			})
			return func() { timer.Stop() }
		},
	} {
		verbs := map[string][]string{"silent": {"install", "rollback"}, "away": {"upgrade", "uninstall"}}[name]
		for _, verb := range verbs {
			t.Run(verb+", "+name, func(t *testing.T) {
				t.Parallel()
				h := harness.New(t)
				args := map[string][]string{
					"install": charts.FullChartArgs("install", dir, "1"), "upgrade": charts.FullChartArgs("upgrade", dir, "2"), "rollback": {"rollback", "rel", "1"}, "uninstall": {"uninstall", "rel"},
				}
				for _, before := range map[string][]string{"upgrade": {"install"}, "rollback": {"install", "upgrade"}, "uninstall": {"install"}}[verb] {
					h.MustRun(args[before]...)
				}
				p := h.UseProxy(t)
				process := h.Start(t, args[verb]...)
				process.AwaitLine(t, "app")
				t.Cleanup(fall(t, p))
				process.ExpectExit(t, 0)
				if verb == "uninstall" {
					h.ExpectNoFullChart(t)
				} else {
					h.ExpectFullChart(t)
				}
			})
		}
	}
}

// TestFailureIsRecordedAfterOutage checks that a failed operation waits to record its failure
// if the API server is unavailable at that moment.
func TestFailureIsRecordedAfterOutage(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
	p := h.UseProxy(t)
	dir := charts.ThreeLayers(t, "2")
	charts.Edit(t, dir, "templates/all.yaml", "readiness-timeout: 30s", "readiness-timeout: 3s", "labels: {app: app}", "labels: {app: app}, annotations: {devcluster/pod: never}")
	process := h.Start(t, "upgrade", "rel", dir, "--wait=ordered", "--timeout", "4s")
	process.AwaitLine(t, "app:app applied")
	p.Down()
	process.AwaitLine(t, "app:app failed") // the server is back when this is to be recorded
	back := time.AfterFunc(3*time.Second, func() {
		if err := p.Up(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { back.Stop() })
	process.ExpectExit(t, 1, "UPGRADE FAILED", "Deployment/app")
	h.ExpectStatuses(t, "rel", "deployed failed")
}

// TestCertificateChange checks that an operation continues if the API server gets a new
// certificate from the same authority. If the certificate is from another authority, the
// operation fails with an error that says so, and the next operation takes over the release.
func TestCertificateChange(t *testing.T) {
	t.Parallel()
	for name, trusted := range map[string]bool{"of the same authority": true, "of another authority": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := harness.New(t)
			authority, err := fault.NewAuthority()
			harness.NoError(t, err)
			p := fault.NewTLS(t, h.Cluster.Config(), authority)
			path := filepath.Join(t.TempDir(), "kubeconfig")
			harness.NoError(t, p.WriteKubeconfig(path, h.Namespace))
			direct := h.Env
			h.Env = append(slices.Clone(direct), "KUBECONFIG="+path)
			dir := charts.ThreeLayers(t, "1")
			charts.Edit(t, dir, "templates/all.yaml", "readiness-timeout: 30s", "readiness-timeout: 10s", "labels: {app: app}", "labels: {app: app}, annotations: {devcluster/after: 2s}")
			process := h.Start(t, "install", "rel", dir, "--wait=ordered", "--timeout", "15s")
			process.AwaitLine(t, "app:app applied")
			next := authority
			if !trusted {
				if next, err = fault.NewAuthority(); err != nil {
					t.Fatal(err)
				}
			}
			harness.NoError(t, p.ChangeCertificate(next))
			r := process.Wait(t)
			h.Env = direct
			if (r.ExitCode == 0) != trusted {
				t.Fatalf("exit code %d\n%s", r.ExitCode, r.Stderr)
			}
			if !trusted {
				harness.ExpectContains(t, r.Stderr, "certificate signed by unknown authority")
				h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
			}
			h.ExpectManifestObjects(t, "rel")
			if status := h.LastRevision(t, "rel").Info.Status; status != release.StatusDeployed {
				t.Errorf("the release is %s", status)
			}
		})
	}
}
