// Copyright The Ordered Helm Authors
// SPDX-License-Identifier: Apache-2.0

package recovery

import (
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/ordered-helm/helm/test/charts"
	"github.com/ordered-helm/helm/test/harness"
)

// TestLifecycleInterrupted checks operations that receive SIGTERM: Helm exits, the release is
// recorded as failed, nothing else is changed, and the next operation succeeds.
func TestLifecycleInterrupted(t *testing.T) {
	t.Parallel()
	slowly := func(tb testing.TB, value string) string {
		tb.Helper()
		parts := charts.ThreeLayerObjects(value)
		parts[1].PodAnnotations, parts[1].Annotations = charts.NeverReady, []string{"helm.sh/readiness-timeout: 4m"}
		return charts.Write(tb, parts...)
	}
	t.Run("rollback", func(t *testing.T) {
		t.Parallel()
		h := harness.New(t)
		h.Apply(t, charts.MissingConfigMap)
		dir := charts.WithMissingConfigMap(t, "1")
		charts.Edit(t, dir, "templates/all.yaml", "readiness-timeout: 3s", "readiness-timeout: 4m")
		h.MustRun("install", "rel", dir, "--wait=ordered")
		h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "2"), "--wait=ordered")
		h.Delete(t, "ConfigMap/outside")
		interrupt(t, h, "Rollback of release rel has been cancelled", "rollback", "rel", "1")
		h.ExpectStatuses(t, "rel", "superseded deployed failed")
		h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "4"), "--wait=ordered")
		h.ExpectManifestObjects(t, "rel")
		h.ExpectValues(t, "4")
	})
	t.Run("upgrade", func(t *testing.T) {
		t.Parallel()
		h := harness.New(t)
		h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
		interrupt(t, h, "rel has been cancelled", "upgrade", "rel", slowly(t, "2"), "--wait=ordered")
		h.ExpectStatuses(t, "rel", "deployed failed")
		h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "3"), "--wait=ordered")
		h.ExpectManifestObjects(t, "rel")
		h.ExpectValues(t, "3")
	})
	t.Run("upgrade that is atomic", func(t *testing.T) {
		t.Parallel()
		h := harness.New(t)
		h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
		before := h.ReleaseObjects(t, "rel")
		interrupt(t, h, "rel has been cancelled", "upgrade", "rel", slowly(t, "2"), "--wait=ordered", "--atomic")
		h.ExpectStatuses(t, "rel", "superseded failed deployed")
		harness.ExpectSameContent(t, before, h.ReleaseObjects(t, "rel"))
	})
	t.Run("uninstall", func(t *testing.T) {
		t.Parallel()
		h := harness.New(t)
		parts := charts.ThreeLayerObjects("1")
		parts[2] = charts.Object{Kind: "Pod", Name: "last", Layer: "last", DependsOn: "app"}
		dir := charts.Write(t, parts...)
		charts.AddFinalizer(t, dir, "last")
		h.MustRun("install", "rel", dir, "--wait=ordered")
		interruptAt(t, h, "app:last deleting", "Uninstall of release rel has been cancelled", "uninstall", "rel")
		h.ExpectStatuses(t, "rel", "failed")
		h.ExpectObjects(t, "rel", "ConfigMap/first", "Deployment/app", "Pod/last")
		h.RemoveFinalizers(t, "Pod/last")
		h.MustRun("uninstall", "rel")
		h.ExpectObjects(t, "rel")
		h.ExpectEmptyNamespace(t)
	})
}

// interrupt starts an operation, and sends SIGTERM when it waits for Deployment/app. said is a
// text that stderr must contain.
func interrupt(tb testing.TB, h *harness.Helm, said string, args ...string) {
	tb.Helper()
	interruptAt(tb, h, "app:app applied", said, args...)
	if slices.Contains(args, "--atomic") {
		return // the rollback changes it back
	}
	if changed := h.ReadTrace(tb).Since(h.Started).HelmWrites("ConfigMap/last", harness.ChangeVerbs...); len(changed) > 0 {
		tb.Error("a node was started after the interrupt")
	}
}

// interruptAt starts an operation, sends SIGTERM when it prints the text at, and waits until
// it exits. said is a text that stderr must contain.
func interruptAt(tb testing.TB, h *harness.Helm, at, said string, args ...string) {
	tb.Helper()
	h.Started = harness.Now()
	p := h.Start(tb, args...)
	p.AwaitLine(tb, at)
	p.Signal(tb, syscall.SIGTERM)
	p.ExpectExit(tb, 1, said)
}

// TestSecondSignal checks that a second signal makes Helm exit immediately and print how to
// continue, and that the next operation takes over the release.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	h.MustRun("install", "rel", charts.ThreeLayers(t, "1"), "--wait=ordered")
	proxy := h.UseProxy(t)
	p := h.Start(t, "upgrade", "rel", charts.Write(t, charts.UnreadyObjects("2")...), "--wait=ordered", "--atomic")
	p.AwaitLine(t, "app:app applied")
	proxy.Down() // nothing can be recorded
	p.Signal(t, syscall.SIGINT)
	p.AwaitLine(t, "Waiting until")
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	for running := true; running; { // a signal that comes too soon is ignored
		select {
		case <-again.C:
			running = p.Cmd.Process.Signal(syscall.SIGINT) == nil
		case <-p.Ended:
			running = false
		}
	}
	p.ExpectExit(t, 128+int(syscall.SIGINT), "Release rel has been cancelled.",
		"Waiting until the new revision is recorded as failed, and the release is rolled back because of --atomic. Press Ctrl-C again to exit immediately.",
		"Exited immediately without cleanup; the release keeps its recorded status.", "the next helm upgrade, rollback or uninstall takes over the release and continues")
	harness.NoError(t, proxy.Up())
	h.MustRun("upgrade", "rel", charts.ThreeLayers(t, "3"), "--wait=ordered")
	h.ExpectManifestObjects(t, "rel")
	h.ExpectValues(t, "3")
}
